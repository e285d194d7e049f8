"""Decisions: append-only, each with its policy version, reason and actor (I3, L6, T8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import decisions


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided about one subject. `round` counts reviews of the same subject."""

    kind: str  #: moderation, acceptance, review …
    subject_kind: str
    subject_id: str
    verdict: str
    reason: str
    actor: str
    policy_version: str = ""  #: empty for a person's own decision
    round: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)


def record_decision(tx: Transaction, tenant: str, one: Decision) -> None:
    tx.connection.execute(
        sa.insert(decisions).values(
            tenant=tenant,
            kind=one.kind,
            subject_kind=one.subject_kind,
            subject_id=one.subject_id,
            verdict=one.verdict,
            policy_version=one.policy_version,
            reason=one.reason,
            actor=one.actor,
            round=one.round,
            detail=dict(one.detail),
            operation_id=tx.operation_id,
            at=tx.now,
        )
    )


def newest_decision(
    connection: sa.Connection, kind: str, subject_kind: str, subject_id: str, verdict: str | None = None
) -> sa.Row[Any] | None:
    """The newest of that kind, or the newest with that verdict."""
    wanted = sa.select(decisions).where(
        decisions.c.kind == kind,
        decisions.c.subject_kind == subject_kind,
        decisions.c.subject_id == subject_id,
    )
    if verdict is not None:
        wanted = wanted.where(decisions.c.verdict == verdict)
    return connection.execute(wanted.order_by(decisions.c.id.desc()).limit(1)).one_or_none()
