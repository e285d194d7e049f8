"""F2: byte-time is exact, whatever the days are, and shared bytes add up to the whole."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.byte_time import Interval, Use, byte_time, evenly, shared_byte_time
from pipeline.domain.periods import DAY, Month, bounds, midnight
from pipeline.domain.units import SECOND

times = st.integers(0, 40)
intervals = st.builds(
    lambda size, start, length: Interval(size, start, None if length is None else start + length),
    st.integers(0, 50), times, st.none() | times,
)  # fmt: skip
edges = st.lists(times, min_size=2, max_size=8, unique=True).map(sorted)
uses = st.builds(
    lambda account, start, length: Use(account, start, None if length is None else start + length),
    st.sampled_from("abc"), times, st.none() | times,
)  # fmt: skip


def _moment_by_moment(found: list[Interval], windows: list[int]) -> list[int]:
    """The same sum as a naive clock would make it: one moment after another."""
    return [
        sum(
            one.size_bytes
            for moment in range(start, end)
            for one in found
            if one.start <= moment and (one.end is None or moment < one.end)
        )
        for start, end in pairwise(windows)
    ]


@given(st.lists(intervals, max_size=6), edges)
def test_byte_time_is_the_sum_over_every_moment(found: list[Interval], windows: list[int]) -> None:
    assert byte_time(found, windows) == _moment_by_moment(found, windows)


@given(intervals, st.lists(uses, max_size=4), edges)
def test_shares_of_an_object_add_up_to_it_in_every_window(
    one: Interval, users: list[Use], windows: list[int]
) -> None:
    shares = shared_byte_time(one, users, "", windows)

    summed = [sum(column) for column in zip(*shares.values(), strict=True)] or [0] * (len(windows) - 1)
    assert summed == byte_time([one], windows)
    assert all(part >= 0 for column in shares.values() for part in column)


@given(intervals, st.lists(uses, max_size=4), edges)
def test_a_day_measured_alone_is_the_day_measured_with_others(
    one: Interval, users: list[Use], windows: list[int]
) -> None:
    together = shared_byte_time(one, users, "", windows)
    for number, pair in enumerate(pairwise(windows)):
        alone = shared_byte_time(one, users, "", pair)
        assert {name: days[0] for name, days in alone.items() if days[0]} == {
            name: days[number] for name, days in together.items() if days[number]
        }


def test_shared_bytes_are_split_evenly_among_who_uses_them_at_the_time() -> None:
    one = Interval(7, 0, 30)
    shares = shared_byte_time(one, [Use("b", 10), Use("a", 20), Use("a", 22)], "made-for", [0, 10, 20, 30])

    assert shares == {"b": [70, 70, 35], "a": [0, 0, 35]}


def test_bytes_that_nobody_uses_any_more_stay_with_who_left_last() -> None:
    one = Interval(1, 0, None)

    assert shared_byte_time(one, [Use("a", 5, 10), Use("b", 5, 8)], "", [0, 5, 20]) == {
        "a": [3, 14], "b": [2, 1],
    }  # fmt: skip
    assert shared_byte_time(one, [], "a", [0, 5]) == {"a": [5]}


def test_what_does_not_divide_goes_to_the_first() -> None:
    assert evenly(8, 3) == [3, 3, 2]


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", date(2028, 2, 29), 24),
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
    ],
)
def test_a_day_is_as_long_as_its_zone_makes_it(zone: str, day: date, hours: int) -> None:
    windows = bounds([day], ZoneInfo(zone))

    assert byte_time([Interval(3, 0)], windows) == [3 * hours * 3600 * SECOND]


def test_microseconds_across_a_month_end_and_a_leap_day_are_kept() -> None:
    days = [date(2028, 2, 28), date(2028, 2, 29), date(2028, 3, 1)]
    start, end = midnight(days[0]) + 1, midnight(days[2]) + 7

    found = byte_time([Interval(11, start, end)], bounds(days))

    assert found == [11 * (DAY - 1), 11 * DAY, 77]
    assert sum(found) == 11 * (end - start)


def test_a_month_of_more_bytes_than_a_machine_word_holds_is_exact() -> None:
    month = Month(2026, 11)
    found = byte_time([Interval(10**12 + 1, 0)] * 1000, bounds(month.days))

    assert sum(found) == 1000 * (10**12 + 1) * 30 * DAY
