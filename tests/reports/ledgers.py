"""A month's ledger made by hand: lines of two tenants, with everything that a report must tell apart.

Belongs here: facts. Does not belong here: what a test expects of a report.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pipeline.domain.ledger import Account, Fate, InvoiceResult, Line, Measured, MonthLedger, Watermark
from pipeline.domain.periods import Month, Status
from pipeline.domain.rating import Halves, plain, times
from pipeline.domain.statement import BudgetFact, CardNote, Issue, Statement, Surroundings
from pipeline.domain.statement_sums import statement_of
from pipeline.steps.account.month import Sums
from resources.reports.publish import Proof

D = Decimal
NOVEMBER, OCTOBER = Month(2026, 11), Month(2026, 10)
POSTED = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)

#: meter: sku, unit, units in one, prices of its tiers, size of the first.
PRICES: Mapping[str, tuple[str, str, int, tuple[str, ...], str | None]] = {
    "provider_units": ("render-credits", "Credits", 1, ("0.05",), None),
    "generated_seconds": ("render-seconds", "Seconds", 1, ("0.12",), None),
    "delivered_bytes": ("delivery-eu", "GB", 10**9, ("0.085", "0.08"), "1000"),
    "delivery_requests": ("delivery-requests", "10000 Requests", 10_000, ("0.01",), None),
    "rendition_byte_seconds": ("storage", "GiB-Months", 2**30 * 30 * 86_400, ("0.023",), None),
    "status_requests": ("not-charged", "", 1, ("0",), None),
}


@dataclass(frozen=True, slots=True)
class Books:
    """Lines with the month they make."""

    ledger: MonthLedger
    lines: Sequence[Line]
    around: Surroundings
    proof: Proof

    @property
    def statement(self) -> Statement:
        return statement_of(self.ledger, self.lines, self.around)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)


def line(
    number: int, day: date, account: Account, meter: str, units: Decimal | int, *, tier: int = 1,
    fate: Fate = Fate.USED, corrects: Month | None = None, cause: str = "facts",
    period: Month = NOVEMBER, posted_at: datetime = POSTED, region: str = "",
) -> Line:  # fmt: skip
    """One priced line; its quantity and amount follow from the units."""
    sku, unit, size, prices, _ = PRICES[meter]
    quantity = plain((D(units) / size).quantize(D("1e-18")))
    price = D(prices[tier - 1])
    measured = Measured(day, account, meter, "local" if "render" in sku else "", "", region)
    return Line(
        f"{day}#1/{number}", period, measured, fate, D(units), "card-2026-11", sku, tier, unit, quantity,
        price, times(quantity, price), "", corrects, cause, posted_at,
    )  # fmt: skip


def unpriced(number: int, day: date, account: Account) -> Line:
    made = line(number, day, account, "provider_units", 40)
    return replace(
        made, sku="", tier=0, unit="", quantity=None, unit_price=None, amount=None,
        reason="render-credits retired on 2026-11-15",
    )  # fmt: skip


def account(
    campaign: str, *, rendition: str = "r-1", cost_center: str = "MKT-1", spend: str = "live",
    tenant: str = "northwind",
) -> Account:  # fmt: skip
    name = f"{tenant}.{campaign}" if campaign else ""
    return Account(tenant, name, cost_center, rendition, f"a-{rendition}" if rendition else "", spend)


def books_of(
    lines: Sequence[Line], *, month: Month = NOVEMBER, closed: bool = False, previous: Issue | None = None,
    places: int = 2, halves: Halves = Halves.EVEN, budgets: tuple[BudgetFact, ...] = (),
    invoices: tuple[InvoiceResult, ...] = (), daily: Mapping[date, Decimal] | None = None,
    published: Mapping[str, int] | None = None, is_sample: bool = False,
) -> Books:  # fmt: skip
    """The month that *lines* make, added up by the code that adds up the real ones."""
    ordered = sorted(lines, key=lambda one: (one.measured.day, one.id))
    sums = Sums()
    for one in ordered:
        sums.add(one)
    mark = Watermark(
        Status.CLOSED if closed else Status.GRACE, POSTED, month.next.first_day,
        max((one.posted_at for one in ordered), default=None),
        POSTED + timedelta(days=7) if closed else None,
        "anna" if closed else "", "c0ffee" * 8 if closed else "",
    )  # fmt: skip
    ledger = MonthLedger(
        month, "USD", tuple(sorted(sums.cards)), places, halves, mark, sums.lines, plain(sums.exact),
        sums.totals(places, halves), sums.unpriced_rows(), sums.unattributed_rows(), sums.correction_rows(),
        sums.video_rows(frozenset({"r-1", "r-2"})), invoices,
    )  # fmt: skip
    around = Surroundings(
        daily or {}, published or {}, budgets,
        (CardNote("card-2026-11", date(2026, 1, 1), is_sample, "list prices of 2026-11-01"),), previous,
    )  # fmt: skip
    sizes = {
        ("card-2026-11", sku, str(tier), price): D(first) if first and tier == 1 else None
        for sku, _, _, prices, first in PRICES.values()
        for tier, price in enumerate(prices, 1)
    }
    return Books(ledger, ordered, around, Proof(frozenset({OCTOBER}), sizes))


def november(*, closed: bool = False, previous: Issue | None = None) -> Books:
    """A month as it really looks: waste, tests, corrections, what nobody explains, and a year before it."""
    made = random.Random(11)
    lines: list[Line] = []
    campaigns = {
        "northwind": ("spring", "autumn-boots", "employer-brand"),
        "acme": ("parcel-launch", "winter-tyres"),
    }
    fates = [*[Fate.USED] * 6, Fate.FAILED, Fate.SUPERSEDED, Fate.UNKNOWN, Fate.IN_PROGRESS]
    for tenant, names in campaigns.items():
        for place, name in enumerate(names):
            center = ("MKT-4410", "MKT-7002", "HR-1")[place]
            for day in NOVEMBER.days:
                rendition = f"r-{tenant[0]}{place}{made.randrange(4)}"
                who = account(name, tenant=tenant, rendition=rendition, cost_center=center)
                add = lambda *given, **named: lines.append(line(len(lines) + 1, *given, **named))  # noqa: E731
                if day.weekday() < 5:
                    fate = made.choice(fates)
                    add(day, who, "generated_seconds", made.randrange(6, 120), fate=fate)
                    add(day, who, "provider_units", made.randrange(5, 60), fate=fate)
                    add(day, who, "status_requests", made.randrange(10, 90), fate=fate)
                add(day, who, "rendition_byte_seconds", made.randrange(10**14, 10**15))
                add(day, who, "delivered_bytes", made.randrange(10**9, 6 * 10**9), region="FRA")
                add(day, who, "delivered_bytes", made.randrange(10**8, 10**9), tier=2, region="FRA")
                add(day, who, "delivery_requests", made.randrange(1_000, 90_000), region="FRA")
                if place == 0 and day.weekday() == 2:
                    add(day, replace(who, spend="test"), "generated_seconds", made.randrange(6, 30))
    nobody = Account("northwind", "", "", "", "", "live")
    lines.append(
        line(9001, date(2026, 11, 9), nobody, "delivered_bytes", 812_345_678, fate=Fate.NONE, region="FRA")
    )
    lines.append(unpriced(9002, date(2026, 11, 20), account("spring")))
    late = account("spring")
    lines.append(
        line(9003, date(2026, 10, 31), late, "delivered_bytes", 31_000_000_000, corrects=OCTOBER,
             cause="late facts", region="FRA")
    )  # fmt: skip
    lines.append(
        line(9004, date(2026, 10, 12), late, "delivered_bytes", -4_000_000_000, corrects=OCTOBER,
             cause="another card: card-2026-11 instead of card-2026-10", region="FRA",
             posted_at=POSTED + timedelta(hours=30))
    )  # fmt: skip
    daily = {date(2025, 11, 3) + timedelta(days=n): D(made.randrange(400, 900)) / 10 for n in range(363)}
    for one in lines:
        if one.amount is not None and one.measured.account.spend == "live":
            daily[one.measured.day] = daily.get(one.measured.day, D(0)) + one.amount
    return books_of(
        lines, closed=closed, previous=previous, daily=daily, is_sample=True,
        published={"northwind.spring": 6, "acme.parcel-launch": 12, "acme.winter-tyres": 2},
        budgets=(
            BudgetFact("northwind", "northwind.spring", "USD", D("400"), D("310.5"), D("12"), D("371.224")),
            BudgetFact("acme", "acme.parcel-launch", "EUR", D("250"), D("199.99"), D(0), D("240.1")),
        ),
        invoices=(InvoiceResult("INV-11-2026", "local", "USD", D("931.40"), 118, 2, 1, 3, D("4.15")),),
    )  # fmt: skip
