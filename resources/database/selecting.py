"""New attempts of a rendition, and which of them is selected (L4): each selection a guarded, audited row.

Belongs here: statements that keep `renditions.selected_attempt`, `selections` and `attempts` in step.
Does not belong here: whether another attempt is right (the retry rule, or a person).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Submission
from pipeline.domain.renditions import attempt_id, idempotency_key
from resources.database.database import Transaction
from resources.database.revisions import write_creation
from resources.database.schema import attempts, renditions, selections
from resources.database.transitions import Transition, apply, message, post


def lock_rendition(tx: Transaction, rendition: str) -> sa.Row[Any] | None:
    return tx.connection.execute(
        sa.select(renditions).where(renditions.c.id == rendition).with_for_update()
    ).one_or_none()


def add_attempt(
    tx: Transaction, rendition: sa.Row[Any], last: sa.Row[Any], *, actor: str, reason: str
) -> str:
    """Make the next attempt of a locked *rendition*, like *last*, select it, and let it be sent.

    Raises `LostRace` when another attempt was made meanwhile; nothing is left then.
    """
    number = rendition.attempts_made + 1
    name = attempt_id(rendition.id, number)
    tx.connection.execute(
        sa.insert(attempts).values(
            id=name,
            tenant=rendition.tenant,
            campaign=rendition.campaign,
            rendition=rendition.id,
            number=number,
            state=str(AttemptState.QUEUED),
            submission=str(Submission.NOT_SENT),
            idempotency_key=idempotency_key(rendition.tenant, rendition.id, number),
            request_fingerprint=last.request_fingerprint,
            provider=rendition.provider,
            model=rendition.model,
            quote=last.quote,
            currency=last.currency,
            spend=last.spend,
            created_at=tx.now,
        )
    )
    write_creation(tx, "attempt", rendition.tenant, [name], AttemptState.QUEUED, actor, reason)
    select_attempt(tx, rendition, name, actor=actor, reason=reason, attempts_made=number)
    post(tx, [message(tx, Topic.APPROVED, rendition.tenant, name, "1")])
    return name


def select_attempt(
    tx: Transaction,
    rendition: sa.Row[Any],
    attempt: str,
    *,
    actor: str,
    reason: str,
    attempts_made: int | None = None,
) -> None:
    """Select *attempt* instead of the selected one, which rests deselected (L4)."""
    changed = tx.connection.execute(
        sa.update(renditions)
        .where(
            renditions.c.id == rendition.id,
            renditions.c.selected_attempt == rendition.selected_attempt,
            renditions.c.entity_version == rendition.entity_version,
        )
        .values(
            selected_attempt=attempt,
            attempts_made=attempts_made or renditions.c.attempts_made,
            entity_version=renditions.c.entity_version + 1,
        )
    ).rowcount
    if changed != 1:
        raise LostRace("rendition", rendition.id, "stale")
    tx.connection.execute(
        sa.insert(selections).values(
            rendition=rendition.id,
            number=_next_selection(tx, rendition.id),
            tenant=rendition.tenant,
            attempt=attempt,
            instead_of=rendition.selected_attempt,
            actor=actor,
            reason=reason,
            operation_id=tx.operation_id,
            at=tx.now,
        )
    )
    _deselect(tx, rendition.selected_attempt, actor, reason)
    post(
        tx,
        [
            message(tx, Topic.WITHDRAWN_FROM_VIEW, rendition.tenant, rendition.id, tx.operation_id),
            message(tx, Topic.WISH_CHANGED, rendition.tenant, rendition.campaign, tx.operation_id),
        ],
    )


def _next_selection(tx: Transaction, rendition: str) -> int:
    newest = tx.connection.scalar(
        sa.select(sa.func.max(selections.c.number)).where(selections.c.rendition == rendition)
    )
    return int(newest or 0) + 1


def _deselect(tx: Transaction, attempt: str, actor: str, reason: str) -> None:
    row = tx.connection.execute(sa.select(attempts).where(attempts.c.id == attempt).with_for_update()).one()
    facts = {"deselected_at": tx.now}
    apply(tx, [Transition("attempt", row, None, actor, reason, facts=facts)])
