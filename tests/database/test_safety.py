"""What is refused before any work begins, by name, on a real server: no sync, a standby, another time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from pipeline.documents.settings import Settings
from pipeline.domain.errors import BadSettings
from resources.connect import connected
from resources.database import safety
from resources.database.database import Database
from resources.database.safety import CLOCK_SECONDS, require_safe, seconds_apart
from tests.conftest import SECOND
from tests.postgres import Server

POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def opened(database_url: str) -> Iterator[Database]:
    found = Database.at(database_url)
    yield found
    found.close()


def _set(database_url: str, setting: str) -> None:
    engine = sa.create_engine(database_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET {setting}")


@POSTGRESQL
def test_nothing_starts_on_a_server_that_does_not_sync_unless_it_is_allowed_by_name(
    database_url: str, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, database_url=SecretStr(database_url))

    with pytest.raises(BadSettings, match="fsync = off") as refused, connected(settings):
        pass
    assert "allow_unsafe_database" in refused.value.remedy
    with connected(settings.model_copy(update={"allow_unsafe_database": True})) as adapters:
        assert adapters.database.now() > 0


@POSTGRESQL
def test_torn_pages_are_refused_too(
    opened: Database, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safety, "DURABLE", {"full_page_writes": safety.DURABLE["full_page_writes"]})
    require_safe(opened)
    admin = sa.create_engine(postgres.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        try:
            _reload(connection, "ALTER SYSTEM SET full_page_writes = off", "off")
            with pytest.raises(BadSettings, match="full_page_writes = off"):
                require_safe(opened)
        finally:
            _reload(connection, "ALTER SYSTEM RESET full_page_writes", "on")


def _reload(connection: sa.Connection, statement: str, until: str) -> None:
    connection.exec_driver_sql(statement)
    connection.exec_driver_sql("SELECT pg_reload_conf()")
    end = time.monotonic() + 10
    while connection.exec_driver_sql("SHOW full_page_writes").scalar() != until:
        assert time.monotonic() < end
        time.sleep(0.02)


@POSTGRESQL
@pytest.mark.parametrize("allow_unsafe", [True, False])
def test_a_database_that_takes_no_writes_is_refused_whatever_is_allowed(
    database_url: str, opened: Database, allow_unsafe: bool
) -> None:
    _set(database_url, "default_transaction_read_only = on")

    with pytest.raises(BadSettings, match="takes no writes"):
        require_safe(opened, allow_unsafe=allow_unsafe)


def test_a_database_of_another_encoding_is_refused(postgres: Server) -> None:
    admin = sa.create_engine(postgres.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        latin = Database.at(postgres.url("latin"))
        with pytest.raises(BadSettings, match="encoded in LATIN1"):
            require_safe(latin, allow_unsafe=True)
        latin.close()
        connection.exec_driver_sql("DROP DATABASE latin")


@POSTGRESQL
@pytest.mark.parametrize("seconds", [CLOCK_SECONDS + 5, -CLOCK_SECONDS - 5])
def test_a_clock_that_is_too_far_off_is_refused_and_one_within_the_bound_is_not(
    opened: Database, seconds: float
) -> None:
    truth = opened.clock
    require_safe(opened, allow_unsafe=True)
    opened.clock = lambda connection: truth(connection) + int(seconds * SECOND)

    with pytest.raises(BadSettings, match=r"clock is [+-]6[3-7] s"):
        require_safe(opened, allow_unsafe=True)
    assert seconds_apart(opened) == pytest.approx(seconds, abs=2)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_has_this_machines_clock_and_its_own_proof(opened: Database) -> None:
    require_safe(opened)

    assert abs(seconds_apart(opened)) < 2
