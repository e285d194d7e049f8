"""Counts that survive the process: duplicates, stale writers, lost races, no-op observations."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import counters
from resources.database.upsert import insert_for


def count_up(tx: Transaction, name: str, tenant: str, by: int = 1) -> None:
    insert = insert_for(tx.connection, counters).values(name=name, tenant=tenant, value=by)
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["name", "tenant"],
            set_={"value": counters.c.value + insert.excluded.value},
        )
    )


def counted(connection: sa.Connection, name: str) -> int:
    """The sum over all tenants."""
    found = connection.scalar(sa.select(sa.func.sum(counters.c.value)).where(counters.c.name == name))
    return int(found or 0)
