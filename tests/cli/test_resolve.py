"""Verdicts on submissions whose answer was lost, by commands, on both databases (G3, L1)."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database
from tests.cli.desk import Desk
from tests.database import rows

RENDITION = f"r-{7:032x}"
ATTEMPT = f"{RENDITION}-a1"


def _lost(desk: Desk) -> Database:
    """An attempt that was sent, its answer never seen, and nobody at work on it."""
    database = Database.at(desk.database_url)
    rows.campaign(database)
    rows.rendition(database, "northwind.spring", RENDITION)
    rows.attempt(
        database, "northwind.spring", RENDITION,
        state="submitting", submission="unknown", send_tries=1, version=1, entity_version=1,
    )  # fmt: skip
    return database


def _attempt(database: Database) -> sa.Row[object]:
    return rows.read(database, schema.attempts, ATTEMPT)


def test_an_accepted_one_is_polled_under_the_named_handle(both: Desk) -> None:
    database = _lost(both)
    both.json("resolve", ATTEMPT, "accepted", "--handle", "job-9", "--reason", "seen in their console")
    attempt = _attempt(database)
    database.close()

    assert (attempt.state, attempt.handle, attempt.submission) == ("generating", "job-9", "accepted")


def test_one_that_was_never_taken_is_sent_again_under_its_key(both: Desk) -> None:
    database = _lost(both)
    both.json("resolve", RENDITION, "not-accepted", "--reason", "their support says so")
    attempt = _attempt(database)
    database.close()

    assert (attempt.state, attempt.submission) == ("submitting", "not_sent")


def test_a_write_off_ends_it_and_a_second_verdict_is_refused(both: Desk) -> None:
    database = _lost(both)
    both.json("resolve", ATTEMPT, "write-off", "--reason", "provider went out of business")
    second = both.run("resolve", ATTEMPT, "accepted", "--handle", "job-9", "--reason", "found it")
    attempt = _attempt(database)
    database.close()

    assert (attempt.state, attempt.outcome_reason) == ("failed", "written_off")
    assert second.exit_code == 1
    assert "it is failed" in second.stderr


def test_a_verdict_needs_the_terms_of_its_provider(both: Desk) -> None:
    database = _lost(both)
    database.run(lambda tx: tx.connection.execute(sa.update(schema.attempts).values(provider="gone")))
    refused = both.run("resolve", ATTEMPT, "not-accepted", "--reason", "x")
    database.close()

    assert refused.exit_code == 1
    assert "write it off" in refused.stderr
