"""G10: caps of remote jobs in flight hold under concurrent claims, and tenants take turns."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database
from resources.database.lane_claims import claim_submissions
from resources.database.lanes import free_abandoned, leave, open_lanes, set_caps
from tests.conftest import NOON, Clock
from tests.database import rows


def queue(database: Database, tenant: str, number: int) -> None:
    home = rows.campaign(database, f"{tenant}.spring")
    name = rows.rendition(database, home, f"r-{tenant}")
    base = {
        "tenant": tenant, "campaign": home, "rendition": name, "state": "queued", "submission": "not_sent",
        "request_fingerprint": "f", "provider": "local", "model": "m", "currency": "EUR", "spend": "live",
        "created_at": 0, "next_action_at": NOON,
    }  # fmt: skip
    rows.insert(
        database,
        schema.attempts,
        *(
            {**base, "id": f"{tenant}-{n}", "number": n, "idempotency_key": f"{tenant}-{n}"}
            for n in range(number)
        ),
    )


def caps(database: Database, cap: int, tenant_cap: int) -> None:
    database.run(lambda tx: set_caps(tx, "local", cap=cap, tenant_cap=tenant_cap))


def claim(database: Database, limit: int = 50, owner: str = "me") -> list[sa.Row[Any]]:
    return list(database.run(lambda tx: claim_submissions(tx, "local", owner, limit)))


def counted(database: Database) -> dict[str, int]:
    return {row.tenant: row.in_flight for row in rows.rows(database, schema.lanes)}


def test_a_claim_takes_no_more_than_the_caps_and_counts_what_it_took(database: Database) -> None:
    for tenant in ("north", "south"):
        queue(database, tenant, 9)
    caps(database, 7, 5)

    taken = Counter(row.tenant for row in claim(database))

    assert sorted(taken.values()) == [3, 4]
    assert counted(database) == {**taken, "*": 7}
    assert claim(database) == []


def test_the_cap_of_a_tenant_holds_though_the_provider_has_room(database: Database) -> None:
    queue(database, "north", 9)
    caps(database, 100, 3)

    assert (len(claim(database)), len(claim(database))) == (3, 0)


def test_concurrent_claims_never_pass_the_caps(database: Database) -> None:
    for tenant in ("a", "b", "c", "d"):
        queue(database, tenant, 20)
    caps(database, 30, 9)

    with ThreadPoolExecutor(6) as workers:
        found = list(workers.map(lambda owner: claim(database, 5, str(owner)), range(12)))

    taken = [row for one in found for row in one]
    by_tenant = Counter(row.tenant for row in taken)
    assert len({row.id for row in taken}) == len(taken) == 30
    assert max(by_tenant.values()) <= 9
    assert counted(database) == {**by_tenant, "*": 30}


def test_whoever_was_served_longest_ago_comes_first(database: Database, clock: Clock) -> None:
    for tenant in ("a", "b", "c"):
        queue(database, tenant, 9)
    caps(database, 100, 50)
    served = []
    for _ in range(6):
        served += [row.tenant for row in claim(database, 1)]
        clock.pass_seconds(1)

    assert served == ["a", "b", "c", "a", "b", "c"]


def test_a_tenant_with_a_long_queue_leaves_room_for_the_others(database: Database) -> None:
    queue(database, "crowd", 200)
    queue(database, "small", 2)
    caps(database, 20, 50)

    assert Counter(row.tenant for row in claim(database))["small"] == 2


def test_a_place_is_left_once_however_often_it_is_said(database: Database) -> None:
    queue(database, "north", 2)
    caps(database, 10, 10)
    taken = claim(database)
    for _ in range(3):
        database.run(lambda tx: leave(tx, taken[:1]))

    assert counted(database) == {"north": 1, "*": 1}
    assert sum(row.lane_held for row in rows.rows(database, schema.attempts)) == 1


def test_an_attempt_that_holds_its_place_takes_no_second_one(database: Database, clock: Clock) -> None:
    queue(database, "north", 1)
    caps(database, 10, 10)
    claim(database)
    clock.pass_seconds(61)

    assert len(claim(database)) == 1
    assert counted(database) == {"north": 1, "*": 1}


def test_lowered_caps_let_what_runs_run_and_take_nothing_new(database: Database) -> None:
    queue(database, "north", 9)
    caps(database, 5, 5)
    claim(database)
    caps(database, 3, 3)

    assert claim(database) == []
    assert counted(database)["*"] == 5
    assert database.run(lambda tx: open_lanes(tx, "local").free) == 0


def test_without_lanes_nothing_is_taken(database: Database) -> None:
    queue(database, "north", 1)

    assert claim(database) == []


def test_a_lane_full_of_dead_claimers_takes_in_again(database: Database, clock: Clock) -> None:
    """They were killed between claim and send: nobody else would ever give their places back."""
    queue(database, "acme", 2)
    caps(database, 2, 2)
    database.run(lambda tx: claim_submissions(tx, "local", "dead"))
    clock.pass_seconds(61)

    assert database.run(lambda tx: claim_submissions(tx, "local", "next")) == []
    assert database.run(lambda tx: free_abandoned(tx, "local")) == 2
    assert len(database.run(lambda tx: claim_submissions(tx, "local", "next"))) == 2
    assert database.run(lambda tx: open_lanes(tx, "local")).free == 0


def test_a_claimer_that_was_frozen_has_lost_its_attempt_with_its_place(
    database: Database, clock: Clock
) -> None:
    queue(database, "acme", 1)
    caps(database, 1, 1)
    [claimed] = database.run(lambda tx: claim_submissions(tx, "local", "frozen"))
    clock.pass_seconds(61)
    database.run(lambda tx: free_abandoned(tx, "local"))

    assert rows.read(database, schema.attempts, claimed.id).lease_token == claimed.lease_token + 1


def test_the_place_of_a_live_claim_and_of_what_was_sent_is_kept(database: Database, clock: Clock) -> None:
    queue(database, "acme", 2)
    caps(database, 2, 2)
    claimed = database.run(lambda tx: claim_submissions(tx, "local", "me"))
    assert database.run(lambda tx: free_abandoned(tx, "local")) == 0
    sent = sa.update(schema.attempts).where(schema.attempts.c.id == claimed[0].id)
    database.run(lambda tx: tx.connection.execute(sent.values(submission="unknown")))
    clock.pass_seconds(61)

    assert database.run(lambda tx: free_abandoned(tx, "local")) == 1
