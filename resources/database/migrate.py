"""Bringing a database to this release's revision, and refusing one that this release cannot read (E7).

Belongs here: running the chain under a lock, comparing revisions. Does not belong here: the steps of the
chain (`migrations/versions`).

Every step is additive, so that the release before goes on reading and writing while this one is rolled out.
An older release does not know the newer revision's name: the database itself says which releases may use it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import make_url

from pipeline.domain.errors import SchemaMismatch
from resources.database.database import Database, named_trouble

#: Advisory lock of PostgreSQL that migrations take; SQLite's write lock does the same by itself.
MIGRATION_LOCK = 0x5EE1_0001
#: PostgreSQL: a step waits so long for a table that a running transaction holds, with all others behind it.
TABLE_WAIT_MS = 30_000
MIGRATIONS = Path(__file__).parent / "migrations"
#: The oldest revision whose release still reads and writes what the head of the chain is. A step that the
#: releases before cannot work beside names itself here.
OLDEST_READER = "0001"
#: Beside Alembic's own table and no part of the metadata: which revision stands, and who may use it.
READERS = "schema_readers"


def migrate(url: str) -> str:
    """Bring the database at *url* to the head of the chain; returns the revision it had before.

    Creates a SQLite file and its folder when they are not there. Two at once are safe: the second waits and
    finds nothing to do. A newer database that this release may use is left as it is. Raises SchemaMismatch
    for one that it may not.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    database = Database.at(url)
    try:
        with named_trouble(), database.engine.connect() as connection, connection.begin():
            _take_turn(connection)
            before = _revision(connection)
            if before is None or before in _known():
                command.upgrade(config(connection), "head")
                _say_who_reads(connection)
            else:
                _require_readable(connection, before)
            return before or "none"
    finally:
        database.close()


def _take_turn(connection: sa.Connection) -> None:
    """PostgreSQL: wait for another migration to its end, however long it takes; then be as patient as needed.

    A statement may take long, as an index over millions of rows does; a wait for a table may not, because
    whoever comes after waits behind it.
    """
    if connection.dialect.name != "postgresql":
        return
    for statement in (
        "SET LOCAL lock_timeout = 0",
        "SET LOCAL statement_timeout = 0",
        f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})",
        f"SET LOCAL lock_timeout = {TABLE_WAIT_MS}",
    ):
        connection.exec_driver_sql(statement)


def config(connection: sa.Connection | None = None) -> Config:
    """Alembic's configuration for this chain."""
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    made.attributes["connection"] = connection
    return made


def head() -> str:
    """The revision that this release writes."""
    found = ScriptDirectory.from_config(config()).get_current_head()
    assert found is not None, "the chain has no head"  # noqa: S101 - a broken installation
    return found


def _known() -> frozenset[str]:
    return frozenset(one.revision for one in ScriptDirectory.from_config(config()).walk_revisions())


def require_current(database: Database) -> str:
    """The database's revision; SchemaMismatch unless this release reads and writes it.

    That is this release's own, or a newer one that says so.
    """
    with database.reading() as connection:
        found = _revision(connection)
        if found is None:
            raise SchemaMismatch("the database is empty: it was never set up")
        if found != head():
            _require_readable(connection, found)
    return found


def _require_readable(connection: sa.Connection, found: str) -> None:
    known = _known()
    if found not in known and _oldest_reader(connection, found) in known:
        return
    error = SchemaMismatch(f"the database is at revision {found}, this release reads {head()}")
    if found not in known:
        error.remedy = (
            "use the release that set it up, or restore a dump from before (docs/backup-and-restore.md);"
            " Dagster's own storage needs another database than Reelwright's"
        )
    raise error


def _oldest_reader(connection: sa.Connection, revision: str) -> str | None:
    """What the database says of *revision*; None when it says nothing, or speaks of another one."""
    if not sa.inspect(connection).has_table(READERS):
        return None
    found = connection.execute(
        sa.text(f"SELECT oldest FROM {READERS} WHERE revision = :revision"),  # noqa: S608
        {"revision": revision},
    ).scalar()
    return None if found is None else str(found)


def _say_who_reads(connection: sa.Connection) -> None:
    if not sa.inspect(connection).has_table(READERS):
        connection.exec_driver_sql(f"CREATE TABLE {READERS} (revision TEXT NOT NULL, oldest TEXT NOT NULL)")
    if _oldest_reader(connection, head()) == OLDEST_READER:
        return
    connection.exec_driver_sql(f"DELETE FROM {READERS}")  # noqa: S608
    connection.execute(
        sa.text(f"INSERT INTO {READERS} (revision, oldest) VALUES (:revision, :oldest)"),  # noqa: S608
        {"revision": head(), "oldest": OLDEST_READER},
    )


def _revision(connection: sa.Connection) -> str | None:
    context: Any = MigrationContext.configure(connection)
    found = context.get_current_revision()
    return None if found is None else str(found)
