"""What happens between a worker and one of the servers, and where: the server is killed, bytes do not come.

Belongs here: points, troubles as a table, one case from beginning to end. Does not belong here: what must be
true afterwards (`tests.faults.world`), or which cases are tried when (`test_troubles`, `sweep`).

A point is a request of an undisturbed run: `COMMIT:12` is the twelfth COMMIT that PostgreSQL is sent, `PUT:3`
the third PUT that the object store is, `any:30` the thirtieth request of whatever kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from tests.faults.scenarios import Bench, Case, NotReached, Result
from tests.faults.world import World
from tests.services.faults.servers import Services
from tests.services.relay import Order

SERVERS = ("postgresql", "s3", "opensearch")
#: A request is cut within its beginning: a COMMIT's message has 12 bytes.
CUT_AT = 6
LATE_SECONDS = 1.5
ROUNDS = 20_000
#: Nothing is said that could be lost.
SILENT = frozenset({"BEGIN", "ROLLBACK", "show"})


def _killed_when_asked(services: Services, server: str) -> dict[str, Any]:
    return {"asked": partial(services.restart, server)}


def _killed_when_it_answered(services: Services, server: str) -> dict[str, Any]:
    return {"answered": partial(services.restart, server)}


KILLS: Mapping[str, Callable[[Services, str], dict[str, Any]]] = MappingProxyType(
    {"killed_when_asked": _killed_when_asked, "killed_when_it_answered": _killed_when_it_answered}
)
#: What the relay does by itself.
SPOILS: Mapping[str, Callable[[Services, str], dict[str, Any]]] = MappingProxyType(
    {
        "request_cut": lambda *_: {"cut_request_at": CUT_AT},
        "answer_lost": lambda *_: {"lose_answer": True},
        "answer_cut": lambda *_: {"cut_answer_at": CUT_AT},
        "answer_late": lambda *_: {"delay_seconds": LATE_SECONDS},
    }
)
TROUBLES = MappingProxyType({**KILLS, **SPOILS})


def points(bench: Bench, services: Services) -> Mapping[str, Sequence[str]]:
    """Every point of each server, in a run that nobody disturbs."""
    bench.points("services")
    return {server: _numbered(services.relays[server].heads) for server in SERVERS}


def _numbered(heads: Sequence[str]) -> list[str]:
    seen = Counter[str]()
    found = []
    for kind in map(_kind, heads):
        if kind in SILENT:
            continue
        seen[kind] += 1
        found.append(f"{kind}:{seen[kind]}")
    return found


def _kind(head: str) -> str:
    return head.split(None, 1)[0].rstrip(";")


def _is_of(kind: str) -> Callable[[str], bool]:
    if kind == "any":
        return lambda head: _kind(head) not in SILENT
    return lambda head: _kind(head) == kind


def try_out(bench: Bench, services: Services, server: str, trouble: str, at: str) -> Result:
    case = Case("services", "k", f"{server} {trouble}", at)
    return bench.try_out(case, lambda world, at: _troubled(world, at, services, server, trouble))


def _troubled(world: World, at: str, services: Services, server: str, trouble: str) -> None:
    """A worker that meets the trouble once, and comes to the end all the same."""
    kind, _, number = at.rpartition(":")
    relay = services.relays[server]
    what = TROUBLES[trouble](services, server)
    relay.orders.append(Order(_is_of(kind), skip=int(number) - 1, **what))
    world.finish(endures=True, rounds=ROUNDS)
    reached = relay.orders.pop().times == 0
    world.holds_up()
    world.has_converged()
    if not reached:
        raise NotReached(at)
