"""Which lots are wanted: one open lot a stage that has something due (E2)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.request_lots import (
    PATIENCE_SECONDS,
    close_lost_lots,
    open_lots,
    request_lots,
)
from resources.database import schema
from resources.database.database import Database
from resources.database.lots import STARTED_SECONDS, UNSTARTED_SECONDS, Lot, begin_lot, end_lot
from tests.conftest import NOON, Clock
from tests.database import rows


@pytest.fixture
def due(database: Database) -> Database:
    """One attempt to retrieve."""
    rows.campaign(database)
    rows.rendition(database, "northwind.spring")
    rows.attempt(database, "northwind.spring", "r-1", state="retrieving", next_action_at=NOON)
    return database


def test_a_stage_with_due_items_gets_one_lot_and_no_second_one_while_it_is_open(due: Database) -> None:
    assert request_lots(due) == [Lot(Stage.RETRIEVE, 1)]
    assert request_lots(due) == []


def test_a_stage_without_due_items_gets_none(database: Database) -> None:
    assert request_lots(database) == []


def test_after_its_end_the_next_number_is_opened(due: Database) -> None:
    [lot] = request_lots(due)
    due.run(lambda tx: end_lot(tx, lot, {"stored": 1}))

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 2)]


def test_a_lot_whose_run_never_came_holds_its_stage_up_only_for_a_while(due: Database, clock: Clock) -> None:
    request_lots(due)
    clock.pass_seconds(UNSTARTED_SECONDS + 1)

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 2)]


def test_a_lot_that_works_counts_as_open_until_it_must_have_ended(due: Database, clock: Clock) -> None:
    [lot] = request_lots(due)
    due.run(lambda tx: begin_lot(tx, lot, "run-1"))
    clock.pass_seconds(UNSTARTED_SECONDS + 1)
    assert request_lots(due) == []

    clock.pass_seconds(STARTED_SECONDS)

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 2)]


def test_a_lot_whose_run_ended_without_a_word_is_closed(due: Database) -> None:
    [lot] = request_lots(due)
    due.run(lambda tx: begin_lot(tx, lot, "run-1"))

    assert close_lost_lots(due, lambda run_id: run_id == "another run") == 0
    assert close_lost_lots(due, lambda run_id: run_id == "run-1") == 1
    with due.reading() as connection:
        assert connection.scalar(sa.select(schema.lots.c.counts)) == {"lost_run": 1}
    assert request_lots(due) == [Lot(Stage.RETRIEVE, 2)]


def test_a_few_items_wait_while_an_earlier_stage_brings_more_but_not_for_ever(
    due: Database, clock: Clock
) -> None:
    open_lots(due, [Stage.SUBMIT])
    assert request_lots(due) == []

    clock.pass_seconds(PATIENCE_SECONDS)

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 1)]


def test_a_few_items_wait_for_an_earlier_stage_that_begins_now(due: Database, clock: Clock) -> None:
    rows.rendition(due, "northwind.spring", "r-2")
    rows.attempt(due, "northwind.spring", "r-2", state="stored", next_action_at=NOON)

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 1)]
    clock.pass_seconds(PATIENCE_SECONDS)
    assert request_lots(due) == [Lot(Stage.DERIVE, 1)]


def test_an_ingest_that_begins_now_keeps_nobody_waiting(due: Database) -> None:
    revision = {
        "id": "northwind.spring/r1", "tenant": "northwind", "campaign": "northwind.spring", "number": 1,
        "creative": {}, "creative_sha256": "c", "state": "approved", "submit_mode": "auto", "actor": "ada",
        "created_at": NOON, "receipt_due_at": NOON,
    }  # fmt: skip
    rows.insert(due, schema.revisions, revision)

    assert request_lots(due) == [Lot(Stage.INGEST, 1), Lot(Stage.RETRIEVE, 1)]


def test_a_later_stage_keeps_no_earlier_one_waiting(due: Database) -> None:
    open_lots(due, [Stage.DERIVE])

    assert request_lots(due) == [Lot(Stage.RETRIEVE, 1)]


def test_two_that_ask_at_once_open_one_lot(database: Database) -> None:
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: open_lots(database, [Stage.SUBMIT]), range(8)))

    assert [lot for lots in opened for lot in lots] == [Lot(Stage.SUBMIT, 1)]
