"""New attempts of a rendition, and which of them is selected (L4): each selection a guarded, audited row.

Belongs here: statements that keep `renditions.selected_attempt`, `selections` and `attempts` in step.
Does not belong here: whether another attempt is right (the retry rule, or a person).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace, NotAllowed
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move, Submission
from pipeline.domain.outcomes import HoldFate
from pipeline.domain.renditions import attempt_id, idempotency_key
from resources.database.database import Transaction
from resources.database.endings import Ending, end
from resources.database.index_entries import take_from_index
from resources.database.objects import SOURCES_AGAIN, hold_sources
from resources.database.revisions import write_creation
from resources.database.schema import attempts, renditions, selections
from resources.database.transitions import Transition, apply_one, message, post

_UNSENT_STATES = (AttemptState.QUEUED, AttemptState.SUBMITTING)


def lock_rendition(tx: Transaction, rendition: str) -> sa.Row[Any] | None:
    return tx.connection.execute(
        sa.select(renditions).where(renditions.c.id == rendition).with_for_update()
    ).one_or_none()


def add_attempt(
    tx: Transaction, rendition: sa.Row[Any], last: sa.Row[Any], *, actor: str, reason: str
) -> str:
    """Make the next attempt of a locked *rendition*, like *last*, select it, and let it be sent.

    Raises `LostRace` when another attempt was made meanwhile, `NotAllowed` when retention has taken what it
    would be made from; nothing is left then.
    """
    if not hold_sources(tx, rendition.tenant, rendition.sources):
        raise NotAllowed(rendition.id, "its source images were purged", SOURCES_AGAIN)
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
    """Select *attempt* instead of the selected one, which rests deselected (L4).

    One that was made before (*attempts_made* is None) goes on from where it rests. Raises `LostRace` when
    another selection was made meanwhile.
    """
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
    if attempts_made is None:
        _wake(tx, attempt, actor, reason)
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
    """What was not sent ends here; what was sent runs on, and nobody finds it as a candidate."""
    row, facts = _locked(tx, attempt), {"deselected_at": tx.now}
    if row.submission == Submission.NOT_SENT and row.state in _UNSENT_STATES:
        end(tx, [Ending(_cancelled(tx, row, actor, reason), HoldFate.RELEASE)])
        return
    apply_one(tx, Transition("attempt", row, None, actor, reason, facts=facts))
    take_from_index(tx, row)


def _cancelled(tx: Transaction, row: sa.Row[Any], actor: str, reason: str) -> Transition:
    facts = {
        "deselected_at": tx.now,
        "ended_at": tx.now,
        "outcome_reason": "deselected",
        "next_action_at": None,
        "parked_reason": None,
    }
    move = Move(AttemptState(row.state), AttemptState.CANCELLED)
    return Transition("attempt", row, move, actor, reason, facts=facts, take_over=True)


def _wake(tx: Transaction, attempt: str, actor: str, reason: str) -> None:
    facts = {"deselected_at": None}
    topics = (Topic.SELECTED,)
    apply_one(
        tx, Transition("attempt", _locked(tx, attempt), None, actor, reason, facts=facts, topics=topics)
    )


def _locked(tx: Transaction, attempt: str) -> sa.Row[Any]:
    return tx.connection.execute(sa.select(attempts).where(attempts.c.id == attempt).with_for_update()).one()
