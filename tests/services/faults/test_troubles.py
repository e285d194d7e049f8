"""Whatever happens on the way to a server, each job is paid for once and every video is shown in the end.

Each server is killed at five points, each trouble of the relay comes at two; every point of every trouble is
`python -m tests.services.faults.sweep`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import pytest

from tests.faults.scenarios import VARIANTS, Bench, Case, Result
from tests.faults.test_kill_sweep import held
from tests.services.faults.servers import Services
from tests.services.faults.troubles import KILLS, SERVERS, SPOILS, try_out

#: Half a minute's work for one core; a machine that others use needs a while.
pytestmark = pytest.mark.timeout(900)

Points = Mapping[str, Sequence[str]]
KILLED_AT = 5
KILLED_WORKERS = 12
A_TROUBLE = 2
#: Of its own writes; whatever the variant, these are there, but beside another, who may have done them.
ELSEWHERE = ("post.after:1", "put:8")
BESIDE_ANOTHER = ("any:2", "any:9", "any:16")


def anywhere(points: Sequence[str], number: int) -> Sequence[str]:
    """By their number alone: how many requests of one kind there are differs a little from run to run."""
    return spread([f"any:{n}" for n in range(1, len(points) + 1)], number)


def spread(points: Sequence[str], number: int) -> Sequence[str]:
    """*number* of them, as far from each other and from both ends as they can be."""
    return [points[(2 * n + 1) * len(points) // (2 * number)] for n in range(number)]


def all_reached(results: Iterable[Result]) -> None:
    assert [str(result.case) for result in results if not result.reached] == []


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_may_be_killed_at_any_request(
    bench: Bench, services: Services, requests_of: Points, server: str
) -> None:
    results = [
        try_out(bench, services, server, kill, at)
        for kill, at in zip(itertools.cycle(KILLS), anywhere(requests_of[server], KILLED_AT), strict=False)
    ]

    held(results)
    all_reached(results)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("trouble", SPOILS)
def test_bytes_to_and_from_a_server_may_be_cut_lost_and_late(
    bench: Bench, services: Services, requests_of: Points, server: str, trouble: str
) -> None:
    results = [
        try_out(bench, services, server, trouble, at) for at in anywhere(requests_of[server], A_TROUBLE)
    ]

    held(results)
    all_reached(results)


@pytest.mark.parametrize("trouble", ["answer_lost", "request_cut", "killed_when_it_answered"])
def test_what_became_of_a_commit_is_found_out(
    bench: Bench, services: Services, requests_of: Points, trouble: str
) -> None:
    commits = [at for at in requests_of["postgresql"] if at.startswith("COMMIT:")]
    results = [try_out(bench, services, "postgresql", trouble, at) for at in spread(commits, 4)]

    held(results)
    all_reached(results)


def test_whoever_is_killed_after_a_durable_write_is_followed_by_one_who_finishes(bench: Bench) -> None:
    points = spread(bench.points("services"), KILLED_WORKERS)
    results = [bench.try_out(Case("services", "k", "killed", at)) for at in points]

    held(results)
    assert sum(result.reached for result in results) >= KILLED_WORKERS - 1  # rows may share a commit


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "killed"])
def test_it_holds_with_everything_else_that_goes_wrong(bench: Bench, variant: str) -> None:
    points = BESIDE_ANOTHER if variant == "beside_another" else ELSEWHERE
    results = [bench.try_out(Case("services", "k", variant, at)) for at in points]

    held(results)
    assert any(result.reached for result in results)
