"""G7: a hold is taken before a send, closes once, and concurrent ones never pass the cap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.domain.errors import OverBudget
from pipeline.domain.outcomes import HoldFate
from resources.database import schema
from resources.database.budgets import close_hold, hold
from resources.database.database import Database
from tests.database import rows

HOME = "northwind.spring"


def attempts(database: Database, quotes: list[int], cap: int) -> list[sa.Row[Any]]:
    with database.reading() as connection:
        known = connection.scalar(sa.select(schema.campaigns.c.id))
    if known is None:
        rows.campaign(database, HOME, cap)
        rows.rendition(database, HOME)
    base = {
        "tenant": "northwind", "campaign": HOME, "rendition": "r-1", "state": "queued",
        "submission": "not_sent", "request_fingerprint": "f", "provider": "local", "model": "m",
        "currency": "EUR", "spend": "live", "created_at": 0,
    }  # fmt: skip
    rows.insert(
        database,
        schema.attempts,
        *(
            {**base, "id": f"h-{n}", "number": n, "idempotency_key": f"h-{n}", "quote": quote}
            for n, quote in enumerate(quotes)
        ),
    )
    return rows.rows(database, schema.attempts)


def budget(database: Database) -> tuple[int, int]:
    [row] = rows.rows(database, schema.budgets)
    return row.held, row.settled


def holds(database: Database, row: sa.Row[Any]) -> bool:
    try:
        database.run(lambda tx: hold(tx, row))
    except OverBudget:
        return False
    return True


def test_a_hold_up_to_the_cap_is_taken_and_one_beyond_it_is_not(database: Database) -> None:
    exact, more = attempts(database, [50, 1], cap=50)

    assert holds(database, exact)
    with pytest.raises(OverBudget) as refused:
        database.run(lambda tx: hold(tx, more))

    assert (refused.value.wanted, refused.value.free, refused.value.currency) == (1, 0, "EUR")
    assert budget(database) == (50, 0)
    assert len(rows.rows(database, schema.holds)) == 1


def test_the_same_hold_twice_is_one(database: Database) -> None:
    [row] = attempts(database, [20], cap=50)
    for _ in range(3):
        assert holds(database, row)

    assert budget(database) == (20, 0)


@pytest.mark.parametrize(
    ("fate", "expected", "state"),
    [
        (HoldFate.SETTLE, (0, 20), "settled"),
        (HoldFate.RELEASE, (0, 0), "released"),
        (HoldFate.KEEP, (20, 0), "open"),
    ],
)
def test_a_hold_is_closed_once_and_stays_as_it_was_closed(
    database: Database, fate: HoldFate, expected: tuple[int, int], state: str
) -> None:
    [row] = attempts(database, [20], cap=50)
    holds(database, row)
    database.run(lambda tx: close_hold(tx, row.id, fate))
    if fate is not HoldFate.KEEP:
        for other in (HoldFate.RELEASE, HoldFate.SETTLE):
            database.run(lambda tx, other=other: close_hold(tx, row.id, other))  # type: ignore[misc]

    [held] = rows.rows(database, schema.holds)
    assert budget(database) == expected
    assert held.state == state


def test_what_was_spent_counts_against_the_cap_too(database: Database) -> None:
    first, second = attempts(database, [30, 30], cap=50)
    holds(database, first)
    database.run(lambda tx: close_hold(tx, first.id, HoldFate.SETTLE))

    assert not holds(database, second)


def test_what_is_released_frees_room(database: Database) -> None:
    first, second = attempts(database, [30, 30], cap=50)
    holds(database, first)
    database.run(lambda tx: close_hold(tx, first.id, HoldFate.RELEASE))

    assert holds(database, second)


def test_concurrent_holds_never_pass_the_cap(database: Database) -> None:
    wanted = attempts(database, [7] * 24, cap=100)

    with ThreadPoolExecutor(6) as workers:
        taken = list(workers.map(lambda row: holds(database, row), wanted))

    assert sum(taken) == 14
    assert budget(database) == (98, 0)
    assert sum(row.amount for row in rows.rows(database, schema.holds)) == 98


_STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from(["hold", "settle", "release"])), min_size=1, max_size=16
)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@given(quotes=st.lists(st.integers(0, 40), min_size=8, max_size=8), steps=_STEPS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_budget_is_always_the_sum_of_its_holds_and_within_the_cap(
    database: Database, quotes: list[int], steps: list[tuple[int, str]]
) -> None:
    def wipe(tx: Any) -> None:
        for table in (schema.holds, schema.attempts):
            tx.connection.execute(sa.delete(table))
        tx.connection.execute(sa.update(schema.budgets).values(held=0, settled=0))

    database.run(wipe)
    wanted = attempts(database, quotes, cap=100)
    for number, step in steps:
        row = wanted[number]
        if step == "hold":
            holds(database, row)
        else:
            fate = HoldFate(step)
            database.run(lambda tx, row=row, fate=fate: close_hold(tx, row.id, fate))  # type: ignore[misc]

    kept = rows.rows(database, schema.holds)
    held, settled = budget(database)
    assert held == sum(one.amount for one in kept if one.state == "open")
    assert settled == sum(one.settled_amount for one in kept)
    assert held + settled <= 100
