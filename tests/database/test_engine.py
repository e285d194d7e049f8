"""L10: a database that could forget a commit, or hang for ever, is refused or bounded at the door."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import sqlalchemy as sa

from pipeline.domain.errors import BadSettings
from resources.database import engine as engine_module
from resources.database.clock import database_clock
from resources.database.database import Database
from resources.database.engine import READ_ONLY, normalised, open_engine, refuse_network_file_system


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("sqlite://", "in-memory"),
        ("sqlite:///:memory:", "in-memory"),
        ("mysql://x@y/z", "mysql"),
        ("not a url", "not a database URL"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_by_name(url: str, word: str) -> None:
    with pytest.raises(BadSettings, match=word):
        open_engine(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_every_spelling_of_postgresql_names_the_driver(scheme: str) -> None:
    assert normalised(f"{scheme}://me@host/db").drivername == "postgresql+psycopg2"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_is_durable_checked_and_immediate(database_url: str) -> None:
    engine = open_engine(database_url)
    with engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()

    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5_000}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_sqlite_without_full_durability_is_refused(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lax:
        """A connection whose file system takes no WAL, as some network mounts do."""

        def __init__(self) -> None:
            self.isolation_level: str | None = ""

        def cursor(self) -> Lax:
            return self

        def execute(self, statement: str) -> Lax:
            self.statement = statement
            return self

        def fetchone(self) -> tuple[object]:
            return ("delete",) if "journal_mode" in self.statement else (2,)

        def close(self) -> None:
            pass

    with pytest.raises(BadSettings, match="journal_mode"):
        engine_module._prepare_sqlite(Lax(), None)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_reader_of_sqlite_takes_no_write_lock(database_url: str) -> None:
    writer, reader = open_engine(database_url), open_engine(database_url)
    with (
        writer.begin() as writing,
        reader.connect().execution_options(**READ_ONLY) as reading,
    ):
        writing.exec_driver_sql("INSERT INTO operations (id, at) VALUES ('mine', 0)")
        seen = reading.exec_driver_sql("SELECT count(*) FROM operations").scalar()
    writer.dispose()
    reader.dispose()

    assert seen == 0


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_postgresql_is_bounded_in_time_and_speaks_utc(database_url: str) -> None:
    engine = open_engine(database_url)
    names = (
        "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "timezone",
        "synchronous_commit",
    )  # fmt: skip
    with engine.connect() as connection:
        found = {name: connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names}
    engine.dispose()

    assert found == {
        "statement_timeout": "1min", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "10s",
        "timezone": "UTC", "synchronous_commit": "on",
    }  # fmt: skip


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_postgresql_that_may_forget_commits_is_refused(database_url: str) -> None:
    engine = sa.create_engine(database_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    lax = open_engine(database_url)

    with pytest.raises(BadSettings, match="synchronous_commit"):
        lax.connect()
    lax.dispose()


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused_by_name(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = [
        SimpleNamespace(mountpoint="/", fstype="ext4"),
        SimpleNamespace(mountpoint=str(tmp_path), fstype=kind),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)

    with pytest.raises(BadSettings, match=kind):
        refuse_network_file_system(tmp_path / "not" / "there" / "reelwright.db")
    refuse_network_file_system(Path("/reelwright.db"))


def test_the_clock_is_the_databases_own_in_whole_microseconds(database_url: str) -> None:
    database = Database.at(database_url)
    with database.reading() as connection:
        first, second = database_clock(connection), database_clock(connection)
    database.close()

    assert 1_700_000_000_000_000 < first <= second < 4_000_000_000_000_000
