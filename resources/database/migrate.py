"""Bringing a database to this release's revision, and refusing any other (E7).

Belongs here: running the chain under a lock, comparing revisions. Does not belong here: the steps of the
chain (`migrations/versions`).
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
from resources.database.database import Database

#: Advisory lock of PostgreSQL that migrations take; SQLite's write lock does the same by itself.
MIGRATION_LOCK = 0x5EE1_0001


def migrate(url: str) -> str:
    """Bring the database at *url* to the head of the chain; returns the revision it had before.

    Creates a SQLite file and its folder when they are not there. Two at once are safe: the second
    waits and finds nothing to do.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    database = Database.at(url)
    try:
        with database.engine.connect() as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            before = _revision(connection)
            command.upgrade(config(connection), "head")
            return before or "none"
    finally:
        database.close()


def config(connection: sa.Connection | None = None) -> Config:
    """Alembic's configuration for this chain."""
    made = Config()
    made.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    made.attributes["connection"] = connection
    return made


def head() -> str:
    """The revision that this release reads."""
    found = ScriptDirectory.from_config(config()).get_current_head()
    assert found is not None, "the chain has no head"  # noqa: S101 - a broken installation
    return found


def require_current(database: Database) -> None:
    """Raise `SchemaMismatch` unless the database is at this release's revision."""
    with database.reading() as connection:
        found = _revision(connection)
    wanted = head()
    if found is None:
        raise SchemaMismatch("the database is empty: it was never set up")
    if found != wanted:
        raise SchemaMismatch(f"the database is at revision {found}, this release reads {wanted}")


def _revision(connection: sa.Connection) -> str | None:
    context: Any = MigrationContext.configure(connection)
    found = context.get_current_revision()
    return None if found is None else str(found)
