"""Measure byte-time for whole days, from when objects were made and purged (F2).

Belongs here: which days may be measured, and one transaction a day. Does not belong here: the sums
(`resources.database.storage_usage`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from pipeline.domain.errors import NotAllowed
from pipeline.domain.periods import Month, days_between, midnight
from pipeline.domain.units import SECOND, utc
from resources.database.database import Database
from resources.database.storage_usage import Owner, first_object_at, measure, measured_at, replace_day


@dataclass(frozen=True, slots=True)
class Metered:
    """What was measured of one day."""

    day: date
    owners: int
    by_meter: Mapping[str, int]  #: byte-seconds

    @property
    def byte_seconds(self) -> int:
        return sum(self.by_meter.values())


def meter_storage(database: Database, days: Sequence[date]) -> list[Metered]:
    """Measure consecutive *days* anew; each replaces what was there of it, in one step.

    Measuring a day again changes nothing, unless objects of it did. Raises NotAllowed for a day that is not
    over: what lies then may still be purged.
    """
    if not days:
        return []
    today = utc(database.now()).date()
    if days[-1] >= today:
        raise NotAllowed(
            f"storage of {days[-1]}", "the day is not over", f"measure days before {today} (UTC)"
        )
    with database.reading() as connection:
        found = list(measure(connection, days))
    return [_keep(database, day, owners) for day, owners in found]


def unmeasured_days(database: Database, month: Month) -> list[date]:
    """Days of *month* that are over, had objects, and were never measured after their end."""
    now = database.now()
    with database.reading() as connection:
        first = first_object_at(connection)
        if first is None:
            return []
        measured = measured_at(connection, month.days)
    today = utc(now).date()
    begun = max(month.first_day, utc(first).date())
    days = days_between(begun, min(month.next.first_day, today))
    return [day for day in days if measured.get(day, 0) < midnight(day + timedelta(days=1))]


def _keep(database: Database, day: date, owners: Mapping[Owner, int]) -> Metered:
    database.run(partial(replace_day, day=day, found=owners))
    by_meter: dict[str, int] = {}
    for owner, amount in owners.items():
        by_meter[owner[-1]] = by_meter.get(owner[-1], 0) + amount
    return Metered(day, len(owners), {meter: amount // SECOND for meter, amount in sorted(by_meter.items())})
