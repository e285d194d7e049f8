"""Whole numbers as people read them lose nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.units import money, utc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(min_value=0, max_value=4_102_444_800_000_000))
def test_a_time_is_exact_to_the_microsecond(micros: int) -> None:
    assert (utc(micros) - EPOCH) // timedelta(microseconds=1) == micros


@given(st.integers(min_value=0, max_value=10**15))
def test_no_micro_unit_is_rounded_away(micros: int) -> None:
    assert money(micros) * 1_000_000 == micros


def test_whole_cents_have_two_places() -> None:
    assert [str(money(micros)) for micros in (0, 1_200_000, 1_200_001)] == ["0.00", "1.20", "1.200001"]
    assert money(10_000) == Decimal("0.01")
