"""The page on back-up and restore, carried out on SQLite and a folder; on servers it is in tests/services."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.cli.restoring import Installation, goes_through_a_restore
from tests.faults.renderer.process import RendererProcess


@pytest.fixture
def renderer(tmp_path: Path) -> Iterator[RendererProcess]:
    """Of the class that would bill a job twice: it finds jobs by our reference, and takes every POST anew."""
    with RendererProcess(tmp_path / "renderer", options=("--mode", "l")) as running:
        yield running


def test_sqlite_is_put_back_and_nothing_is_paid_for_twice(
    renderer: RendererProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / ".reelwright"
    one = Installation(
        Desk(tmp_path, f"sqlite:///{home}/reelwright.db"), renderer, "l", {"REELWRIGHT_HOME": str(home)}
    )
    one.run("migrate")

    goes_through_a_restore(one, "SQLite: dump", "SQLite: restore")


def test_a_time_that_cannot_be_is_refused(both: Desk) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    for text in ("yesterday", "2026-01-01T00:00", tomorrow):
        refused = both.run("reconcile", "--restored", text)
        assert refused.exit_code == 2
        assert "--restored" in refused.stderr
    assert both.run("reconcile", "--restored-over").exit_code == 1
    assert both.run("reconcile", "--restored-over", "--restored", "2026-01-01T00:00Z").exit_code == 2
