"""A set of books for tests: usage facts, delivery facts, a small card, and sums of what stands.

Belongs here: rows and readings. Does not belong here: what a test expects.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from pipeline.domain.ledger import Line
from pipeline.domain.periods import Month, midnight
from pipeline.domain.rating import MonthRule, Price, PriceCard, PriceCards, Tier, Unit, exact_sum
from pipeline.steps.account.rate import Rated, rate
from resources.database import schema
from resources.database.database import Database
from resources.database.ledger import lines_of
from tests.database import rows

D = Decimal
CAMPAIGN = "northwind.spring"
MARCH, APRIL = Month(2026, 3), Month(2026, 4)


def price(sku: str, *meters: str, unit: Unit, tiers: tuple[Tier, ...] | str, **named: object) -> Price:
    given = {
        "provider": "*",
        "model": "*",
        "region": "*",
        "month_rule": MonthRule.CALENDAR,
        "rounds_up": False,
    }
    ladder = (Tier(D(0), None, D(tiers)),) if isinstance(tiers, str) else tiers
    return Price(sku, meters, unit=unit, tiers=ladder, **(given | named))  # type: ignore[arg-type]


#: A cent a credit; traffic in two tiers that meet at 10 GB.
CARD = PriceCard(
    "card-1", "USD", date(2026, 1, 1), None,
    (
        price("credits", "provider_units", unit=Unit.CREDITS, tiers="0.01"),
        price("bytes", "delivered_bytes", unit=Unit.GB,
              tiers=(Tier(D(0), D(10), D("0.09")), Tier(D(10), None, D("0.05")))),
        price("store", "rendition_byte_seconds", unit=Unit.GB_MONTHS, tiers="0.023"),
    ),
    not_charged={"cache_hits": "billed as requests"},
)  # fmt: skip
CARDS = PriceCards((CARD,))
_numbers = itertools.count(1)


@dataclass
class Books:
    """One campaign with one video, whose money is watched."""

    database: Database
    cards: PriceCards = CARDS

    def __post_init__(self) -> None:
        rows.campaign(self.database, CAMPAIGN)
        self.attempt = self.video("r-1")
        rows.insert(
            self.database, schema.delivery_files,
            {"id": "file", "tenant": "*", "verdict": "read", "reason": "", "kind": "cloudfront", "name": "f",
             "size_bytes": 1, "reader_version": "1", "hours": {}, "reasons": {}, "read_at": 0},
        )  # fmt: skip

    def video(self, name: str, **columns: Any) -> str:
        rows.rendition(self.database, CAMPAIGN, name)
        return rows.attempt(self.database, CAMPAIGN, name, **{"state": "indexed"} | columns)

    def use(
        self, at: int, quantity: int, meter: str = "provider_units", name: str = "", **columns: Any
    ) -> None:
        rows.insert(
            self.database, schema.usage_facts,
            {"id": name or f"fact-{next(_numbers)}", "tenant": "northwind", "campaign": CAMPAIGN,
             "rendition": "r-1", "attempt": self.attempt, "cost_center": "MKT-1", "meter": meter,
             "quantity": quantity, "spend": "live", "at": at} | columns,
        )  # fmt: skip

    def deliver(self, day: date, quantity: int, meter: str = "delivered_bytes", **columns: Any) -> None:
        rows.insert(
            self.database, schema.delivery_facts,
            {"id": f"delivery-{next(_numbers)}", "tenant": "northwind", "campaign": CAMPAIGN,
             "rendition": "r-1", "object": "o-1", "cost_center": "MKT-1", "spend": "live", "file": "file",
             "provider": "cloudfront", "day": midnight(day), "meter": meter, "region": "FRA",
             "scheme": "https", "traffic": "full", "agent": "viewer", "quantity": quantity} | columns,
        )  # fmt: skip

    def rate(self, month: Month, *, settle: bool = True) -> Rated:
        return rate(self.database, self.cards, month, actor="anna", settle=settle)

    def reprice(self, version: str, **changes: object) -> None:
        """Another card in place of the one that held."""
        self.cards = PriceCards((replace(self.cards.cards[0], version=version, **changes),))  # type: ignore[arg-type]

    def lines(self, period: Month) -> list[Line]:
        with self.database.reading() as connection:
            return list(lines_of(connection, period))

    def total(self, period: Month) -> Decimal:
        return exact_sum(line.amount for line in self.lines(period) if line.amount is not None)

    def by_rendition(self, period: Month) -> dict[str, Decimal]:
        found: dict[str, Decimal] = defaultdict(Decimal)
        for line in self.lines(period):
            found[line.measured.account.rendition] += line.amount or D(0)
        return dict(found)
