"""What is true after every fault (SPEC §13), as queries that return nothing; a module a group.

Belongs here: the queries and running them over one connection. Does not belong here: looking into store,
index and provider (`pipeline.steps.operate.check`), or mending anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from resources.database.invariants.chain import CHAIN
from resources.database.invariants.invariant import Heading, Invariant, Phase, Seen
from resources.database.invariants.ledger import LEDGER
from resources.database.invariants.money import MONEY
from resources.database.invariants.moving import MOVING
from resources.database.invariants.owning import OWNING
from resources.database.invariants.purging import PURGING
from resources.database.invariants.seen import (
    SeenEntry,
    SeenJob,
    SeenObject,
    Snapshot,
    lay_beside,
)
from resources.database.invariants.sending import SENDING
from resources.database.invariants.showing import SHOWING

__all__ = [
    "INVARIANTS",
    "Broken",
    "Heading",
    "Invariant",
    "Phase",
    "Seen",
    "SeenEntry",
    "SeenJob",
    "SeenObject",
    "Snapshot",
    "broken",
    "lay_beside",
]

INVARIANTS: tuple[Invariant, ...] = (
    *SHOWING, *OWNING, *CHAIN, *SENDING, *MONEY, *LEDGER, *MOVING, *PURGING,
)  # fmt: skip

#: Rows of one invariant that are told; more of them say nothing new.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Broken:
    """One row that should not be there."""

    invariant: Invariant
    subject: str
    found: str


def broken(
    connection: sa.Connection,
    seen: Snapshot,
    *,
    now: int,
    overdue: int,
    phases: Collection[Phase] = tuple(Phase),
    invariants: Sequence[Invariant] = INVARIANTS,
) -> Iterator[Broken]:
    """Rows that break *invariants* of *phases*, as far as *seen* can tell; in the connection's transaction.

    *overdue* is the time before which whatever was due should be done by now (UTC microseconds).
    """
    lay_beside(connection, seen)
    looked = _looked(seen)
    times = {"now": now, "overdue": overdue, "seen_at": seen.at}
    for invariant in invariants:
        if invariant.phase in phases and invariant.needs <= looked:
            yield from broken_of(connection, invariant, times)


def broken_of(connection: sa.Connection, invariant: Invariant, times: dict[str, int]) -> Iterator[Broken]:
    """Rows that break one invariant; the snapshots lie beside it already."""
    for row in connection.execute(sa.text(invariant.sql), times).fetchmany(MOST_ROWS):
        yield Broken(invariant, str(row.subject), str(row.found))


def _looked(seen: Snapshot) -> frozenset[Seen]:
    looked = {Seen.STORE: seen.objects, Seen.INDEX: seen.entries, Seen.PROVIDER: seen.jobs}
    return frozenset(what for what, rows in looked.items() if rows is not None)
