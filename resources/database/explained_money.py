"""What one video cost, and where each number of it comes from.

Belongs here: its ledger lines, and the facts that they are of. Does not belong here: sums of money.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.schema import (
    delivery_facts,
    delivery_files,
    ledger_lines,
    ledger_postings,
    storage_days,
    usage_facts,
)

Rows = Sequence[sa.Row[Any]]


def lines_about(connection: sa.Connection, rendition: str) -> Rows:
    wanted = sa.select(ledger_lines, ledger_postings.c.period, ledger_postings.c.currency).join(
        ledger_postings, ledger_postings.c.id == ledger_lines.c.posting
    )
    order = (ledger_lines.c.meter, ledger_lines.c.day, ledger_lines.c.posting, ledger_lines.c.number)
    return connection.execute(wanted.where(ledger_lines.c.rendition == rendition).order_by(*order)).all()


def usage_about(connection: sa.Connection, rendition: str) -> Rows:
    mine = sa.select(usage_facts).where(usage_facts.c.rendition == rendition)
    return connection.execute(mine.order_by(usage_facts.c.at, usage_facts.c.id)).all()


def storage_about(connection: sa.Connection, rendition: str) -> Rows:
    """Byte-time by meter and attempt: whole byte-seconds and millionths, first and last day, days."""
    by = (storage_days.c.meter, storage_days.c.attempt)
    sums = [
        sa.func.sum(storage_days.c.byte_seconds).label("byte_seconds"),
        sa.func.sum(storage_days.c.byte_micros).label("byte_micros"),
        sa.func.min(storage_days.c.day).label("first_day"),
        sa.func.max(storage_days.c.day).label("last_day"),
        sa.func.count(sa.distinct(storage_days.c.day)).label("days"),
    ]
    mine = sa.select(*by, *sums).where(storage_days.c.rendition == rendition)
    return connection.execute(mine.group_by(*by).order_by(*by)).all()


def delivery_about(connection: sa.Connection, rendition: str) -> Rows:
    """By meter, day and log file: its hash, and the name under which it was read first."""
    fact = delivery_facts.c
    by = (fact.meter, fact.day, fact.file, delivery_files.c.name, delivery_files.c.kind)
    wanted: sa.Select[Any] = sa.select(*by, sa.func.sum(fact.quantity).label("quantity")).join(
        delivery_files, delivery_files.c.id == fact.file
    )
    mine = wanted.where(fact.rendition == rendition).group_by(*by)
    return connection.execute(mine.order_by(fact.meter, fact.day, fact.file)).all()
