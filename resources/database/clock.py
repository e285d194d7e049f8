"""The one clock: the database's, in UTC microseconds (L12). Tests pass a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import sqlalchemy as sa

#: Reads the time inside a transaction; UTC microseconds since the epoch.
Clock = Callable[[sa.Connection], int]

SECOND = 1_000_000

#: The time as an expression of each dialect; SQLite's has a resolution of one millisecond.
NOW: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000",
        "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
    }
)


def database_clock(connection: sa.Connection) -> int:
    """The database's own time."""
    return int(connection.exec_driver_sql(f"SELECT {NOW[connection.dialect.name]}").scalar_one())
