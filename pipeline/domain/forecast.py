"""What a month will cost: a named method, and how far off it was in the months that are over.

Belongs here: the method and its error. Does not belong here: where the days' money comes from
(`resources.database.report_facts`), or how it is drawn.

A forecast without its error is a guess that looks like a number. So the very same method is asked about every
past month, knowing as many of its days as are known now, and what it said stands beside what came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from pipeline.domain.periods import Month, days_between

#: Whole weeks, so that no weekday counts more than another.
WINDOW_DAYS = 28
#: Fewer days than a week say nothing about the next one.
LEAST_DAYS = 7
PAST_MONTHS = 12
#: From so many past months on their errors are a band.
BAND_MONTHS = 3
METHOD = f"what is spent so far, and for each day that is left the mean of the last {WINDOW_DAYS} days"
_PLACES = Decimal("0.000000001")

Daily = Mapping[date, Decimal]


@dataclass(frozen=True, slots=True)
class Tried:
    """The method, asked about a month that is over."""

    month: Month
    expected: Decimal
    actual: Decimal

    @property
    def error(self) -> Decimal | None:
        """(expected - actual) / actual; None where nothing was spent."""
        return (self.expected - self.actual) / self.actual if self.actual else None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a month will cost by `METHOD`, as far as the days before `through` tell."""

    month: Month
    through: date  #: the first day that is not known
    spent: Decimal
    expected: Decimal
    low: Decimal | None  #: by the past months' largest over- and underestimate; None: too few of them
    high: Decimal | None
    tried: tuple[Tried, ...]

    @property
    def mean_error(self) -> Decimal | None:
        """Mean absolute error of the past months, as a share."""
        errors = [abs(one.error) for one in self.tried if one.error is not None]
        return sum(errors, Decimal(0)) / len(errors) if errors else None


def forecast(daily: Daily, through: date, month: Month) -> Forecast | None:
    """*month* by the days before *through*; None where fewer than a week of them are known."""
    expected = _expected(daily, through, month)
    if expected is None:
        return None
    tried = tuple(_tried(daily, through, month))
    low, high = _band(expected, tried)
    spent = _sum(daily, days_between(month.first_day, min(through, month.next.first_day)))
    return Forecast(month, through, spent, expected, low, high, tried)


def _expected(daily: Daily, through: date, month: Month) -> Decimal | None:
    first = max(min(daily, default=through), through - timedelta(days=WINDOW_DAYS))
    window = list(days_between(first, through))
    if len(window) < LEAST_DAYS:
        return None
    known = [day for day in month.days if day < through]
    left = len(month.days) - len(known)
    mean = Fraction(_sum(daily, window)) / len(window)
    return _sum(daily, known) + _decimal(mean * left)


def _tried(daily: Daily, through: date, month: Month) -> Iterable[Tried]:
    """Past months that are known whole, each asked about with as many days known as of *month* now."""
    lead = (through - month.first_day).days
    past = Month.of(min(daily)).next
    while past < month and past.next.first_day <= through:
        seen = {day: amount for day, amount in daily.items() if day < _moved(past, lead)}
        expected = _expected(seen, _moved(past, lead), past)
        if expected is not None and past.next.first_day > _oldest(month):
            yield Tried(past, expected, _sum(daily, past.days))
        past = past.next


def _moved(month: Month, lead: int) -> date:
    """So many days into *month*, but never past its end: a longer month has days that it has not."""
    return min(month.first_day + timedelta(days=lead), month.next.first_day - timedelta(days=1))


def _oldest(month: Month) -> date:
    for _ in range(PAST_MONTHS):
        month = month.previous
    return month.first_day


def _band(expected: Decimal, tried: tuple[Tried, ...]) -> tuple[Decimal | None, Decimal | None]:
    ratios = [Fraction(one.actual) / Fraction(one.expected) for one in tried if one.expected > 0]
    if len(ratios) < BAND_MONTHS:
        return None, None
    of = [_decimal(Fraction(expected) * ratio) for ratio in (min(ratios), max(ratios))]
    return min(expected, of[0]), max(expected, of[1])


def _sum(daily: Daily, days: Iterable[date]) -> Decimal:
    return sum((daily.get(day, Decimal(0)) for day in days), Decimal(0))


def _decimal(value: Fraction) -> Decimal:
    return (Decimal(value.numerator) / Decimal(value.denominator)).quantize(_PLACES)
