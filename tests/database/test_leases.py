"""L7: work that takes long keeps its leases by a thread of its own, and loses them when it stops."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import DatabaseUnavailable
from pipeline.domain.follow_ons import Stage
from resources.database import leases, schema
from resources.database.claims import claim_stage, give_back
from resources.database.database import Database
from resources.database.leases import kept
from tests.conftest import NOON, Clock
from tests.database import rows


@pytest.fixture
def claimed(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[sa.Row[Any]]:
    """One lease, and a keeper that renews every few milliseconds instead of every twenty seconds."""
    home = rows.campaign(database)
    rows.attempt(database, home, rows.rendition(database, home), state="retrieving", next_action_at=NOON)
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.06)
    return list(database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "me")))


def until(database: Database) -> int:
    [row] = rows.rows(database, schema.attempts)
    return int(row.lease_until)


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "the lease was not renewed"
        time.sleep(0.01)


def test_a_lease_is_renewed_while_the_work_goes_on(
    database: Database, claimed: list[sa.Row[Any]], clock: Clock
) -> None:
    before = until(database)
    with kept(database, schema.attempts, claimed):
        clock.pass_seconds(50)
        wait_for(lambda: until(database) > before)
        assert database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "other")) == []


def test_after_the_work_no_thread_renews_any_more(
    database: Database, claimed: list[sa.Row[Any]], clock: Clock
) -> None:
    with kept(database, schema.attempts, claimed):
        pass
    clock.pass_seconds(61)

    assert "leases" not in {thread.name for thread in threading.enumerate()}
    assert len(database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "other"))) == 1


def test_a_lease_that_was_taken_over_is_not_renewed(
    database: Database, claimed: list[sa.Row[Any]], clock: Clock
) -> None:
    clock.pass_seconds(61)
    database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "other"))
    before = until(database)
    with kept(database, schema.attempts, claimed):
        clock.pass_seconds(30)
        time.sleep(0.2)

    assert until(database) == before


def test_a_lease_that_was_given_back_before_the_work_ended_is_not_renewed(
    database: Database, claimed: list[sa.Row[Any]]
) -> None:
    """Publishing releases its rows, and then tells an index that may be slow."""
    with kept(database, schema.attempts, claimed):
        given = [(row.id, row.lease_token) for row in claimed]
        database.run(lambda tx: give_back(tx, schema.attempts, given))
        time.sleep(0.2)

    assert until(database) == 0


def test_a_renewal_that_fails_is_tried_again_at_the_next_turn(
    database: Database, claimed: list[sa.Row[Any]], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, failures = database.run, iter([True, True])

    def run(work: Any) -> Any:
        if next(failures, False):
            raise DatabaseUnavailable("gone for a moment")
        return plain(work)

    before = until(database)
    monkeypatch.setattr(database, "run", run)
    clock.pass_seconds(10)
    with kept(database, schema.attempts, claimed):
        wait_for(lambda: until(database) > before)
