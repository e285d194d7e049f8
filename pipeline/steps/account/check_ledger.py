"""Look at a day of the ledger: its lines against the facts, its sums, and what has no price or no owner.

Belongs here: the looks and their rows. Does not belong here: which asset shows them
(`pipeline.assets.ledger`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import sqlalchemy as sa

from pipeline.domain.rating import EXACT, plain
from pipeline.steps.account.rate import charge_of
from resources.database.database import Database
from resources.database.invariants.ledger import LEDGER
from resources.database.ledger import posted
from resources.database.measured import units_by_meter

#: Rows that a look names.
NAMED = 20


@dataclass(frozen=True, slots=True)
class DayOfLedger:
    """What was found of one charge day."""

    day: date
    units: Mapping[str, Decimal]  #: by meter, as the ledger has them
    amounts: Mapping[str, Decimal]  #: by meter, over all postings
    apart: tuple[str, ...]  #: meters whose lines are not what was measured
    broken: tuple[str, ...]  #: sums that do not add up, over the whole ledger
    unpriced: Mapping[str, Decimal]  #: units without a price, by meter and reason
    unattributed: Mapping[str, Decimal]  #: units that are nobody's, by meter


def check_ledger(database: Database, day: date) -> DayOfLedger:
    """Read *day* as it stands, and lay it beside what was measured."""
    with database.reading() as connection:
        measured, charged = units_by_meter(connection, day), charge_of(connection, day)
        sums = posted(connection, day, by_fate=False).sums
        broken = [
            f"{one.id}: {row.subject}: {row.found}"
            for one in LEDGER
            for row in connection.execute(sa.text(one.sql)).fetchmany(NAMED)
        ]
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    unpriced: dict[str, Decimal] = defaultdict(Decimal)
    nobodys: dict[str, Decimal] = defaultdict(Decimal)
    for priced, one in sums.items():
        meter = priced.measured.meter
        if priced.unit_price is None:
            unpriced[f"{meter}: {priced.reason}"] += one.units
        else:
            amounts[meter] = EXACT.fma(one.quantity, priced.unit_price, amounts[meter])
        if not priced.measured.account.campaign:
            nobodys[meter] += one.units
    apart = tuple(
        f"{meter}: measured {measured.get(meter, 0)}, charged {charged.get(meter, 0)}"
        for meter in sorted(measured.keys() | charged.keys())
        if measured.get(meter) != charged.get(meter)
    )
    return DayOfLedger(
        day,
        charged,
        {meter: plain(amount) for meter, amount in sorted(amounts.items())},
        apart,
        tuple(broken),
        dict(sorted(unpriced.items())),
        dict(sorted(nobodys.items())),
    )
