"""L7: leases end, tokens rise, and of many claimers each item goes to one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from resources.database import pauses, schema
from resources.database.claims import (
    LEASE_SECONDS,
    LONGEST_LEASE_SECONDS,
    claim_for_retry,
    claim_polls,
    claim_stage,
    claim_unknown,
    give_back,
    renew,
)
from resources.database.database import Database
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows

_A = schema.attempts


@pytest.fixture
def due(database: Database) -> str:
    home = rows.campaign(database)
    name = rows.rendition(database, home)
    return rows.attempt(database, home, name, state="retrieving", next_action_at=NOON)


def claim(database: Database, owner: str = "me", limit: int = 50) -> list[sa.Row[Any]]:
    return list(database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, owner, limit)))


def change(database: Database, subject: str, **values: Any) -> None:
    database.run(lambda tx: tx.connection.execute(sa.update(_A).where(_A.c.id == subject).values(**values)))


def test_a_claim_raises_the_token_and_ends_by_itself(database: Database, due: str) -> None:
    [row] = claim(database, "first")

    assert (row.id, row.lease_owner, row.lease_token) == (due, "first", 1)
    assert row.lease_until == NOON + LEASE_SECONDS * SECOND


def test_a_live_lease_is_not_claimed(database: Database, due: str, clock: Clock) -> None:
    claim(database)
    clock.pass_seconds(LEASE_SECONDS - 1)

    assert claim(database, "second") == []


def test_an_expired_lease_is_claimed_under_a_higher_token(database: Database, due: str, clock: Clock) -> None:
    claim(database)
    clock.pass_seconds(LEASE_SECONDS + 1)

    [row] = claim(database, "second")

    assert (row.lease_owner, row.lease_token) == ("second", 2)


@pytest.mark.parametrize(("seconds", "honoured"), [(0, True), (1, False)])
def test_a_lease_longer_than_the_longest_is_an_accident_of_clocks(
    database: Database, due: str, seconds: int, honoured: bool
) -> None:
    change(database, due, lease_until=NOON + (LONGEST_LEASE_SECONDS + seconds) * SECOND)

    assert (claim(database) == []) == honoured


def test_work_that_is_not_due_yet_is_not_claimed(database: Database, due: str, clock: Clock) -> None:
    change(database, due, next_action_at=NOON + 1)

    assert claim(database) == []


def test_the_longest_due_is_taken_first(database: Database, due: str) -> None:
    home = "northwind.spring"
    for n in (2, 3):
        name = rows.rendition(database, home, f"r-{n}")
        rows.attempt(database, home, name, state="retrieving", next_action_at=NOON - n)

    assert [row.id for row in claim(database, limit=1)] == ["r-3-a1"]


def test_a_renewal_holds_only_what_is_still_ours(database: Database, due: str, clock: Clock) -> None:
    [mine] = claim(database)
    clock.pass_seconds(LEASE_SECONDS + 1)
    claim(database, "second")
    until = rows.read(database, _A, due).lease_until
    clock.pass_seconds(10)

    assert database.run(lambda tx: renew(tx, _A, [(mine.id, mine.lease_token)])) == 0
    assert rows.read(database, _A, due).lease_until == until


def test_a_renewal_moves_the_end_of_a_live_lease(database: Database, due: str, clock: Clock) -> None:
    [mine] = claim(database)
    clock.pass_seconds(30)

    assert database.run(lambda tx: renew(tx, _A, [(mine.id, mine.lease_token)])) == 1
    assert rows.read(database, _A, due).lease_until == clock.at + LEASE_SECONDS * SECOND


def test_what_is_given_back_under_an_old_token_stays_with_its_new_owner(
    database: Database, due: str, clock: Clock
) -> None:
    [mine] = claim(database)
    clock.pass_seconds(LEASE_SECONDS + 1)
    claim(database, "second")

    database.run(lambda tx: give_back(tx, _A, [(mine.id, mine.lease_token)], due_at=0))

    row = rows.read(database, _A, due)
    assert (row.lease_owner, row.next_action_at) == ("second", NOON)


def test_what_is_given_back_is_claimed_at_once_or_when_it_is_due(database: Database, due: str) -> None:
    [mine] = claim(database)
    database.run(lambda tx: give_back(tx, _A, [(mine.id, mine.lease_token)]))
    [again] = claim(database, "second")
    database.run(lambda tx: give_back(tx, _A, [(again.id, again.lease_token)], due_at=NOON + 5))

    assert again.lease_token == 2
    assert claim(database, "third") == []


def test_a_pause_holds_its_own_scope_and_loses_nothing(database: Database, due: str) -> None:
    scope = {"stage": "retrieve", "provider": "local", "tenant": "northwind", "actor": "ada"}
    database.run(lambda tx: pauses.pause(tx, **scope, reason="audit"))
    other = {**scope, "stage": "derive"}
    database.run(lambda tx: pauses.pause(tx, **other, reason="audit"))

    assert claim(database) == []

    database.run(lambda tx: pauses.resume(tx, **scope))

    assert [row.id for row in claim(database)] == [due]


def test_polls_and_look_ups_take_their_own_states_of_their_own_provider(database: Database, due: str) -> None:
    home = "northwind.spring"
    for name, state, submission in (
        ("r-g", "generating", "accepted"), ("r-u", "submitting", "unknown"),
        ("r-n", "submitting", "not_sent"),
    ):  # fmt: skip
        rows.attempt(
            database, home, rows.rendition(database, home, name),
            state=state, submission=submission, next_poll_at=NOON,
        )  # fmt: skip

    polls = database.run(lambda tx: claim_polls(tx, "local", "poller", 9))
    lost = database.run(lambda tx: claim_unknown(tx, "local", "poller", 9))
    others = database.run(lambda tx: [*claim_polls(tx, "x", "p", 9), *claim_unknown(tx, "x", "p", 9)])

    assert ([row.id for row in polls], [row.id for row in lost], others) == (["r-g-a1"], ["r-u-a1"], [])


def test_the_retry_rule_claims_ends_and_overdue_jobs_alone(database: Database, due: str) -> None:
    home = "northwind.spring"
    for name, state, overdue_at in (
        ("r-f", "failed", None), ("r-c", "cancelled", None), ("r-o", "generating", NOON),
        ("r-g", "generating", None),
    ):  # fmt: skip
        rows.attempt(
            database, home, rows.rendition(database, home, name),
            state=state, overdue_at=overdue_at, next_action_at=NOON,
        )  # fmt: skip

    claimed = database.run(lambda tx: claim_for_retry(tx, "rule"))

    assert sorted(row.id for row in claimed) == ["r-c-a1", "r-f-a1", "r-o-a1"]


def test_of_many_claimers_at_once_each_item_goes_to_one(database: Database) -> None:
    home = rows.campaign(database)
    _queue(database, home, 120)

    def greedy(owner: str) -> list[str]:
        taken: list[str] = []
        while found := claim(database, owner, limit=7):
            taken += [row.id for row in found]
        return taken

    with ThreadPoolExecutor(6) as workers:
        taken = [name for one in workers.map(greedy, map(str, range(6))) for name in one]

    assert Counter(taken).most_common(1)[0][1] == 1
    assert len(taken) == 120


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_claim_does_not_wait_for_rows_that_another_one_holds(database: Database) -> None:
    """SKIP LOCKED: while one claim is open, the next takes the rest at once."""
    home = rows.campaign(database)
    _queue(database, home, 4)

    def outer(tx: Any) -> tuple[list[str], list[str]]:
        mine = [row.id for row in claim_stage(tx, Stage.RETRIEVE, "first", 2)]
        return mine, [row.id for row in claim(database, "second", limit=9)]

    first, second = database.run(outer)

    assert (len(first), len(second)) == (2, 2)
    assert not set(first) & set(second)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_claim_takes_no_more_than_its_limit_however_it_is_planned(database: Database) -> None:
    """A subquery that is run once a row chooses anew each time (seen with few rows and no statistics)."""
    home = rows.campaign(database)
    _queue(database, home, 9)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        for method in ("hashjoin", "mergejoin", "hashagg", "material", "sort", "memoize"):
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET enable_{method} = off")
    database.engine.dispose()

    assert len(claim(database, limit=2)) == 2


def _queue(database: Database, home: str, number: int) -> None:
    name = rows.rendition(database, home)
    base = {
        "tenant": "northwind", "campaign": home, "rendition": name, "state": "retrieving",
        "submission": "accepted", "request_fingerprint": "f", "provider": "local", "model": "m",
        "currency": "EUR", "spend": "live", "created_at": 0, "next_action_at": NOON,
    }  # fmt: skip
    rows.insert(
        database,
        _A,
        *({**base, "id": f"q-{n}", "number": n, "idempotency_key": f"k-{n}"} for n in range(number)),
    )
