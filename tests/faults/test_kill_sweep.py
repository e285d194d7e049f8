"""A worker may die anywhere (issue "Proof"): each point once a database, every other variant at three points.

The whole product of points, variants, provider classes and databases is `python -m tests.faults.sweep`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.faults.scenarios import MODES, VARIANTS, Bench, Case, Result
from tests.postgres import Server

#: A share is a minute's work for one core; a machine that others use needs a while.
pytestmark = pytest.mark.timeout(900)

DATABASES = ("sqlite", "postgresql")
#: The points are tried in shares, so that both cores have work.
SHARES = 4
LEAST_POINTS = 20

#: Right before the first paid request, and right after the last answer, which is not durable yet.
AROUND_SENDS = ("post.before:1", "post.after:2")
THREE_POINTS = {
    "cold": ("post.before:1", "copied:3", "put:6"),  # where the spool holds something
    "beside_another": ("any:2", "any:9", "any:16"),  # of its own writes: the other one does the rest
    "into_silence": ("post.before:1", "post.after:1", "post.after:2"),
    "unanswered": ("post.before:1", "post.before:2", "put:3"),
    "without_renderer": ("post.before:1", "post.after:2", "put:3"),
}
ELSEWHERE = ("post.after:1", "put:3", "index:1")


@pytest.fixture(scope="session")
def bench(
    tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path, postgres: Server
) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("sweep"), migrated_sqlite, postgres) as one:
        yield one


def held(results: Sequence[Result]) -> None:
    broken = [f"{result.case}: {result.problem}" for result in results if result.problem]

    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("database", DATABASES)
def test_whoever_is_killed_after_a_durable_write_is_followed_by_one_who_finishes(
    bench: Bench, database: str, share: int
) -> None:
    points = bench.points(database)
    results = [bench.try_out(Case(database, "k", "killed", at)) for at in points[share::SHARES]]

    held(results)
    assert len(points) >= LEAST_POINTS
    last_commit = max((at for at in points if at.startswith("commit:")), key=points.index)
    # Two rows that are due together now and then share a commit, so that a run has one fewer.
    assert {result.case.at for result in results if not result.reached} <= {last_commit}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "k"])
@pytest.mark.parametrize("database", DATABASES)
def test_every_class_of_provider_is_paid_once_or_says_what_is_unresolved(
    bench: Bench, database: str, mode: str
) -> None:
    points = bench.points(database, mode)
    handles_are_durable = points[points.index(AROUND_SENDS[-1]) + 1]
    results = [
        bench.try_out(Case(database, mode, "killed", at)) for at in (*AROUND_SENDS, handles_are_durable)
    ]

    held(results)
    assert all(result.reached for result in results)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "killed"])
@pytest.mark.parametrize("database", DATABASES)
def test_it_holds_with_everything_else_that_goes_wrong(bench: Bench, database: str, variant: str) -> None:
    points = THREE_POINTS.get(variant, ELSEWHERE)
    results = [bench.try_out(Case(database, "k", variant, at)) for at in points]

    held(results)
    assert any(result.reached for result in results)


@pytest.mark.parametrize("database", DATABASES)
def test_a_frozen_sender_never_pays_a_second_time(bench: Bench, database: str) -> None:
    """Class L, where the next worker sends again once two looks prove that nothing was taken."""
    results = [bench.try_out(Case(database, "l", "stopped", at)) for at in AROUND_SENDS]

    held(results)
    assert all(result.reached for result in results)
