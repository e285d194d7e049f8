"""Budgets: quote, hold, settle or release, never past the cap (G7). Money in integer micro-units.

The hold is one guarded UPDATE of the campaign's counter row, so that concurrent submissions queue up on
it and none of them can pass the cap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import OverBudget
from pipeline.domain.outcomes import HoldFate
from resources.database.database import Transaction
from resources.database.schema import budgets, holds


def hold(tx: Transaction, attempt: sa.Row[Any]) -> None:
    """Reserve the attempt's quote, or raise `OverBudget` and change nothing. Held already: a no-op."""
    if tx.connection.scalar(sa.select(holds.c.attempt).where(holds.c.attempt == attempt.id)):
        return
    held = tx.connection.execute(
        sa.update(budgets)
        .where(
            budgets.c.campaign == attempt.campaign,
            budgets.c.held + budgets.c.settled + attempt.quote <= budgets.c.cap,
        )
        .values(held=budgets.c.held + attempt.quote)
    ).rowcount
    if held != 1:
        raise _over_budget(tx, attempt)
    tx.connection.execute(
        sa.insert(holds).values(
            attempt=attempt.id,
            tenant=attempt.tenant,
            campaign=attempt.campaign,
            amount=attempt.quote,
            currency=attempt.currency,
            state="open",
            opened_at=tx.now,
        )
    )


def close_hold(tx: Transaction, attempt_id: str, fate: HoldFate) -> None:
    """Settle the hold in full, or release it; a closed one stays as it is, KEEP changes nothing."""
    close_holds(tx, {attempt_id: fate})


def close_holds(tx: Transaction, fates: Mapping[str, HoldFate]) -> None:
    """As `close_hold`, for many attempts at once."""
    for fate in (HoldFate.SETTLE, HoldFate.RELEASE):
        ids = sorted(attempt for attempt, wanted in fates.items() if wanted is fate)
        if ids:
            _close(tx, ids, settles=fate is HoldFate.SETTLE)


def _close(tx: Transaction, ids: Sequence[str], *, settles: bool) -> None:
    closed = tx.connection.execute(
        sa.update(holds)
        .where(holds.c.attempt.in_(ids), holds.c.state == "open")
        .values(
            state="settled" if settles else "released",
            settled_amount=holds.c.amount if settles else 0,
            closed_at=tx.now,
        )
        .returning(holds.c.campaign, holds.c.amount)
    ).all()
    freed: Counter[str] = Counter()
    for hold_ in closed:
        freed[hold_.campaign] += hold_.amount
    for campaign, amount in sorted(freed.items()):  # in one order, so that two cannot wait for each other
        tx.connection.execute(
            sa.update(budgets)
            .where(budgets.c.campaign == campaign)
            .values(
                held=budgets.c.held - amount,
                settled=budgets.c.settled + (amount if settles else 0),
            )
        )


def _over_budget(tx: Transaction, attempt: sa.Row[Any]) -> OverBudget:
    row = tx.connection.execute(sa.select(budgets).where(budgets.c.campaign == attempt.campaign)).one()
    free = row.cap - row.held - row.settled
    return OverBudget(attempt.campaign, attempt.quote, free, row.currency)
