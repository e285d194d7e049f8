"""C2: a purge may die at any durable write; it goes on where it was and never widens (local store)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from resources.object_store.local import LocalStore
from tests.faults.retention_world import PurgeWorld

pytestmark = pytest.mark.timeout(600)
#: More than there are: the last of them are never reached, and the child comes to its end.
POINTS = 40


def world(url: str, folder: Path) -> PurgeWorld:
    return PurgeWorld(url, folder, lambda: LocalStore(folder / "objects"))


def test_a_purge_that_lives_comes_to_its_end(database_url: str, tmp_path: Path) -> None:
    made = world(database_url, tmp_path)
    status, reached = made.die_at(None)

    assert status == 0
    assert 15 <= reached < POINTS
    made.comes_to_its_end()


#: Each point once, on the one database or the other: a purge is the same statements on both.
CASES = [(("sqlite", "postgresql")[point % 2], point) for point in range(1, POINTS)]


@pytest.mark.parametrize(("database_url", "point"), CASES, indirect=["database_url"])
def test_a_purge_that_dies_goes_on_where_it_was(database_url: str, tmp_path: Path, point: int) -> None:
    made = world(database_url, tmp_path)
    status, reached = made.die_at(point)
    assert (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL) == (reached == point)

    made.holds_halfway()
    made.comes_to_its_end()
