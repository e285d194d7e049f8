"""A month's accounts as values: what a report, a close and a person are given.

Belongs here: adding lines up. Does not belong here: charts, files, formats (`report`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.ledger import (
    Correction,
    InvoiceResult,
    Line,
    MonthLedger,
    Total,
    TotalKey,
    Unattributed,
    Unpriced,
    VideoCost,
    Watermark,
    shown_by_group,
)
from pipeline.domain.periods import Month, days_between, midnight, status_of
from pipeline.domain.rating import EXACT, Halves, PriceCards, plain
from pipeline.domain.units import utc
from pipeline.steps.account.match_invoice import result_of
from resources.database.database import Database
from resources.database.invoices import invoices_of, lines_of_invoice
from resources.database.ledger import currencies_of, lines_of, rated_at
from resources.database.periods import closed_months, period_row, statement
from resources.database.schema import publications
from resources.database.storage_usage import first_object_at, measured_at


def month_ledger(database: Database, cards: PriceCards, month: Month) -> MonthLedger:
    """Everything that is known of *month*; of a closed one the totals as it stated them."""
    now = database.now()
    with database.reading() as connection:
        row = period_row(connection, month)
        sums = added_up(connection, month)
        published = _published(connection, month)
        watermark = _watermark(connection, month, row, now)
        invoices = _invoices(connection, month)
        currency = next(iter(currencies_of(connection, month)), "")
        card = cards.on(month.next.first_day - timedelta(days=1)) or cards.on(month.first_day)
        is_closed = row is not None and row.closed_at is not None
        places, halves = (
            (row.places, Halves(row.halves))
            if row is not None and is_closed
            else ((card.places, card.halves) if card else (2, Halves.EVEN))
        )
        totals = statement(connection, month, places) if is_closed else sums.totals(places, halves)
    return MonthLedger(
        month=month,
        currency=currency or (card.currency if card else ""),
        cards=tuple(sorted(sums.cards)),
        places=places,
        halves=halves,
        watermark=watermark,
        line_count=sums.lines,
        exact=plain(sums.exact),
        totals=totals,
        unpriced=sums.unpriced_rows(),
        unattributed=sums.unattributed_rows(),
        corrections=sums.correction_rows(),
        videos=sums.video_rows(published),
        invoices=invoices,
    )


@dataclass
class Sums:
    """Lines of a month, added up in one pass; its size grows with videos and accounts, not with lines."""

    lines: int = 0
    exact: Decimal = Decimal(0)
    cards: set[str] = field(default_factory=set)
    _exact: dict[TotalKey, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    _units: dict[TotalKey, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    _unpriced: dict[Unpriced, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    _delivered: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    _nobodys: dict[tuple[str, str], list[Decimal]] = field(default_factory=dict)
    _corrections: dict[tuple[str, str, str], list[Any]] = field(default_factory=dict)
    _videos: dict[tuple[str, ...], dict[str, Decimal]] = field(default_factory=dict)
    _waste: dict[tuple[str, ...], Decimal] = field(default_factory=lambda: defaultdict(Decimal))

    def add(self, line: Line) -> None:
        self.lines += 1
        if line.card:
            self.cards.add(line.card)
        account, meter = line.measured.account, line.measured.meter
        amount = line.amount or Decimal(0)
        self._delivered[meter] = EXACT.add(self._delivered[meter], line.units)
        if not line.is_attributed:
            found = self._nobodys.setdefault((account.tenant, meter), [Decimal(0), Decimal(0)])
            found[0], found[1] = EXACT.add(found[0], line.units), EXACT.add(found[1], amount)
        if line.amount is None:
            unpriced = Unpriced(
                account.tenant, account.campaign, meter, line.measured.provider, line.measured.model,
                line.measured.region, account.spend, line.reason, Decimal(0),
            )  # fmt: skip
            self._unpriced[unpriced] = EXACT.add(self._unpriced[unpriced], line.units)
            return
        self.exact = EXACT.add(self.exact, amount)
        key = TotalKey(
            account.spend,
            account.tenant,
            account.campaign,
            account.cost_center,
            meter,
            str(line.corrects or ""),
        )
        self._exact[key] = EXACT.add(self._exact[key], amount)
        self._units[key] = EXACT.add(self._units[key], line.units)
        if line.corrects is not None:
            correction = self._corrections.setdefault(
                (str(line.corrects), line.cause, account.tenant), [0, Decimal(0)]
            )
            correction[0] += 1
            correction[1] = EXACT.add(correction[1], amount)
        if account.rendition:
            video = (account.tenant, account.campaign, account.cost_center, account.rendition, account.spend)
            meters = self._videos.setdefault(video, defaultdict(Decimal))
            meters[meter] = EXACT.add(meters[meter], amount)
            if line.is_waste:
                self._waste[video] = EXACT.add(self._waste[video], amount)

    def totals(self, places: int, halves: Halves) -> tuple[Total, ...]:
        """What a report states, rounded once; within a tenant and kind of spend shown amounts add up."""
        shown = shown_by_group(dict(self._exact), lambda key: (key.spend, key.tenant), places, halves)
        return tuple(
            Total(key, plain(self._units[key]), plain(exact), shown[key])
            for key, exact in sorted(self._exact.items())
        )

    def unpriced_rows(self) -> tuple[Unpriced, ...]:
        return tuple(
            replace(key, units=plain(units))
            for key, units in sorted(self._unpriced.items(), key=lambda pair: astuple(pair[0]))
            if units
        )

    def unattributed_rows(self) -> tuple[Unattributed, ...]:
        return tuple(
            Unattributed(tenant, meter, plain(units), plain(self._delivered[meter]), plain(amount))
            for (tenant, meter), (units, amount) in sorted(self._nobodys.items())
            if units
        )

    def correction_rows(self) -> tuple[Correction, ...]:
        return tuple(
            Correction(Month.named(corrects), cause, tenant, lines, plain(exact))
            for (corrects, cause, tenant), (lines, exact) in sorted(self._corrections.items())
        )

    def video_rows(self, published: frozenset[str]) -> tuple[VideoCost, ...]:
        rows = []
        for video, meters in sorted(self._videos.items()):
            tenant, campaign, cost_center, rendition, spend = video
            by_meter = tuple((meter, plain(amount)) for meter, amount in sorted(meters.items()))
            total = Decimal(0)
            for _, amount in by_meter:
                total = EXACT.add(total, amount)
            rows.append(
                VideoCost(
                    tenant, campaign, cost_center, rendition, spend, rendition in published, plain(total),
                    plain(self._waste.get(video, Decimal(0))), by_meter,
                )
            )  # fmt: skip
        return tuple(rows)


def added_up(connection: sa.Connection, month: Month) -> Sums:
    """Every line of a month's accounts, in one pass."""
    sums = Sums()
    for line in lines_of(connection, month):
        sums.add(line)
    return sums


def _published(connection: sa.Connection, month: Month) -> frozenset[str]:
    """Renditions that a slot showed at some time up to the end of the month."""
    wanted = sa.select(publications.c.rendition).where(
        publications.c.rendition.is_not(None), publications.c.from_at < month.end
    )
    return frozenset(connection.scalars(wanted.distinct()))


def _watermark(connection: sa.Connection, month: Month, row: sa.Row[Any] | None, now: int) -> Watermark:
    at = rated_at(connection, month)
    return Watermark(
        status=status_of(month, now, closed_months(connection)),
        as_of=utc(now),
        stored_until=_stored_until(connection, month),
        rated_at=None if at is None else utc(at),
        closed_at=None if row is None or row.closed_at is None else utc(row.closed_at),
        closed_by=(row.closed_by or "") if row is not None else "",
        statement_sha256=(row.statement_sha256 or "") if row is not None else "",
    )


def _stored_until(connection: sa.Connection, month: Month) -> date | None:
    """The first day of the month that was not measured after its end; None: there was nothing to measure."""
    first = first_object_at(connection)
    if first is None or first >= month.end:
        return None
    begun = max(month.first_day, utc(first).date())
    measured: dict[date, int] = measured_at(connection, month.days)
    missing: Sequence[date] = [
        day
        for day in days_between(begun, month.next.first_day)
        if measured.get(day, 0) < midnight(day + timedelta(days=1))
    ]
    return missing[0] if missing else month.next.first_day


def _invoices(connection: sa.Connection, month: Month) -> tuple[InvoiceResult, ...]:
    return tuple(
        result_of(row, lines_of_invoice(connection, row.id)) for row in invoices_of(connection, month)
    )
