"""L4: exactly one attempt is selected; each selection is guarded, kept and audited, and the other rests."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.errors import LostRace
from pipeline.steps.operate.relay_outbox import relay_outbox
from resources.database import schema
from resources.database.budgets import hold
from resources.database.database import Database
from resources.database.selecting import add_attempt, lock_rendition, select_attempt
from tests.conftest import NOON
from tests.database import rows


@pytest.fixture
def home(database: Database) -> str:
    return rows.campaign(database)


def again(database: Database, name: str = "r-1") -> str:
    """The next attempt, as a retry makes it."""

    def work(tx: Any) -> str:
        rendition = lock_rendition(tx, name)
        last = tx.connection.execute(
            schema.attempts.select().where(schema.attempts.c.id == rendition.selected_attempt)
        ).one()
        return add_attempt(tx, rendition, last, actor="ada", reason="again")

    return database.run(work)


def select(database: Database, attempt: str) -> None:
    def work(tx: Any) -> None:
        select_attempt(tx, lock_rendition(tx, "r-1"), attempt, actor="ada", reason="better")

    database.run(work)


def attempt(database: Database, name: str) -> Any:
    return rows.read(database, schema.attempts, name)


def test_a_new_attempt_is_selected_numbered_and_sent_under_a_key_of_its_own(
    database: Database, home: str
) -> None:
    first = rows.attempt(database, home, rows.rendition(database, home), state="failed")
    second = again(database)
    relay_outbox(database)

    assert rows.read(database, schema.renditions, "r-1").selected_attempt == second
    assert (attempt(database, second).number, attempt(database, second).next_action_at) == (2, NOON)
    assert attempt(database, second).idempotency_key != attempt(database, first).idempotency_key
    assert attempt(database, first).deselected_at == NOON
    [kept] = rows.rows(database, schema.selections)
    assert (kept.attempt, kept.instead_of, kept.actor) == (second, first, "ada")


def test_of_two_selections_from_one_reading_the_second_loses_and_leaves_nothing(
    database: Database, home: str
) -> None:
    rows.attempt(database, home, rows.rendition(database, home), state="failed")
    seen = database.run(lambda tx: lock_rendition(tx, "r-1"))
    last = attempt(database, "r-1-a1")
    again(database)

    with pytest.raises(LostRace):
        database.run(lambda tx: select_attempt(tx, seen, last.id, actor="b", reason="late"))

    assert rows.read(database, schema.renditions, "r-1").selected_attempt == "r-1-a2"
    assert len(rows.rows(database, schema.selections)) == 1


def test_the_entity_version_alone_keeps_a_stale_selection_out(database: Database, home: str) -> None:
    """Selected again meanwhile: the same attempt stands there, after two selections that were not seen."""
    rows.attempt(database, home, rows.rendition(database, home), state="failed")
    seen = database.run(lambda tx: lock_rendition(tx, "r-1"))
    again(database)
    select(database, "r-1-a1")

    with pytest.raises(LostRace):
        database.run(lambda tx: select_attempt(tx, seen, "r-1-a2", actor="b", reason="late"))


def test_a_deselected_attempt_that_was_not_sent_is_cancelled_and_its_hold_is_free(
    database: Database, home: str
) -> None:
    rows.attempt(database, home, rows.rendition(database, home), state="failed")
    second = again(database)
    database.run(lambda tx: hold(tx, attempt(database, second)))

    select(database, "r-1-a1")

    row, [held] = attempt(database, second), rows.rows(database, schema.holds)
    assert (row.state, row.outcome_reason, row.lease_token) == ("cancelled", "deselected", 1)
    assert held.state == "released"


def test_a_deselected_attempt_that_was_sent_runs_on_under_its_lease(database: Database, home: str) -> None:
    name = rows.rendition(database, home)
    rows.attempt(database, home, name, state="generating", submission="accepted", lease_token=4)

    again(database)

    row = attempt(database, "r-1-a1")
    assert (row.state, row.deselected_at, row.lease_token) == ("generating", NOON, 4)


def test_an_earlier_attempt_that_is_selected_again_goes_on_from_where_it_rests(
    database: Database, home: str
) -> None:
    rows.attempt(database, home, rows.rendition(database, home), state="stored", submission="accepted")
    again(database)
    select(database, "r-1-a1")
    relay_outbox(database)

    row = attempt(database, "r-1-a1")
    assert (row.deselected_at, row.next_action_at) == (None, NOON)


def test_a_candidate_of_a_deselected_attempt_is_taken_from_the_index(database: Database, home: str) -> None:
    rows.attempt(database, home, rows.rendition(database, home), state="indexed", submission="accepted")
    rows.insert(
        database,
        schema.index_entries,
        {
            "id": "e-1", "tenant": "northwind", "campaign": home, "slot": f"{home}/en-GB/16x9/r-1",
            "rendition": "r-1", "attempt": "r-1-a1", "object": "o-1", "standing": "candidate", "version": 1,
        },
    )  # fmt: skip

    again(database)

    [entry] = rows.rows(database, schema.index_entries)
    assert (entry.standing, entry.version, entry.next_action_at) == ("tombstone", 2, NOON)
