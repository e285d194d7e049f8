"""L3, L7, L10: the guard, its fence, and everything that is in its transaction."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError

from pipeline.domain.errors import LostRace
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move
from resources.database import schema
from resources.database.counters import counted
from resources.database.database import Database, Transaction
from resources.database.transitions import Transition, Usage, Verdict, apply, apply_one
from tests.conftest import NOON
from tests.database.rows import attempt, campaign, read, rendition, rows

CLAIM = Move(AttemptState.QUEUED, AttemptState.SUBMITTING)


@pytest.fixture
def queued(database: Database) -> str:
    home = campaign(database)
    return attempt(database, home, rendition(database, home))


def claim(database: Database, subject: str, **changes: object) -> Transition:
    row = read(database, schema.attempts, subject)
    return Transition("attempt", row, CLAIM, "submitter", "claimed", **changes)  # type: ignore[arg-type]


def test_a_move_writes_row_audit_usage_and_outbox_together(database: Database, queued: str) -> None:
    wanted = claim(
        database,
        queued,
        facts={"submission": "unknown"},
        usage=(Usage("generation_starts", 1),),
        topics=(Topic.OUTPUT_REPORTED,),
    )

    database.run(lambda tx: apply_one(tx, wanted))

    row = read(database, schema.attempts, queued)
    assert (row.state, row.version, row.entity_version, row.submission) == ("submitting", 1, 1, "unknown")
    [audited] = rows(database, schema.audit)
    assert (audited.from_state, audited.to_state, audited.version, audited.at) == (
        "queued", "submitting", 1, NOON,
    )  # fmt: skip
    [fact] = rows(database, schema.usage_facts)
    assert (fact.meter, fact.quantity, fact.cost_center, fact.spend) == (
        "generation_starts", 1, "MKT-1", "live",
    )  # fmt: skip
    assert {message.topic for message in rows(database, schema.outbox)} == {
        Topic.OUTPUT_REPORTED,
        Topic.WISH_CHANGED,
    }


def test_of_two_claims_the_second_loses_and_writes_nothing(database: Database, queued: str) -> None:
    first, second = claim(database, queued), claim(database, queued)
    database.run(lambda tx: apply_one(tx, first))

    with pytest.raises(LostRace):
        database.run(lambda tx: apply_one(tx, second))

    assert len(rows(database, schema.audit)) == 1


def test_a_loser_in_a_lot_is_named_and_counted_and_the_others_go_on(database: Database) -> None:
    home = campaign(database)
    one, two = (attempt(database, home, rendition(database, home, name)) for name in ("r-1", "r-2"))
    lost, won = claim(database, one), claim(database, two)
    database.run(lambda tx: apply_one(tx, claim(database, one)))

    verdicts = database.run(lambda tx: apply(tx, [lost, won]))

    assert verdicts == [Verdict.DUPLICATE, Verdict.APPLIED]
    with database.reading() as connection:
        assert counted(connection, "attempt_duplicate") == 1


def test_an_old_lease_token_changes_nothing_though_state_and_version_match(
    database: Database, queued: str
) -> None:
    stale = claim(database, queued)

    def take_lease(tx: Transaction) -> None:
        tx.connection.execute(schema.attempts.update().values(lease_token=1))

    database.run(take_lease)

    assert database.run(lambda tx: apply(tx, [stale])) == [Verdict.STALE]
    assert read(database, schema.attempts, queued).state == "queued"


def test_an_old_version_changes_nothing_though_state_and_token_match(database: Database, queued: str) -> None:
    stale = claim(database, queued)

    def raise_version(tx: Transaction) -> None:
        tx.connection.execute(schema.attempts.update().values(version=1))

    database.run(raise_version)

    assert database.run(lambda tx: apply(tx, [stale])) == [Verdict.STALE]


def test_a_fact_is_audited_without_a_move_version(database: Database, queued: str) -> None:
    row = read(database, schema.attempts, queued)
    fact = Transition("attempt", row, None, "poller", "parked", facts={"parked_reason": "paused"})

    database.run(lambda tx: apply_one(tx, fact))

    [audited] = rows(database, schema.audit)
    assert (audited.version, audited.entity_version, audited.to_state) == (None, 1, None)
    assert read(database, schema.attempts, queued).version == 0


def test_two_facts_from_one_reading_cannot_both_stick(database: Database, queued: str) -> None:
    row = read(database, schema.attempts, queued)
    first = Transition("attempt", row, None, "a", "parked", facts={"parked_reason": "paused"})
    second = Transition("attempt", row, None, "b", "freed", facts={"parked_reason": None})
    database.run(lambda tx: apply_one(tx, first))

    assert database.run(lambda tx: apply(tx, [second])) == [Verdict.STALE]


def test_a_persons_command_takes_the_lease_over(database: Database, queued: str) -> None:
    worker = claim(database, queued)
    command = Transition(
        "attempt",
        read(database, schema.attempts, queued),
        Move(AttemptState.QUEUED, AttemptState.CANCELLED),
        "ada",
        "cancelled",
        take_over=True,
    )
    database.run(lambda tx: apply_one(tx, command))

    assert database.run(lambda tx: apply(tx, [worker])) == [Verdict.STALE]
    assert read(database, schema.attempts, queued).lease_token == 1


def test_a_missing_row_is_gone(database: Database, queued: str) -> None:
    wanted = claim(database, queued)

    def delete(tx: Transaction) -> None:
        tx.connection.execute(schema.attempts.delete())

    database.run(delete)

    assert database.run(lambda tx: apply(tx, [wanted])) == [Verdict.GONE]


def test_a_move_over_newer_facts_still_raises_the_entity_version(database: Database, queued: str) -> None:
    seen = claim(database, queued, topics=(Topic.OUTPUT_REPORTED,))
    for reason in ("paused", None):
        row = read(database, schema.attempts, queued)
        fact = Transition("attempt", row, None, "ada", "noted", facts={"parked_reason": reason})
        database.run(lambda tx, fact=fact: apply_one(tx, fact))  # type: ignore[misc]

    database.run(lambda tx: apply_one(tx, seen))

    assert read(database, schema.attempts, queued).entity_version == 3
    assert [row.entity_version for row in rows(database, schema.audit)] == [1, 2, 3]
    assert f"output_reported:{queued}:3" in {message.id for message in rows(database, schema.outbox)}


def test_another_state_changes_nothing_though_version_and_token_match(
    database: Database, queued: str
) -> None:
    stale = claim(database, queued)
    database.run(lambda tx: tx.connection.execute(schema.attempts.update().values(state="cancelled")))

    assert database.run(lambda tx: apply(tx, [stale])) == [Verdict.STALE]
    assert read(database, schema.attempts, queued).state == "cancelled"


def test_what_fails_behind_a_move_takes_its_audit_usage_and_messages_along(
    database: Database, queued: str
) -> None:
    wanted = claim(database, queued, usage=(Usage("generation_starts", 1),), topics=(Topic.APPROVED,))

    def work(tx: Transaction) -> None:
        apply_one(tx, wanted)
        raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        database.run(work)

    assert read(database, schema.attempts, queued).version == 0
    assert [rows(database, table) for table in (schema.audit, schema.usage_facts, schema.outbox)] == [[]] * 3


def test_the_audit_chain_itself_takes_no_second_link_of_one_version(database: Database, queued: str) -> None:
    wanted = claim(database, queued)
    database.run(lambda tx: apply_one(tx, wanted))

    def forget_the_move(tx: Transaction) -> None:
        tx.connection.execute(schema.attempts.update().values(state="queued", version=0))

    database.run(forget_the_move)

    with pytest.raises(IntegrityError):
        database.run(lambda tx: apply_one(tx, wanted))
    assert read(database, schema.attempts, queued).state == "queued"
