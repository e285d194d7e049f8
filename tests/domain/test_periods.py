"""F2, F4: months and days, and the zone in which they are drawn (case C55)."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pipeline.domain.periods import (
    Month,
    Status,
    bounds,
    day_of,
    midnight,
    posting_month,
    status_of,
)
from pipeline.domain.units import SECOND

CASE = json.loads((Path(__file__).parents[1] / "data/finance/finance_dst_events.json").read_text("utf-8"))
ZONES = {
    "utc_day": UTC,
    "berlin_day": ZoneInfo("Europe/Berlin"),
    "new_york_day": ZoneInfo("America/New_York"),
}


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * SECOND


@pytest.mark.parametrize("zone", ZONES)
def test_each_event_falls_on_one_day_of_a_zone(zone: str) -> None:
    found = [str(day_of(_at(event["at"]), ZONES[zone])) for event in CASE["events"]]

    assert found == [event[zone] for event in CASE["events"]]
    assert sum(Counter(found).values()) == len(CASE["events"])


@pytest.mark.parametrize("zone", ZONES)
def test_an_event_lies_within_the_bounds_of_its_day(zone: str) -> None:
    for event in CASE["events"]:
        start, end = bounds([date.fromisoformat(event[zone])], ZONES[zone])
        assert start <= _at(event["at"]) < end


def test_both_half_past_twos_of_the_autumn_night_stay_apart() -> None:
    first, second = map(_at, CASE["fall_back_pair"])
    berlin = ZONES["berlin_day"]

    assert second - first == 3600 * SECOND
    assert day_of(first, berlin) == day_of(second, berlin) == date(2026, 10, 25)


@pytest.mark.parametrize("named", CASE["day_lengths_h"])
def test_a_day_runs_from_midnight_to_midnight(named: str) -> None:
    zone, day = named.split(" ")
    start, end = bounds([date.fromisoformat(day)], ZoneInfo(zone))

    assert end - start == CASE["day_lengths_h"][named] * 3600 * SECOND


def test_days_of_a_zone_leave_no_gap_over_a_year() -> None:
    zone = ZoneInfo("America/Santiago")
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]

    assert bounds(days, zone)[1:] == tuple(midnight(day + timedelta(days=1), zone) for day in days)


def test_a_month_is_half_open() -> None:
    march = Month.named("2026-03")

    assert Month.at(march.start) == Month.at(march.end - 1) == march
    assert Month.at(march.end) == march.next == Month(2026, 4)
    assert (Month(2026, 12).next, Month(2026, 1).previous) == (Month(2027, 1), Month(2025, 12))
    assert len(Month(2028, 2).days) == 29


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "2026", "26-11", "2026-11-01", "1969-12", ""])
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 2026-11"):
        Month.named(text)


def test_a_month_is_open_then_in_grace_then_closed() -> None:
    march = Month(2026, 3)

    assert status_of(march, march.end - 1, ()) is Status.OPEN
    assert status_of(march, march.end, ()) is Status.GRACE
    assert status_of(march, march.end, {march}) is Status.CLOSED


def test_money_of_a_closed_month_goes_to_the_next_that_is_not() -> None:
    march, april = Month(2026, 3), Month(2026, 4)

    assert posting_month(march, ()) == march
    assert posting_month(march, {march}) == april
    assert posting_month(march, {march, april}) == Month(2026, 5)
