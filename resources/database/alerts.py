"""Alerts as rows: raised, repeated, claimed for sending, sent, cleared.

Belongs here: statements over `alerts`. Does not belong here: when a repeated one is told again
(`pipeline.steps.operate.alert`), or sending (`resources.notify`).

Sending happens outside of any transaction, between a claim and its settlement. A sender that dies in between
leaves a claim that runs out; the alert then goes out once more, which is better than never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import alerts
from resources.database.upsert import insert_for

SECOND = 1_000_000
CLAIM_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Raised:
    """What an alert says, as plain values."""

    id: str
    tenant: str
    severity: str
    title: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    link_window: str | None = None
    link_path: str | None = None


def raise_row(tx: Transaction, raised: Raised, repeat_after_seconds: float) -> None:
    """Note one more occurrence: a new alert, a repetition, or a cleared one that comes back.

    What was sent is to be sent again once *repeat_after_seconds* have passed since.
    """
    said = {
        "tenant": raised.tenant,
        "severity": raised.severity,
        "title": raised.title,
        "facts": dict(raised.facts),
        "link_window": raised.link_window,
        "link_path": raised.link_path,
        "last_at": tx.now,
    }
    begins = {"first_at": tx.now, "raised": 1, "sent_at": None, "cleared_at": None, "tries": 0}
    row = {"id": raised.id, **said, **begins, "next_try_at": tx.now, "claimed_until": 0}
    statement = insert_for(tx.connection, alerts).values(**row)
    tx.connection.execute(
        statement.on_conflict_do_update(
            index_elements=["id"],
            set_=_said_again(statement.excluded, tuple(said), tx.now, repeat_after_seconds),
        )
    )


def _said_again(new: Any, said: Sequence[str], now: int, repeat_after_seconds: float) -> dict[str, Any]:
    """The newest words hold; a cleared row begins a new episode; an old sending counts no more."""
    was_cleared = alerts.c.cleared_at.is_not(None)
    is_old = alerts.c.sent_at <= now - int(repeat_after_seconds * SECOND)
    unsent = sa.or_(was_cleared, is_old)
    return {name: new[name] for name in said} | {
        "first_at": sa.case((was_cleared, now), else_=alerts.c.first_at),
        "raised": sa.case((was_cleared, 1), else_=alerts.c.raised + 1),
        "sent_at": sa.case((unsent, sa.null()), else_=alerts.c.sent_at),
        "next_try_at": sa.case((unsent, now), else_=alerts.c.next_try_at),
        "tries": sa.case((unsent, 0), else_=alerts.c.tries),
        "cleared_at": None,
    }


def claim_unsent(tx: Transaction, limit: int, only: str | None = None) -> Sequence[sa.Row[Any]]:
    """Claim alerts that are to be sent now, longest waiting first; nobody else sends them meanwhile."""
    due = [
        alerts.c.sent_at.is_(None),
        alerts.c.cleared_at.is_(None),
        alerts.c.next_try_at <= tx.now,
        alerts.c.claimed_until <= tx.now,
    ]
    if only is not None:
        due.append(alerts.c.id == only)
    wanted = sa.select(alerts.c.id).where(*due).order_by(alerts.c.next_try_at).limit(limit)
    ids = tx.connection.scalars(wanted.with_for_update(skip_locked=True)).all()
    claimed = (
        sa.update(alerts)
        .where(alerts.c.id.in_(ids))
        .values(claim=alerts.c.claim + 1, claimed_until=tx.now + CLAIM_SECONDS * SECOND)
        .returning(alerts)
    )
    return sorted(tx.connection.execute(claimed).all(), key=lambda row: (row.next_try_at, row.id))


def settle_sent(tx: Transaction, claimed: sa.Row[Any]) -> bool:
    """The channel took it; False when the claim ran out and somebody else has it."""
    return _settle(tx, claimed, {"sent_at": tx.now, "tries": 0, "last_error": None})


def settle_unsent(tx: Transaction, claimed: sa.Row[Any], reason: str, wait_seconds: float) -> bool:
    """The channel did not take it: once more after *wait_seconds*."""
    later = tx.now + int(wait_seconds * SECOND)
    failed = {"tries": claimed.tries + 1, "last_error": reason, "next_try_at": later}
    return _settle(tx, claimed, failed)


def _settle(tx: Transaction, claimed: sa.Row[Any], values: Mapping[str, Any]) -> bool:
    settled = sa.update(alerts).where(alerts.c.id == claimed.id, alerts.c.claim == claimed.claim)
    return tx.connection.execute(settled.values(claimed_until=0, **values)).rowcount == 1


def clear_row(tx: Transaction, alert: str) -> bool:
    """What it was about is over; False when it was not raised, or is cleared already."""
    cleared = sa.update(alerts).where(alerts.c.id == alert, alerts.c.cleared_at.is_(None))
    return tx.connection.execute(cleared.values(cleared_at=tx.now)).rowcount == 1
