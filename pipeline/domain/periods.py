"""Months and days as accounts are kept: their bounds, whether a month is open, and where late money goes.

Belongs here: calendar arithmetic, in UTC for the ledger and in any zone for a report. Does not belong here:
who may close a month, or what must be true before (`pipeline.steps.account.close_period`).

The ledger's days are UTC days: delivery logs are counted in them, and no zone's change of clocks can then
move money between days. A report may draw its days in one zone of its own; it names it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from pipeline.domain.units import SECOND, utc

_FORM = re.compile(r"(\d{4})-(\d{2})")
DAY = 86_400 * SECOND


class Status(enum.StrEnum):
    """What may still happen to a month."""

    OPEN = "open"  #: it runs, or lies ahead
    GRACE = "grace"  #: it is over; late facts still belong to it
    CLOSED = "closed"  #: nothing of it changes any more; late facts are corrections in a later one


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """One month of the calendar, from its first midnight to the next month's, the end excluded."""

    year: int
    month: int

    @classmethod
    def named(cls, text: str) -> Month:
        """`2026-11`; ValueError for anything else."""
        found = _FORM.fullmatch(text)
        if not found or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1970:
            raise ValueError(f"{text!r} is no month; write it as 2026-11")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of(cls, day: date) -> Month:
        return cls(day.year, day.month)

    @classmethod
    def at(cls, micros: int) -> Month:
        """The UTC month of a time."""
        return cls.of(utc(micros).date())

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def first_day(self) -> date:
        return date(self.year, self.month, 1)

    @property
    def next(self) -> Month:
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def previous(self) -> Month:
        return Month(self.year - (self.month == 1), (self.month - 2) % 12 + 1)

    @property
    def days(self) -> tuple[date, ...]:
        return tuple(days_between(self.first_day, self.next.first_day))

    @property
    def start(self) -> int:
        """UTC microseconds of its first moment."""
        return midnight(self.first_day)

    @property
    def end(self) -> int:
        """UTC microseconds of the moment at which it is over."""
        return midnight(self.next.first_day)

    @property
    def seconds(self) -> int:
        return len(self.days) * 86_400


def days_between(first: date, end: date) -> Iterator[date]:
    """Every day from *first* on, *end* excluded."""
    return (first + timedelta(days=number) for number in range((end - first).days))


def midnight(day: date, zone: tzinfo = UTC) -> int:
    """UTC microseconds of a day's first moment in *zone*.

    Where a change of clocks skips midnight, the day begins with the moment after the gap.
    """
    at = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(at.timestamp()) * SECOND


def bounds(days: Sequence[date], zone: tzinfo = UTC) -> tuple[int, ...]:
    """Edges of consecutive *days* in *zone*: one more than days, 23 to 25 hours apart."""
    return (*(midnight(day, zone) for day in days), midnight(days[-1] + timedelta(days=1), zone))


def day_of(micros: int, zone: tzinfo = UTC) -> date:
    """The day in *zone* to which a moment belongs; both of two equal wall clock times lie in the same."""
    return utc(micros).astimezone(zone).date()


def status_of(month: Month, now: int, closed: Collection[Month]) -> Status:
    if month in closed:
        return Status.CLOSED
    return Status.GRACE if now >= month.end else Status.OPEN


def posting_month(month: Month, closed: Collection[Month]) -> Month:
    """Where money of *month* is written: its own period, or once that is closed the next that is not."""
    while month in closed:
        month = month.next
    return month
