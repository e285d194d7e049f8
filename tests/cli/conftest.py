"""Fixtures of the command line's tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.faults.renderer.process import RendererProcess


@pytest.fixture
def both(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk over a migrated database; tests that ask for it run on SQLite and on PostgreSQL."""
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, database_url)


@pytest.fixture
def desk(migrated_sqlite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk over SQLite, for what no database decides."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "reelwright.db"
    shutil.copy(migrated_sqlite, path)
    return Desk(tmp_path, f"sqlite:///{path}")


@pytest.fixture(scope="session")
def null_renderer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a renderer listens that is done as soon as it has taken a job; one for all."""
    with RendererProcess(tmp_path_factory.mktemp("renderer")) as renderer:
        yield renderer.url


@pytest.fixture
def working(both: Desk, null_renderer: str) -> Desk:
    """A desk whose briefs become videos, on both databases."""
    both.renderer_url = null_renderer
    return both
