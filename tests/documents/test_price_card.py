"""F4: a card says what it means, or names the field that does not; two cards never hold on one day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import yaml

from pipeline.documents.price_card import default_price_card, read_price_card, together
from pipeline.domain.errors import BadDocument
from pipeline.domain.rating import METERS, Halves, MonthRule, Price, Unit, price_for

D = Decimal
DAY = date(2026, 11, 3)


def price(**changes: Any) -> dict[str, Any]:
    whole = {
        "sku": "seconds", "meters": ["generated_seconds"], "provider": "acme", "unit": "Seconds",
        "tiers": [{"from": "0", "price": "0.05"}], "source": "acme.example/pricing",
        "retrieved_on": "2026-11-01",
    }  # fmt: skip
    return {name: value for name, value in (whole | changes).items() if value is not None}


def card(*prices: dict[str, Any], **changes: Any) -> str:
    whole = {
        "version": "card-1", "currency": "USD", "effective_from": "2026-01-01", "source": "our contract",
        "prices": list(prices) or [price()],
    }  # fmt: skip
    return yaml.safe_dump(
        {name: value for name, value in (whole | changes).items() if value is not None}, sort_keys=False
    )


def faults(text: str) -> list[str]:
    with pytest.raises(BadDocument) as refused:
        read_price_card(text, name="card.yaml")
    return [f"{one.field}: {one.problem}; {one.allowed}" for one in refused.value.faults]


def tiers(*edges: tuple[str, str | None]) -> list[dict[str, str]]:
    return [{"from": start, **({} if end is None else {"to": end}), "price": "0.1"} for start, end in edges]


def test_a_card_is_read_as_it_is_written() -> None:
    found = read_price_card(
        card(
            price(tiers=tiers(("0", "10"), ("10", None)), retires_on="2026-12-01"),
            price(sku="store", meters=["source_byte_seconds"], unit="GB-Months", month="hours_730",
                  quantity="rounds_up"),
            retires_on="2027-01-01", halves="half_up", approvers=["bea"],
            regions={"eu": ["FRA", "AMS"]}, not_charged={"cache_hits": "free"},
        ),
        name="card.yaml",
    )  # fmt: skip
    seconds, store = found.prices

    assert (found.version, found.currency, found.halves) == ("card-1", "USD", Halves.UP)
    assert (found.retires_on, found.approvers) == (date(2027, 1, 1), frozenset({"bea"}))
    assert found.regions == {"FRA": "eu", "AMS": "eu"}
    assert [(one.start, one.end, one.price) for one in seconds.tiers] == [
        (D(0), D(10), D("0.1")), (D(10), None, D("0.1")),
    ]  # fmt: skip
    assert seconds.retires_on == date(2026, 12, 1)
    assert (store.unit, store.month_rule, store.rounds_up) == (Unit.GB_MONTHS, MonthRule.HOURS_730, True)


def test_prices_in_another_currency_are_converted_exactly() -> None:
    rate = {"EUR": {"rate": "1.0837", "on": "2026-11-01", "source": "ECB"}}
    found = read_price_card(card(price(currency="EUR"), conversions=rate), name="card.yaml")

    assert found.prices[0].tiers[0].price == D("0.054185")


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ((("0", "10"), ("9", None)), "tier 2 overlaps the one before it (10); from: 10"),
        ((("0", "10"), ("11", None)), "tier 2 leaves a gap from 10 to 11; from: 10"),
        ((("1", None),), "tier 1 leaves a gap from 0 to 1; from: 0"),
        ((("0", "10"),), "nothing is priced from 10 on; a last tier without `to`"),
        ((("0", None), ("10", None)), "tier 2 follows one without end; only the last tier has no `to`"),
        ((("0", "0"), ("0", None)), "tier 1 ends before it begins; from < to"),
    ],
)
def test_tiers_that_overlap_or_leave_a_gap_are_named(
    edges: tuple[tuple[str, str | None], ...], problem: str
) -> None:
    assert faults(card(price(tiers=tiers(*edges)))) == [f"prices[0].tiers: {problem}"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (card(currency="XXX"), "currency: is not a currency"),
        (card(price(currency="EUR")), "prices[0].currency: EUR has no rate to USD"),
        (card(price(currency="ABC")), "prices[0].currency: is not a currency"),
        (card(price(meters=["generated_second"])), "prices[0].meters[0]: is no meter"),
        (card(price(unit="GiB")), "generated_seconds, which counts seconds, by GiB; Seconds"),
        (card(price(unit="Parsecs")), "prices[0].unit: is not one of the allowed values"),
        (card(price(tiers=[{"from": "0", "price": "-1"}])), "prices[0].tiers[0].price: is not a number"),
        (card(price(tiers=[{"from": "0", "price": 0.05}, {"from": "x", "price": "1"}])),
         "prices[0].tiers[1].from: is not a number"),
        (card(price(source=None)), "prices[0].source: is missing"),
        (card(price(retrieved_on="soon")), "prices[0].retrieved_on: is not a date"),
        (card(price(effective_from="2026-03-01", retires_on="2026-03-01")), "retires before it begins"),
        (card(retires_on="2026-01-01"), "retires_on: retires before it begins"),
        (card(price(), price(sku="again")), "again and seconds both price generated_seconds at one time"),
        (card(not_charged={"generated_seconds": "free"}), "generated_seconds stands under not_charged too"),
        (card(regions={"a": ["FRA"], "b": ["FRA"]}), "regions: FRA lies in two regions"),
        (card(unattributed_limit="2"), "unattributed_limit: is more than everything"),
        (card(colour="red"), "colour: is not a field here"),
        (card(effective_from=None), "effective_from: is missing"),
        (card().replace("prices:", "prices: []\nnot: "), "prices: is empty"),
        (card(price(meters=[])), "prices[0].meters: is empty"),
    ],
)  # fmt: skip
def test_every_fault_names_its_field(text: str, fault: str) -> None:
    assert any(fault in one for one in faults(text)), faults(text)


def test_a_price_may_follow_another_within_a_card() -> None:
    found = read_price_card(
        card(price(retires_on="2026-06-01"),
             price(sku="later", effective_from="2026-06-01", tiers=[{"from": "0", "price": "0.06"}])),
        name="card.yaml",
    )  # fmt: skip
    skus = []
    for day in (date(2026, 5, 31), date(2026, 6, 1)):
        held = price_for(found, day, "generated_seconds", "acme", "m", "")
        assert isinstance(held, Price)
        skus.append(held.sku)

    assert skus == ["seconds", "later"]


def _card(version: str, start: str, end: str | None = None, **changes: Any) -> Any:
    return read_price_card(
        card(version=version, effective_from=start, retires_on=end, **changes), name=version
    )


def test_cards_follow_each_other() -> None:
    cards = together({"b": _card("b", "2026-07-01"), "a": _card("a", "2026-01-01", "2026-07-01")})
    held = [cards.on(day) for day in (date(2025, 12, 31), date(2026, 6, 30), date(2026, 7, 1))]

    assert [None if one is None else one.version for one in held] == [None, "a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (
            ("a", "2026-01-01"),
            ("b", "2026-07-01"),
            "b.yaml: effective_from: begins while a.yaml .a. still holds",
        ),
        (("a", "2026-01-01", "2026-07-02"), ("b", "2026-07-01"), "still holds"),
        (("a", "2026-01-01", "2026-07-01"), ("a", "2026-07-01"), "version: is that of a.yaml too"),
    ],
)
def test_two_cards_at_one_time_are_refused(
    first: tuple[str, ...], second: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(BadDocument, match=problem):
        together({"a.yaml": _card(*first), "b.yaml": _card(*second)})


def test_accounts_are_kept_in_one_currency() -> None:
    with pytest.raises(BadDocument, match=r"currency: is not that of a.yaml \(USD\)"):
        together(
            {
                "a.yaml": _card("a", "2026-01-01", "2026-07-01"),
                "b.yaml": _card("b", "2026-07-01", currency="EUR"),
            }
        )


def test_the_sample_says_that_it_is_one_and_prices_what_the_demo_does() -> None:
    sample = default_price_card()
    prices = [
        price_for(sample, DAY, meter, "local", "kenburns-1", "")
        for meter in ("generated_seconds", "status_requests", "retrieved_bytes", "rendition_byte_seconds")
    ]

    assert sample.is_sample
    assert all(isinstance(one, Price) and one.source and one.retrieved_on for one in prices)


def test_every_meter_is_priced_or_said_to_be_free_in_the_sample() -> None:
    sample = default_price_card()
    said = {meter for one in sample.prices for meter in one.meters} | set(sample.not_charged)

    assert set(METERS) - said == {"cache_shield_hits"}  # a meter of its own on their bill, of unknown price
