"""One migrated database of each dialect a session, copied for each test."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from resources.database.database import Database
from resources.database.migrate import migrate
from tests.postgres import Server, running_postgres

#: 2026-01-01T12:00:00Z in microseconds.
NOON = 1_767_268_800_000_000
SECOND = 1_000_000


@dataclass
class Clock:
    """A clock that stands still until a test moves it."""

    at: int = NOON

    def __call__(self, _connection: sa.Connection) -> int:
        return self.at

    def pass_seconds(self, seconds: float) -> None:
        self.at += int(seconds * SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running PostgreSQL whose database `template_reelwright` is migrated."""
    with running_postgres() as server:
        _administer(server, "CREATE DATABASE template_reelwright")
        migrate(server.url("template_reelwright"))
        yield server


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate(f"sqlite:///{path}")
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


_names = itertools.count(1)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh, migrated database; every test that asks for it runs on both."""
    if request.param == "sqlite":
        path = tmp_path / "reelwright.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), path)
        yield f"sqlite:///{path}"
        return
    server: Server = request.getfixturevalue("postgres")
    name = f"test_{next(_names)}"
    _administer(server, f"CREATE DATABASE {name} TEMPLATE template_reelwright STRATEGY FILE_COPY")
    yield server.url(name)
    _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str, clock: Clock) -> Iterator[Database]:
    """A fresh database under the test's own clock."""
    opened = Database.at(database_url)
    opened.clock = clock
    yield opened
    opened.close()


def _administer(server: Server, statement: str) -> None:
    engine = sa.create_engine(server.url(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
