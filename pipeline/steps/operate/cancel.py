"""Cancel an attempt: at once when nothing was sent, else as a wish that the provider must confirm (L1)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.lifecycle import ENDED_STATES, OWNED_STATES, AttemptState, Submission
from pipeline.domain.outcomes import HoldFate, Outcome
from pipeline.steps.produce.answers import ended
from resources.database.database import Database, Transaction
from resources.database.schema import attempts, renditions
from resources.database.transitions import Transition, apply_one

_S = AttemptState

_TOO_LATE: Mapping[AttemptState, tuple[str, str]] = MappingProxyType(
    dict.fromkeys(OWNED_STATES, ("it is made", "`reelwright decline` keeps it out of its slot"))
    | dict.fromkeys(ENDED_STATES, ("its attempt has ended", "nothing runs; nothing is left to cancel"))
)


class Cancelled(enum.StrEnum):
    AT_ONCE = "cancelled"  #: nothing was sent; the attempt ended
    WANTED = "cancel_wanted"  #: it was sent; the provider is asked, its report decides
    ALREADY_WANTED = "already_wanted"


def cancel(database: Database, rendition_id: str, tenant: str, *, actor: str, reason: str) -> Cancelled:
    """Cancel the selected attempt of a rendition; a person's command takes its lease over.

    Raises `NotAllowed` when it ended or its bytes are owned, `UnknownSubject` for another tenant's.
    """

    def work(tx: Transaction) -> Cancelled:
        row = _selected(tx, rendition_id, tenant)
        state = _S(row.state)
        if state in _TOO_LATE:
            raise NotAllowed(rendition_id, *_TOO_LATE[state])
        unsent = row.submission == Submission.NOT_SENT
        if unsent and state in (_S.QUEUED, _S.SUBMITTING):
            ended(
                tx, row, _S.CANCELLED, Outcome.CANCELLED_BY_US, reason,
                actor=actor, hold=HoldFate.RELEASE, take_over=True,
            )  # fmt: skip
            return Cancelled.AT_ONCE
        return _want(tx, row, actor, reason)

    return database.run(work)


def _want(tx: Transaction, row: sa.Row[Any], actor: str, reason: str) -> Cancelled:
    """Without a known handle the wish is kept, and sent as soon as a look-up finds the job."""
    if row.cancel_wanted_at is not None:
        return Cancelled.ALREADY_WANTED
    facts: dict[str, Any] = {"cancel_wanted_at": tx.now}
    if row.state == _S.GENERATING:
        facts["next_poll_at"] = tx.now
    apply_one(
        tx,
        Transition(
            "attempt", row, None, actor, "cancel_wanted",
            facts=facts, detail={"reason": reason}, take_over=True,
        ),
    )  # fmt: skip
    return Cancelled.WANTED


def _selected(tx: Transaction, rendition_id: str, tenant: str) -> sa.Row[Any]:
    row = tx.connection.execute(
        sa.select(attempts)
        .join(renditions, renditions.c.selected_attempt == attempts.c.id)
        .where(renditions.c.id == rendition_id, renditions.c.tenant == tenant)
        .with_for_update(of=attempts)
    ).one_or_none()
    if row is None:
        raise UnknownSubject("rendition", rendition_id)
    return row
