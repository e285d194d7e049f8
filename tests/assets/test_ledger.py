"""E1, E3, E5: a day's money is a partition; a second run posts nothing, a backfill only differences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipeline.assets.ledger import ADDS_UP, PRICED, RECONCILES, cost_ledger, storage_usage
from pipeline.domain.periods import midnight
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import APRIL, MARCH, Books
from tests.steps.account.test_meter_storage import thing

DAY = date(2026, 3, 5)


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = APRIL.start
    return Books(database)


@pytest.fixture
def window() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance


def run(
    books: Books, window: dg.DagsterInstance, asset: dg.AssetsDefinition, day: date = DAY
) -> dg.ExecuteInProcessResult:
    everything: Any = dict.fromkeys(
        ("store", "index", "sandbox", "providers", "terms", "profile", "transforms", "moderation")
    )
    adapters = Adapters(database=books.database, spool=Path("spool"), prices=books.cards, **everything)
    return dg.materialize(
        [storage_usage, cost_ledger], selection=[asset], partition_key=str(day), instance=window,
        resources={"adapters": adapters}, raise_on_error=False,
    )  # fmt: skip


def metadata(result: dg.ExecuteInProcessResult, name: str) -> dict[str, Any]:
    [found] = result.asset_materializations_for_node(name)
    return {key: value.value for key, value in found.metadata.items()}


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}


def test_a_day_is_measured_priced_and_checked(books: Books, window: dg.DagsterInstance) -> None:
    thing(books.database, "o-1", 10**9, midnight(DAY), None,
          uses=(("attempt", books.attempt, midnight(DAY), None),))  # fmt: skip
    books.use(midnight(DAY) + 5, 100)
    stored = metadata(run(books, window, storage_usage), "storage_usage")
    first = run(books, window, cost_ledger)
    again = run(books, window, cost_ledger)

    assert stored["byte_seconds"] == 10**9 * 86_400
    assert stored["rendition_byte_seconds_gib_hours"] == pytest.approx(24 * 10**9 / 2**30)
    assert checks(first) == dict.fromkeys((RECONCILES, ADDS_UP, PRICED), True)
    shown = metadata(first, "cost_ledger")
    assert (shown["lines_posted"], shown["provider_units_amount"]) == (2, 1.0)
    assert metadata(again, "cost_ledger")["lines_posted"] == 0
    assert metadata(again, "cost_ledger")["amount"] == shown["amount"] == pytest.approx(1 + 0.023 / 31)


def test_what_has_no_price_turns_yellow_and_what_was_changed_by_hand_red(
    books: Books, window: dg.DagsterInstance
) -> None:
    books.deliver(DAY, 3, "never_heard_of")
    books.use(midnight(DAY), 5)
    first = run(books, window, cost_ledger)
    lines = schema.ledger_lines
    books.database.run(
        lambda tx: tx.connection.execute(
            lines.update().where(lines.c.sku != "").values(units="7", amount_nano=1)
        )
    )
    month = books.rate(MARCH)
    again = run(books, window, cost_ledger)

    assert checks(first) == {RECONCILES: True, ADDS_UP: True, PRICED: False}
    assert month.lines == 1
    assert checks(again) == {RECONCILES: True, ADDS_UP: False, PRICED: False}


def test_a_backfill_with_another_card_posts_only_what_differs(
    books: Books, window: dg.DagsterInstance
) -> None:
    books.use(midnight(DAY), 100)
    run(books, window, cost_ledger)
    old = books.cards.cards[0]
    books.reprice("card-2", prices=tuple(one for one in old.prices if one.sku != "store"))
    result = run(books, window, cost_ledger, date(2026, 3, 9))

    assert metadata(result, "cost_ledger")["lines_posted"] == 2
    assert {row.cause for row in rows.rows(books.database, schema.ledger_postings)} == {
        "facts", "another card: card-2 instead of card-1",
    }  # fmt: skip
    assert books.total(MARCH) == 1


def test_a_day_that_is_not_over_fails_with_its_remedy(
    books: Books, window: dg.DagsterInstance, clock: Clock
) -> None:
    clock.at = midnight(DAY) + 1
    result = run(books, window, storage_usage)
    [failed] = [event for event in result.all_events if event.is_step_failure]

    assert not result.success
    assert "the day is not over" in str(failed.step_failure_data.user_failure_data)
