"""What a video cost by meter, and the facts and files that each number comes from.

Belongs here: sums of its ledger lines beside their sources. Does not belong here: pricing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.rating import exact_sum
from pipeline.domain.units import utc
from resources.database import explained_money

Records = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Money:
    sums: Records  #: by meter, account and currency
    usage: Records  #: facts by id
    storage: Records  #: byte-time of days
    delivery: Records  #: by day and log file
    not_rated: tuple[str, ...]  #: meters that have facts and no ledger line


def money_of(connection: sa.Connection, rendition: str) -> Money:
    sums = _sums(connection, rendition)
    usage = tuple(
        {"fact": row.id, "meter": row.meter, "quantity": row.quantity, "attempt": row.attempt,
         "spend": row.spend, "at": utc(row.at)}
        for row in explained_money.usage_about(connection, rendition)
    )  # fmt: skip
    storage = tuple(
        {"meter": row.meter, "attempt": row.attempt, "days": row.days,
         "first_day": _day(row.first_day), "last_day": _day(row.last_day),
         "byte_seconds": Decimal(int(row.byte_seconds)) + Decimal(int(row.byte_micros)).scaleb(-6)}
        for row in explained_money.storage_about(connection, rendition)
    )  # fmt: skip
    delivery = tuple(
        {"meter": row.meter, "day": _day(row.day), "quantity": int(row.quantity), "file": row.name,
         "file_sha256": row.file, "kind": row.kind}
        for row in explained_money.delivery_about(connection, rendition)
    )  # fmt: skip
    rated = {one["meter"] for one in sums}
    used = {one["meter"] for one in (*usage, *storage, *delivery)}
    return Money(sums, usage, storage, delivery, tuple(sorted(used - rated)))


def _sums(connection: sa.Connection, rendition: str) -> Records:
    grouped: dict[tuple[str, ...], list[sa.Row[Any]]] = defaultdict(list)
    for row in explained_money.lines_about(connection, rendition):
        grouped[row.meter, row.spend, row.currency].append(row)
    return tuple(
        {
            "meter": meter,
            "spend": spend,
            "currency": currency,
            "amount": exact_sum(Decimal(row.amount) for row in rows if row.amount is not None),
            "unpriced_lines": sum(row.amount is None for row in rows),
            "periods": sorted({row.period for row in rows}),
            "lines": [f"{row.posting}/{row.number}" for row in rows],
        }
        for (meter, spend, currency), rows in sorted(grouped.items())
    )


def _day(micros: int) -> str:
    return utc(micros).date().isoformat()
