"""A person's verdict on a lost submission, and the write-off of what will never answer (G3, L1).

Belongs here: recording the decision and what follows at once. Does not belong here: finding out without
a person (`reconcile_unknown`).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.lifecycle import AttemptState, Submission
from pipeline.domain.outcomes import HoldFate, Outcome
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.produce.answers import bind, ended, not_sent
from pipeline.steps.produce.lot import ItemResult
from resources.database.database import Database, Transaction
from resources.database.schema import attempts, decisions
from resources.database.sends import settled_starts

_S = AttemptState


def accepted(
    database: Database,
    attempt: str,
    tenant: str,
    terms: ProviderTerms,
    *,
    handle: str,
    actor: str,
    reason: str,
) -> ItemResult:
    """The provider has it, under *handle*: it is polled from now on."""

    def work(tx: Transaction) -> ItemResult:
        row = _lost(tx, attempt, tenant)
        _decide(tx, row, "verdict", "accepted", reason, actor, {"handle": handle})
        return bind(
            tx, row, handle, terms, found_by="verdict", actor=actor, usage=settled_starts(tx, row),
            take_over=True,
        )  # fmt: skip

    return database.run(work)


def not_accepted(
    database: Database, attempt: str, tenant: str, terms: ProviderTerms, *, actor: str, reason: str
) -> ItemResult:
    """The provider never had it: the same attempt is sent again under its key."""

    def work(tx: Transaction) -> ItemResult:
        row = _lost(tx, attempt, tenant)
        _decide(tx, row, "verdict", "not_accepted", reason, actor, {})
        return not_sent(
            tx, row, terms, reason="verdict_not_accepted", actor=actor, usage=settled_starts(tx, row),
            take_over=True,
        )  # fmt: skip

    return database.run(work)


def write_off(database: Database, attempt: str, tenant: str, *, actor: str, reason: str) -> ItemResult:
    """Give an attempt up that was or may have been sent; its hold is settled in full as possible cost."""

    def work(tx: Transaction) -> ItemResult:
        row = _row(tx, attempt, tenant)
        is_lost = row.state == _S.SUBMITTING and row.submission == Submission.UNKNOWN
        if not is_lost and row.state != _S.GENERATING:
            raise NotAllowed(attempt, f"it is {row.state}", "only a sent attempt can be written off")
        _decide(tx, row, "write_off", "written_off", reason, actor, {})
        return ended(
            tx, row, _S.FAILED, Outcome.UNKNOWN, "written_off",
            actor=actor, hold=HoldFate.SETTLE, take_over=True, detail={"reason": reason},
        )  # fmt: skip

    return database.run(work)


def _lost(tx: Transaction, attempt: str, tenant: str) -> sa.Row[Any]:
    row = _row(tx, attempt, tenant)
    if row.state != _S.SUBMITTING or row.submission != Submission.UNKNOWN:
        raise NotAllowed(attempt, f"it is {row.state}, its submission {row.submission}", "nothing is lost")
    if row.lease_until > tx.now:
        raise NotAllowed(attempt, "its send is still under way", "try again in a minute")
    return row


def _row(tx: Transaction, attempt: str, tenant: str) -> sa.Row[Any]:
    row = tx.connection.execute(
        sa.select(attempts).where(attempts.c.id == attempt, attempts.c.tenant == tenant).with_for_update()
    ).one_or_none()
    if row is None:
        raise UnknownSubject("attempt", attempt)
    return row


def _decide(
    tx: Transaction,
    row: sa.Row[Any],
    kind: str,
    verdict: str,
    reason: str,
    actor: str,
    detail: dict[str, str],
) -> None:
    tx.connection.execute(
        sa.insert(decisions).values(
            tenant=row.tenant,
            kind=kind,
            subject_kind="attempt",
            subject_id=row.id,
            verdict=verdict,
            policy_version="",
            reason=reason,
            actor=actor,
            detail=detail,
            operation_id=tx.operation_id,
            at=tx.now,
        )
    )
