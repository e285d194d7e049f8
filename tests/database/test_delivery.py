"""L11: a message is delivered by one idempotent write; twice is once, late is harmless."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.follow_ons import FOLLOW_ONS, Due, Topic
from pipeline.steps.operate.relay_outbox import relay_outbox
from resources.database import schema
from resources.database.database import Database
from resources.database.delivery import deliver, undelivered
from resources.database.transitions import message, post
from tests.conftest import NOON, Clock
from tests.database import rows

HOME = "northwind.spring"


@pytest.fixture
def attempt(database: Database) -> str:
    rows.campaign(database, HOME)
    return rows.attempt(database, HOME, rows.rendition(database, HOME))


def send(database: Database, topic: Topic, subject: str, key: str = "1") -> None:
    database.run(lambda tx: post(tx, [message(tx, topic, "northwind", subject, key)]))


def due_at(database: Database, attempt: str) -> int | None:
    found: int | None = rows.read(database, schema.attempts, attempt).next_action_at
    return found


def test_a_message_makes_its_subject_due_and_is_marked_delivered(database: Database, attempt: str) -> None:
    send(database, Topic.APPROVED, attempt)

    assert relay_outbox(database) == 1

    [sent] = rows.rows(database, schema.outbox)
    assert (due_at(database, attempt), sent.delivered_at, sent.attempts) == (NOON, NOON, 1)
    assert relay_outbox(database) == 0


def test_the_same_message_posted_twice_is_one(database: Database, attempt: str) -> None:
    for _ in range(2):
        send(database, Topic.APPROVED, attempt)

    assert len(rows.rows(database, schema.outbox)) == 1


def test_a_message_delivered_twice_changes_nothing_the_second_time(
    database: Database, attempt: str, clock: Clock
) -> None:
    send(database, Topic.APPROVED, attempt)
    messages = database.run(lambda tx: undelivered(tx, 9))
    database.run(lambda tx: deliver(tx, messages))
    clock.pass_seconds(5)

    database.run(lambda tx: deliver(tx, messages))

    assert due_at(database, attempt) == NOON


def test_a_message_that_comes_late_wakes_nothing_that_has_moved_on(database: Database, attempt: str) -> None:
    send(database, Topic.OUTPUT_REPORTED, attempt)
    relay_outbox(database)

    assert due_at(database, attempt) is None


def test_work_that_is_due_later_already_is_not_pulled_forward(database: Database, attempt: str) -> None:
    database.run(
        lambda tx: tx.connection.execute(sa.update(schema.attempts).values(next_action_at=NOON + 99))
    )
    send(database, Topic.APPROVED, attempt)
    relay_outbox(database)

    assert due_at(database, attempt) == NOON + 99


def test_an_unknown_topic_is_set_aside_by_name_and_holds_nothing_up(database: Database, attempt: str) -> None:
    strange = {
        "id": "weather:1", "tenant": "northwind", "topic": "weather", "subject_id": attempt,
        "created_at": 0, "next_try_at": 0,
    }  # fmt: skip
    rows.insert(database, schema.outbox, strange)
    send(database, Topic.APPROVED, attempt)

    relay_outbox(database)

    found = {
        row.topic: (row.delivered_at, row.dead_at, row.last_error)
        for row in rows.rows(database, schema.outbox)
    }
    assert found == {"weather": (None, NOON, "unknown topic"), "approved": (NOON, None, None)}
    assert due_at(database, attempt) == NOON
    assert relay_outbox(database) == 0


def test_an_end_by_a_crash_leaves_the_message_undelivered(database: Database, attempt: str) -> None:
    send(database, Topic.APPROVED, attempt)

    def dies(tx: Any) -> None:
        deliver(tx, undelivered(tx, 9))
        raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        database.run(dies)

    assert due_at(database, attempt) is None
    assert relay_outbox(database) == 1


def test_a_message_committed_after_a_later_one_is_not_missed(
    database: Database, attempt: str, clock: Clock
) -> None:
    """By `delivered_at IS NULL`, never by a high-water mark: the older id may become visible last."""
    clock.pass_seconds(60)
    send(database, Topic.WISH_CHANGED, HOME, "newer")
    relay_outbox(database)
    clock.pass_seconds(-60)
    send(database, Topic.APPROVED, attempt, "older")

    assert relay_outbox(database) == 1
    assert due_at(database, attempt) == NOON


def test_freed_budget_wakes_what_is_parked_for_it_alone(database: Database, attempt: str) -> None:
    rows.attempt(database, HOME, rows.rendition(database, HOME, "r-2"), parked_reason="over_budget")
    send(database, Topic.BUDGET_FREED, HOME)
    relay_outbox(database)

    assert (due_at(database, attempt), due_at(database, "r-2-a1")) == (None, NOON)


def test_each_change_of_a_campaign_raises_its_mark(database: Database, attempt: str) -> None:
    for key in ("1", "2"):
        send(database, Topic.WISH_CHANGED, HOME, key)
        relay_outbox(database)

    [mark] = rows.rows(database, schema.partition_marks)
    assert (mark.due, mark.marked) == (2, 0)


@pytest.mark.parametrize("topic", list(Topic))
def test_a_message_about_something_that_is_gone_is_delivered_all_the_same(
    database: Database, attempt: str, topic: Topic
) -> None:
    subject = HOME if FOLLOW_ONS[topic].due is Due.MARK else "no-such-subject"
    send(database, topic, subject)

    assert relay_outbox(database) == 1
    assert all(row.delivered_at == NOON for row in rows.rows(database, schema.outbox))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_two_relays_at_once_share_the_messages(database: Database, attempt: str) -> None:
    for key in ("1", "2", "3"):
        send(database, Topic.WISH_CHANGED, HOME, key)

    def outer(tx: Any) -> tuple[int, int]:
        mine = undelivered(tx, 2)
        others = database.run(lambda inner: len(undelivered(inner, 9)))
        return len(mine), others

    assert database.run(outer) == (2, 1)
