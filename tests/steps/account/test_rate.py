"""F4: units become lines once, differences are lines of their own, and order changes nothing (C57)."""

from __future__ import annotations

import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.domain.errors import LostRace
from pipeline.domain.ledger import Fate, Line
from pipeline.domain.periods import DAY, midnight
from pipeline.domain.rating import PriceCards, exact_sum
from pipeline.steps.account import rate as step
from pipeline.steps.account.meter_storage import meter_storage
from resources.database import schema
from resources.database.database import Database
from resources.database.ledger import post, posted
from resources.database.measured import units_by_meter
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import APRIL, CAMPAIGN, MARCH, Books
from tests.steps.account.test_meter_storage import thing

D = Decimal
RERUN = json.loads((Path(__file__).parents[2] / "data/finance/finance_rerun.json").read_text("utf-8"))
DAY_5 = date(2026, 3, 5)


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = APRIL.start + DAY
    return Books(database)


def test_every_line_is_its_quantity_at_its_price(books: Books) -> None:
    books.use(midnight(DAY_5) + 1, 1234)
    books.deliver(DAY_5, 25 * 10**9)
    books.rate(MARCH)
    lines = books.lines(MARCH)

    assert all(line.amount == line.quantity * line.unit_price for line in lines if line.quantity is not None)  # type: ignore[operator]
    assert [(line.sku, line.tier, line.quantity, line.amount) for line in lines] == [
        ("bytes", 1, D(10), D("0.9")), ("bytes", 2, D(15), D("0.75")), ("credits", 1, D(1234), D("12.34")),
    ]  # fmt: skip


def test_rating_again_posts_nothing(books: Books) -> None:
    books.use(midnight(DAY_5), 7)
    books.deliver(DAY_5, 12 * 10**9)
    first = books.rate(MARCH)
    again = books.rate(MARCH)

    assert (first.lines, again.lines) == (3, 0)


def test_a_day_holds_what_its_files_say_however_often_it_is_rated(books: Books) -> None:
    day = date.fromisoformat(RERUN["partition"])
    found = []
    for bytes_of_new_files in (7000, 8000, 0):
        if bytes_of_new_files:
            books.deliver(day, bytes_of_new_files)
        books.rate(MARCH)
        found.append(int(sum(line.units for line in books.lines(MARCH))))

    assert found == RERUN["expected_bytes_after_each"]


def test_a_rating_that_was_killed_between_days_goes_on_where_it_stopped(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in MARCH.days[:4]:
        books.use(midnight(day), 100)
        books.deliver(day, 4 * 10**9)
    posts: list[date] = []

    def dies(tx, posting):  # type: ignore[no-untyped-def]
        if len(posts) == 2:
            raise KeyboardInterrupt
        posts.append(posting.charge_day)
        return post(tx, posting)

    monkeypatch.setattr(step, "post", dies)
    with pytest.raises(KeyboardInterrupt):
        books.rate(MARCH)
    monkeypatch.undo()
    half = [line.measured.day for line in books.lines(MARCH)]
    books.rate(MARCH)

    assert set(half) == set(MARCH.days[:2])
    assert books.total(MARCH) == D(4) + D("0.9") + D("0.3")


def test_lines_and_facts_come_to_the_same_units(books: Books, database: Database) -> None:
    thing(database, "o-1", 123_456_789, MARCH.start + 77, None, campaign=CAMPAIGN,
          uses=(("attempt", books.attempt, MARCH.start + 77, None),))  # fmt: skip
    books.use(midnight(DAY_5) + 5, 9)
    books.deliver(DAY_5, 25 * 10**9 + 1)
    books.deliver(DAY_5, 3, "cache_hits")
    books.deliver(DAY_5, 3, "never_heard_of")
    meter_storage(database, MARCH.days)
    books.rate(MARCH)

    with database.reading() as connection:
        for day in MARCH.days:
            assert step.charge_of(connection, day) == units_by_meter(connection, day)


def test_what_no_card_prices_is_a_line_without_an_amount(books: Books) -> None:
    books.deliver(DAY_5, 3, "never_heard_of")
    books.use(midnight(DAY_5), 5, "generated_seconds")
    books.deliver(DAY_5, 8, "cache_hits")
    books.rate(MARCH)
    found = {line.measured.meter: (line.amount, line.sku, line.reason) for line in books.lines(MARCH)}

    assert found == {
        "never_heard_of": (None, "", "no price of never_heard_of"),
        "generated_seconds": (None, "", "no price of generated_seconds"),
        "cache_hits": (D(0), "not-charged", "billed as requests"),
    }


def test_a_day_without_a_card_is_unpriced_and_priced_once_there_is_one(books: Books) -> None:
    books.use(midnight(DAY_5), 5)
    cards, books.cards = books.cards, PriceCards()
    books.rate(MARCH)
    [before] = books.lines(MARCH)
    books.cards = cards
    books.rate(MARCH)

    assert (before.amount, before.reason) == (None, "no price card holds on 2026-03-05")
    assert books.total(MARCH) == D("0.05")
    assert sum(line.units for line in books.lines(MARCH)) == 5


def test_another_card_posts_a_reversal_at_the_old_price_and_a_line_at_the_new(books: Books) -> None:
    books.use(midnight(DAY_5), 100)
    books.deliver(DAY_5, 10**9)
    books.rate(MARCH)
    old = books.cards.cards[0]
    books.reprice("card-2", prices=(old.prices[0], *(one for one in old.prices[1:] if one.sku != "bytes")))
    rated = books.rate(MARCH)
    bytes_lines = [line for line in books.lines(MARCH) if line.measured.meter == "delivered_bytes"]

    assert {one.cause for one in rated.days} == {"another card: card-2 instead of card-1"}
    assert [(line.card, line.units, line.amount) for line in bytes_lines] == [
        ("card-1", D(10**9), D("0.09")), ("card-1", D(-(10**9)), D("-0.09")), ("card-2", D(10**9), None),
    ]  # fmt: skip
    assert books.total(MARCH) == D(1)


def test_tiers_are_settled_at_the_end_and_not_every_day(books: Books) -> None:
    books.deliver(date(2026, 3, 1), 8 * 10**9)
    books.rate(MARCH, settle=False)
    books.deliver(date(2026, 3, 2), 8 * 10**9)
    running = books.rate(MARCH, settle=False)
    settled = books.rate(MARCH, settle=True)

    assert [one.day.day for one in running.days] == [2]
    assert [(one.day.day, one.cause) for one in settled.days] == [(1, "tiers and fates settled")]
    assert books.total(MARCH) == D("0.9") + D("0.3")


def test_two_videos_with_the_same_traffic_pay_the_same_whoever_came_first(books: Books) -> None:
    books.video("r-2")
    books.deliver(date(2026, 3, 1), 8 * 10**9)
    books.deliver(date(2026, 3, 20), 8 * 10**9, rendition="r-2")
    books.rate(MARCH)

    assert books.by_rendition(MARCH) == {"r-1": D("0.6"), "r-2": D("0.6")}


def test_bytes_that_nothing_explains_are_paid_for_by_nobody_and_shown(books: Books) -> None:
    nobody: dict[str, Any] = dict.fromkeys(
        ("tenant", "campaign", "rendition", "object", "cost_center", "spend")
    )
    books.deliver(DAY_5, 10**9, **nobody)
    books.rate(MARCH)
    [line] = books.lines(MARCH)

    assert (line.is_attributed, line.amount, line.fate) == (False, D("0.09"), Fate.NONE)


@pytest.mark.parametrize(
    ("columns", "fate"),
    [
        ({"state": "failed"}, Fate.FAILED),
        ({"state": "cancelled"}, Fate.CANCELLED),
        ({"state": "submitting", "submission": "unknown"}, Fate.UNKNOWN),
        ({"state": "generating", "submission": "accepted", "overdue_at": 1}, Fate.OVERDUE),
        ({"state": "generating", "submission": "accepted"}, Fate.IN_PROGRESS),
        ({"state": "indexed", "number": 2}, Fate.SUPERSEDED),
        ({"state": "stored"}, Fate.USED),
    ],
)
def test_what_became_of_an_attempt_stands_on_its_line(
    books: Books, columns: dict[str, object], fate: Fate
) -> None:
    attempt = books.video("r-9", **columns)
    books.use(midnight(DAY_5), 100, attempt=attempt, rendition="r-9")
    books.rate(MARCH)
    [line] = books.lines(MARCH)

    assert (line.fate, line.is_waste) == (fate, fate not in (Fate.IN_PROGRESS, Fate.USED))


def test_the_cost_centre_of_the_event_is_on_the_line_and_test_spend_is_told_apart(books: Books) -> None:
    books.use(midnight(DAY_5), 1, cost_center="MKT-0")
    books.use(midnight(DAY_5), 2, spend="test")
    books.rate(MARCH)
    accounts = [line.measured.account for line in books.lines(MARCH)]

    assert [(one.cost_center, one.spend) for one in accounts] == [("MKT-0", "live"), ("MKT-1", "test")]


def test_of_two_ratings_at_once_nothing_is_posted_twice(books: Books) -> None:
    for day in MARCH.days:
        books.use(midnight(day), 100)

    def attempt(_number: int) -> str:
        try:
            books.rate(MARCH)
        except LostRace:
            return "lost"
        return "rated"

    with ThreadPoolExecutor(3) as workers:
        outcomes = list(workers.map(attempt, range(3)))
    books.rate(MARCH)

    assert set(outcomes) <= {"rated", "lost"}
    assert books.total(MARCH) == D(31)


def test_a_posting_that_was_drawn_up_before_another_came_is_refused(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.use(midnight(DAY_5), 100)

    def twice(tx, posting):  # type: ignore[no-untyped-def]
        post(tx, posting)
        return post(tx, posting)

    monkeypatch.setattr(step, "post", twice)
    with pytest.raises(LostRace, match="2026-03-05#1"):
        books.rate(MARCH)

    assert books.lines(MARCH) == []


def _picture(lines: list[Line]) -> dict[object, tuple[Decimal, Decimal]]:
    found: dict[object, tuple[Decimal, Decimal]] = defaultdict(lambda: (D(0), D(0)))
    for line in lines:
        key = (line.measured, line.fate, line.sku, line.tier)
        units, amount = found[key]
        found[key] = (exact_sum([units, line.units]), exact_sum([amount, line.amount or D(0)]))
    return {key: value for key, value in found.items() if any(value)}


arrivals = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["r-1", "r-2"]), st.integers(1, 9 * 10**9), st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrivals)
def test_a_ledger_grown_fact_by_fact_is_the_ledger_rebuilt_from_facts(
    books: Books, found: list[tuple[int, str, int, bool]]
) -> None:
    def clear(*tables: sa.Table) -> None:
        books.database.run(lambda tx: [tx.connection.execute(sa.delete(table)) for table in tables] and None)

    clear(schema.ledger_lines, schema.ledger_postings, schema.delivery_facts)
    for day, rendition, quantity, rates in found:
        books.deliver(MARCH.days[day], quantity, rendition=rendition)
        if rates:
            books.rate(MARCH, settle=False)
    books.rate(MARCH)
    grown = _picture(books.lines(MARCH))
    clear(schema.ledger_lines, schema.ledger_postings)
    books.rate(MARCH)

    assert _picture(books.lines(MARCH)) == grown


def test_postings_of_a_day_are_numbered_and_named(books: Books, database: Database) -> None:
    books.use(midnight(DAY_5), 1)
    books.rate(MARCH)
    books.use(midnight(DAY_5), 1)
    books.rate(MARCH)

    found = [
        (row.id, row.cause, row.lines, row.amount_nano) for row in rows.rows(database, schema.ledger_postings)
    ]
    assert sorted(found) == [
        ("2026-03-05#1", "facts", 1, 10_000_000), ("2026-03-05#2", "late facts", 1, 10_000_000),
    ]  # fmt: skip
    with database.reading() as connection:
        assert posted(connection, DAY_5, by_fate=True).number == 2
