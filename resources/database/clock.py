"""The one clock: the database's, in UTC microseconds (L12). Tests pass a clock of their own."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

#: Reads the time inside a transaction; UTC microseconds since the epoch.
Clock = Callable[[sa.Connection], int]

SECOND = 1_000_000

_NOW = {
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000",
    "postgresql": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}


def database_clock(connection: sa.Connection) -> int:
    """The database's own time; SQLite's has a resolution of one millisecond."""
    return int(connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one())
