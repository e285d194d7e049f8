"""B2: the plan says what next and why in words that its reader can act on."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.next_action import Action, NextAction
from pipeline.steps.answer.status import Wanted
from pipeline.steps.operate.recover import recovery_plan
from resources.database import schema
from tests.steps.author import PROVIDERS, Author

WIDE = "en-GB/16x9/6s"


def planned(author: Author, **facts: Any) -> NextAction:
    """What next for one wish whose attempt holds *facts*."""
    [wish] = [one for one in author.status() if one.variant == WIDE]
    table = schema.attempts
    author.database.run(
        lambda tx: tx.connection.execute(sa.update(table).where(table.c.id == wish.attempt).values(**facts))
    )
    plan = {item.wish: item.next for item in recovery_plan(author.database, PROVIDERS, Wanted())}
    return plan[wish.wish]


def test_what_is_over_budget_says_by_how_much(author: Author) -> None:
    author.deliver()
    author.database.run(
        lambda tx: tx.connection.execute(
            sa.update(schema.budgets).values(cap=1_000_000, held=300_000, settled=500_000)
        )
    )

    found = planned(author, parked_reason="over_budget")

    assert found.action is Action.RAISE_BUDGET
    assert found.why == "it needs 0.30 EUR, and 0.80 of the cap of 1.00 are held or spent"


def test_a_request_that_was_refused_asks_for_another_brief_and_not_for_a_retry(author: Author) -> None:
    author.deliver()

    refused = planned(author, state="failed", outcome_class="invalid_request")
    broken = planned(author, state="failed", outcome_class="output_rejected")

    assert refused.needs_person
    assert "new revision" in refused.why
    assert "retry" in broken.why
