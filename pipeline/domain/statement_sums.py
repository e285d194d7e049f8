"""A month's statement, added up from its lines: one pass over them, then sums of what the ledger states.

Belongs here: adding up, and fitting what is shown to its total. Does not belong here: the values
(`pipeline.domain.statement`), or files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction

from pipeline.domain.forecast import Forecast, forecast
from pipeline.domain.ledger import Fate, Line, MonthLedger, Total
from pipeline.domain.periods import Status
from pipeline.domain.rating import EXACT, plain, rounded
from pipeline.domain.statement import (
    LIVE,
    Budget,
    Change,
    DayCost,
    Family,
    Issue,
    Part,
    Rate,
    Rated,
    Statement,
    Surroundings,
    UnitCost,
    family_of,
)


def statement_of(ledger: MonthLedger, lines: Iterable[Line], around: Surroundings) -> Statement:
    """The statement of a month, with one pass over its lines."""
    sums = _Sums(around.previous)
    with localcontext(EXACT):
        for line in lines:
            sums.add(line)
    live = [total for total in ledger.totals if total.key.spend == LIVE]
    own = [total for total in live if not total.key.corrects]
    billed, of_own = _sum_shown(live), _sum_shown(own)
    return Statement(
        ledger=ledger,
        around=around,
        billed=billed,
        corrections=billed - of_own,
        not_billed=_parts(
            (total for total in ledger.totals if total.key.spend != LIVE),
            lambda total: (total.key.spend, total.key.tenant, total.key.campaign),
        ),
        by_tenant=_parts(live, lambda total: (total.key.tenant,)),
        by_campaign=_parts(live, lambda total: (total.key.tenant, total.key.campaign)),
        by_cost_center=_parts(live, lambda total: (total.key.tenant, total.key.cost_center)),
        by_meter=_parts(live, lambda total: (total.key.meter,)),
        days=_days(ledger, sums.days, of_own),
        fates=_fates(ledger, sums.fates, billed),
        rates=tuple(
            Rated(rate, plain(quantity), plain(exact))
            for rate, (quantity, exact) in sorted(sums.rates.items())
        ),
        unit_costs=_unit_costs(own, around.published, ledger),
        all_videos=_unit_cost("", "", of_own, sum(around.published.values()), ledger),
        changes=_changes(sums.causes, ledger),
        since=_changes(sums.since, ledger),
        budgets=tuple(Budget(fact, fact.currency == ledger.currency) for fact in around.budgets),
        forecast=_forecast(ledger, around),
        exact_of_lines=plain(sums.exact),
        lines=sums.lines,
    )


@dataclass
class _Sums:
    """One pass over a month's lines; grows with days, prices and causes, not with lines."""

    previous: Issue | None
    lines: int = 0
    exact: Decimal = Decimal(0)
    days: dict[tuple[date, Family], Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    fates: dict[Fate, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    rates: dict[Rate, tuple[Decimal, Decimal]] = field(default_factory=dict)
    causes: dict[tuple[str, str], tuple[int, Decimal]] = field(default_factory=dict)
    since: dict[tuple[str, str], tuple[int, Decimal]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        self.lines += 1
        if line.amount is None:
            return
        self.exact += line.amount
        self._add_rate(line, line.amount)
        if line.measured.account.spend != LIVE:
            return
        self.fates[line.fate] += line.amount
        if line.corrects is None:
            self.days[line.measured.day, family_of(line.measured.meter)] += line.amount
        _count(self.causes, line, line.amount)
        before = self.previous
        if before is not None and (before.rated_at is None or line.posted_at > before.rated_at):
            _count(self.since, line, line.amount)

    def _add_rate(self, line: Line, amount: Decimal) -> None:
        if line.corrects is not None or line.quantity is None or line.unit_price is None:
            return
        spend = line.measured.account.spend
        rate = Rate(
            spend, line.measured.meter, line.sku, line.card, line.tier, line.unit, line.unit_price
        )  # fmt: skip
        quantity, exact = self.rates.get(rate, (Decimal(0), Decimal(0)))
        self.rates[rate] = (quantity + line.quantity, exact + amount)


def _count(causes: dict[tuple[str, str], tuple[int, Decimal]], line: Line, amount: Decimal) -> None:
    key = (line.cause, str(line.corrects or ""))
    lines, exact = causes.get(key, (0, Decimal(0)))
    causes[key] = (lines + 1, exact + amount)


def fitted(amounts: Sequence[Decimal], total: Decimal, places: int) -> list[Decimal]:
    """*amounts* as they are shown so that they add up to *total*, which was rounded elsewhere.

    Every amount is cut; what is then missing goes to the largest remainders, one last place each, and round
    again where *total* is further away than there are amounts.
    """
    scaled = [Fraction(one) * 10**places for one in amounts]
    floors = [one.numerator // one.denominator for one in scaled]
    missing = int(Fraction(total) * 10**places) - sum(floors)
    order = sorted(range(len(scaled)), key=lambda number: (floors[number] - scaled[number], number))
    for number in range(abs(missing)) if order else ():
        if missing > 0:
            floors[order[number % len(order)]] += 1
        else:
            floors[order[-1 - number % len(order)]] -= 1
    return [Decimal(one).scaleb(-places) for one in floors]


def _parts(totals: Iterable[Total], name: Callable[[Total], tuple[str, ...]]) -> tuple[Part, ...]:
    """Sums of stated lines, the largest first."""
    exact: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    shown: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    with localcontext(EXACT):
        for total in totals:
            exact[name(total)] += total.exact
            shown[name(total)] += total.shown
    parts = [Part(one, plain(exact[one]), shown[one]) for one in exact]
    return tuple(sorted(parts, key=lambda part: (-part.exact, part.name)))


def _days(
    ledger: MonthLedger, days: Mapping[tuple[date, Family], Decimal], total: Decimal
) -> tuple[DayCost, ...]:
    cells = [(day, family) for day in ledger.month.days for family in Family]
    shown = fitted([days.get(cell, Decimal(0)) for cell in cells], total, ledger.places)
    by_cell = dict(zip(cells, shown, strict=True))
    return tuple(DayCost(day, tuple(by_cell[day, one] for one in Family)) for day in ledger.month.days)


def _fates(
    ledger: MonthLedger, fates: Mapping[Fate, Decimal], total: Decimal
) -> tuple[tuple[Fate, Part], ...]:
    known = [fate for fate in Fate if fate in fates]
    shown = fitted([fates[fate] for fate in known], total, ledger.places)
    return tuple(
        (fate, Part((str(fate),), plain(fates[fate]), one)) for fate, one in zip(known, shown, strict=True)
    )


def _unit_costs(
    own: Iterable[Total], published: Mapping[str, int], ledger: MonthLedger
) -> tuple[UnitCost, ...]:
    found = {
        part.name: part.shown
        for part in _parts(own, lambda total: (total.key.tenant, total.key.campaign))
        if part.name[1]
    }
    return tuple(
        _unit_cost(tenant, campaign, spent, published.get(campaign, 0), ledger)
        for (tenant, campaign), spent in found.items()
    )


def _unit_cost(tenant: str, campaign: str, spent: Decimal, videos: int, ledger: MonthLedger) -> UnitCost:
    with localcontext(EXACT):
        each = rounded(spent / videos, ledger.places, ledger.halves) if videos else None
    return UnitCost(tenant, campaign, spent, videos, each)


def _changes(
    causes: Mapping[tuple[str, str], tuple[int, Decimal]], ledger: MonthLedger
) -> tuple[Change, ...]:
    keys = sorted(causes, key=lambda key: (key[1], key[0]))
    with localcontext(EXACT):
        total = rounded(sum((causes[key][1] for key in keys), Decimal(0)), ledger.places, ledger.halves)
    shown = fitted([causes[key][1] for key in keys], total, ledger.places)
    return tuple(
        Change(cause, corrects, causes[cause, corrects][0], plain(causes[cause, corrects][1]), one)
        for (cause, corrects), one in zip(keys, shown, strict=True)
    )


def _forecast(ledger: MonthLedger, around: Surroundings) -> Forecast | None:
    """Of the month while it runs, by its last whole day; of the next one once it is over."""
    daily = around.daily
    if not daily:
        return None
    newest = max(daily)
    if newest >= ledger.month.next.first_day - timedelta(days=1) or not _runs(ledger):
        return forecast(daily, ledger.month.next.first_day, ledger.month.next)
    return forecast(daily, newest, ledger.month)


def _runs(ledger: MonthLedger) -> bool:
    return ledger.watermark.status is Status.OPEN


def _sum_shown(totals: Iterable[Total]) -> Decimal:
    return sum((total.shown for total in totals), Decimal(0))
