"""F4: exact amounts, tiers that no order changes, one rounding (case C56)."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.periods import Month
from pipeline.domain.rating import (
    GRAINS,
    FreeOfCharge,
    Halves,
    MonthRule,
    Price,
    PriceCard,
    Tier,
    Unit,
    Unrated,
    as_quantity,
    exact_sum,
    grains,
    price_for,
    rounded,
    share_tiers,
    split,
    stated,
    tier_grains,
    times,
    units_in,
)

CASE = json.loads((Path(__file__).parents[1] / "data/finance/finance_rounding.json").read_text("utf-8"))
D = Decimal
TIERS = (Tier(D(0), D(10), D("0.085")), Tier(D(10), D(50), D("0.08")), Tier(D(50), None, D("0.06")))
entries = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 30 * GRAINS), max_size=8)


@given(entries, st.randoms())
def test_tiers_are_shared_alike_in_any_order(found: dict[str, int], dice: object) -> None:
    names = list(found)
    dice.shuffle(names)  # type: ignore[attr-defined]

    assert share_tiers(TIERS, {name: found[name] for name in names}) == share_tiers(TIERS, found)


@given(entries)
def test_shares_add_up_to_entries_and_to_tiers(found: dict[str, int]) -> None:
    shared = share_tiers(TIERS, found)

    assert {name: sum(parts) for name, parts in shared.items()} == found
    by_tier = [sum(column) for column in zip(*shared.values(), strict=True)] or [0, 0, 0]
    assert by_tier == tier_grains(TIERS, sum(found.values()))
    assert all(part >= 0 for parts in shared.values() for part in parts)


@given(entries)
def test_the_sum_of_shares_costs_what_the_whole_costs(found: dict[str, int]) -> None:
    prices = [tier.price for tier in TIERS]
    parts = [
        times(as_quantity(part), price)
        for shares in share_tiers(TIERS, found).values()
        for part, price in zip(shares, prices, strict=True)
    ]
    whole = tier_grains(TIERS, sum(found.values()))

    assert exact_sum(parts) == exact_sum(
        [times(as_quantity(size), price) for size, price in zip(whole, prices, strict=True)]
    )


@given(entries.filter(lambda found: sum(found.values()) > 0))
def test_a_price_in_whole_units_bills_the_next_one_and_shares_it(found: dict[str, int]) -> None:
    shared = share_tiers(TIERS, found, rounds_up=True)
    billed = sum(part for parts in shared.values() for part in parts)

    assert billed % GRAINS == 0
    assert 0 <= billed - sum(found.values()) < GRAINS


def test_two_campaigns_with_the_same_traffic_pay_the_same() -> None:
    tiers = (Tier(D(0), D(10_240), D("0.085")), Tier(D(10_240), None, D("0.080")))
    shared = share_tiers(tiers, {"a": 12_288 * GRAINS, "b": 12_288 * GRAINS})
    paid = {
        name: exact_sum(times(as_quantity(part), tier.price) for part, tier in zip(parts, tiers, strict=True))
        for name, parts in shared.items()
    }

    assert paid == {"a": D("1008.64"), "b": D("1008.64")}


@given(st.integers(0, 10**30), st.sampled_from(list(Unit)))
def test_a_quantity_is_half_a_grain_off_at_most(units: int, unit: Unit) -> None:
    divisor = units_in(unit, MonthRule.CALENDAR, Month(2028, 2))

    assert abs(Fraction(grains(units, divisor), GRAINS) - Fraction(units, divisor)) <= Fraction(1, 2 * GRAINS)


@pytest.mark.parametrize(
    ("unit", "rule", "month", "wanted"),
    [
        (Unit.GIB_MONTHS, MonthRule.CALENDAR, Month(2026, 2), 2**30 * 28 * 86_400),
        (Unit.GIB_MONTHS, MonthRule.CALENDAR, Month(2026, 3), 2**30 * 31 * 86_400),
        (Unit.GB_MONTHS, MonthRule.DAYS_30, Month(2026, 2), 10**9 * 30 * 86_400),
        (Unit.GB_MONTHS, MonthRule.HOURS_730, Month(2026, 2), 10**9 * 730 * 3_600),
        (Unit.GIB_HOURS, MonthRule.CALENDAR, Month(2026, 2), 2**30 * 3_600),
        (Unit.GB, MonthRule.CALENDAR, Month(2026, 2), 10**9),
        (Unit.REQUESTS_10000, MonthRule.CALENDAR, Month(2026, 2), 10_000),
    ],
)
def test_what_a_unit_holds_is_said_by_the_card(
    unit: Unit, rule: MonthRule, month: Month, wanted: int
) -> None:
    assert units_in(unit, rule, month) == wanted


@given(st.lists(st.decimals("-1000", "1000", places=6), max_size=12), st.sampled_from(list(Halves)))
def test_shown_amounts_add_up_to_the_shown_sum(amounts: list[Decimal], halves: Halves) -> None:
    shown = stated(amounts, 2, halves)

    assert sum(shown, D(0)) == rounded(exact_sum(amounts), 2, halves)
    assert all(abs(one - exact) < D("0.01") for one, exact in zip(shown, amounts, strict=True))


def test_small_lines_show_their_sum_and_not_nothing() -> None:
    lines = [D(line["exact"]) for line in CASE["lines"]]

    assert exact_sum(lines) == D(CASE["exact_total"])
    assert sum(stated(lines, 2, Halves.EVEN)) == D(CASE["rounded_total"])
    assert sum(rounded(line, 2, Halves.EVEN) for line in lines) == D(CASE["sum_of_rounded_lines"])


@pytest.mark.parametrize("halves", list(Halves))
def test_a_split_adds_up(halves: Halves) -> None:
    three, pair = CASE["split"], CASE["split_99_99"]

    thirds = split(D(three["amount"]), [D(one) for one in three["weights"]], 2, halves)
    parts = split(D(pair["amount"]), [D(one) for one in pair["weights"]], 2, halves)

    assert sorted(map(str, thirds)) == three["expected_sorted"]
    assert list(map(str, parts)) == pair["expected"]


def test_a_half_goes_the_way_that_the_card_says() -> None:
    assert [rounded(D("2.675"), 2, halves) for halves in Halves] == [D("2.68"), D("2.68")]
    assert rounded(D("0.125"), 2, Halves.EVEN) == D("0.12")
    assert rounded(D("0.125"), 2, Halves.UP) == D("0.13")
    assert rounded(D("-0.125"), 2, Halves.UP) == D("-0.13")
    assert stated([D("0.125")], 2, Halves.UP) == [D("0.13")]
    assert stated([D("-0.125")], 2, Halves.UP) == [D("-0.13")]


def test_a_sum_loses_no_digit() -> None:
    assert exact_sum([D(10) ** 20, D(10) ** -40]) == D("1" + "0" * 20 + "." + "0" * 39 + "1")
    assert times(D("0.1"), D(3)) == D("0.3") != D(CASE["float_trap"])


def _price(sku: str, **named: object) -> Price:
    given = {
        "meters": ("generated_seconds",), "provider": "*", "model": "*", "region": "*", "unit": Unit.SECONDS,
        "month_rule": MonthRule.CALENDAR, "rounds_up": False, "tiers": (Tier(D(0), None, D(1)),),
    }  # fmt: skip
    return Price(sku, **(given | named))  # type: ignore[arg-type]


CARD = PriceCard(
    "v1", "USD", date(2026, 1, 1), None,
    (
        _price("any", provider="acme"),
        _price("turbo", provider="acme", model="turbo", retires_on=date(2026, 9, 24)),
        _price("egress-eu", meters=("delivered_bytes",), region="eu", unit=Unit.GIB),
    ),
    not_charged={"cache_hits": "told by the log, billed as requests"},
    regions={"FRA": "eu", "F": "elsewhere"},
)  # fmt: skip
DAY = date(2026, 9, 1)


def test_the_most_exact_price_holds() -> None:
    found = [price_for(CARD, DAY, "generated_seconds", "acme", model, "") for model in ("turbo", "slow")]

    assert [one.sku for one in found if isinstance(one, Price)] == ["turbo", "any"]


def test_a_place_is_priced_in_the_region_of_its_longest_prefix() -> None:
    found = price_for(CARD, DAY, "delivered_bytes", "cloudfront", "", "FRA56-P4")

    assert isinstance(found, Price)
    assert CARD.region_of("FRA56-P4") == "eu"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            ("generated_seconds", "other", "x", ""),
            "the card prices generated_seconds for others than other x",
        ),
        (("poses", "acme", "x", ""), "no price of poses"),
        (("delivered_bytes", "cloudfront", "", "ZRH1"), "the card prices delivered_bytes for others than"),
    ],
)
def test_what_has_no_price_says_why(asked: tuple[str, str, str, str], reason: str) -> None:
    found = price_for(CARD, DAY, *asked)

    assert isinstance(found, Unrated)
    assert found.reason.startswith(reason)


def test_a_retired_model_has_no_price_though_a_general_one_stands_beside_it() -> None:
    late = price_for(CARD, date(2026, 9, 24), "generated_seconds", "acme", "turbo", "")

    assert late == Unrated("turbo retired on 2026-09-24")


def test_free_of_charge_is_said_by_the_card_with_its_reason() -> None:
    assert price_for(CARD, DAY, "cache_hits", "cloudfront", "", "") == FreeOfCharge(
        "told by the log, billed as requests"
    )
