"""Refused before any work begins: a database that may forget, takes no writes, or lives at another time.

Belongs here: what is looked at once, at the start. Does not belong here: what holds for each connection
(`engine`), or who looks (`resources.connect`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

import sqlalchemy as sa

from pipeline.domain.errors import BadSettings
from resources.database.database import Database

#: Leases, due times and deadlines are the database's time; signed URLs, files and providers live by this
#: machine's. Further apart than this, neither can be believed.
CLOCK_SECONDS = 60.0

#: Settings of a PostgreSQL server without which a power cut takes what was committed, or all there is.
DURABLE: Mapping[str, str] = MappingProxyType(
    {
        "fsync": "a power cut may destroy the whole database",
        "full_page_writes": "a power cut may leave torn pages",
    }
)


def require_safe(database: Database, *, allow_unsafe: bool = False) -> None:
    """BadSettings unless the database keeps what it commits, takes writes, and lives at this time.

    *allow_unsafe* is the setting of that name: for databases that may be lost, as those of tests. It lets
    pass what `DURABLE` names, and nothing else.
    """
    if database.engine.dialect.name != "postgresql":
        return  # `engine` sets and proves it for each connection; its clock is this machine's
    with database.reading() as connection:
        _require_writable(connection)
        _require_utf8(connection)
        if not allow_unsafe:
            _require_durable(connection)
    apart = seconds_apart(database)
    if abs(apart) > CLOCK_SECONDS:
        raise BadSettings(
            "database_url",
            f"the database's clock is {apart:+.0f} s from this machine's; at most {CLOCK_SECONDS:.0f}",
            "synchronise the clocks of both machines (NTP)",
        )


def seconds_apart(database: Database) -> float:
    """How far the database's clock is ahead of this machine's."""
    before = time.time()
    theirs = database.now() / 1_000_000
    return theirs - (before + time.time()) / 2


def _require_writable(connection: sa.Connection) -> None:
    if connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
        raise BadSettings(
            "database_url",
            "PostgreSQL takes no writes here: it is a standby, or default_transaction_read_only is on",
            "name the primary server, or set default_transaction_read_only = off for this role and database",
        )


def _require_utf8(connection: sa.Connection) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise BadSettings(
            "database_url",
            f"the database is encoded in {encoding}, which cannot hold every brief",
            "create it with ENCODING 'UTF8' TEMPLATE template0",
        )


def _require_durable(connection: sa.Connection) -> None:
    for name, danger in DURABLE.items():
        if connection.exec_driver_sql(f"SHOW {name}").scalar() == "off":
            raise BadSettings(
                "database_url",
                f"PostgreSQL runs with {name} = off: {danger}",
                f"set {name} = on in postgresql.conf and reload; allow_unsafe_database is for databases that"
                " may be lost",
            )
