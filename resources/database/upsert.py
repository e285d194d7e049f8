"""INSERT … ON CONFLICT: the one statement that SQLAlchemy spells per dialect."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_for(connection: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
