"""What retention says of itself: plans with how far they are, and what a plan would change (C2).

Belongs here: reading that together. Does not belong here: printing it, or any deed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.steps.retain.approve import missing_roles
from pipeline.steps.retain.retaining import utc
from resources.database import retention_plans as rows
from resources.database.database import Database

#: Items that are named; the plan itself holds them all.
NAMED = 200


@dataclass(frozen=True, slots=True)
class ItemView:
    what: str
    subject: str
    campaign: str | None
    size_bytes: int
    reason: str
    policy_row: str
    since: datetime | None  #: the event that the duration counts from
    due: datetime | None
    standing: str
    why: str | None
    purge_after: datetime | None


@dataclass(frozen=True, slots=True)
class PlanView:
    """One plan for people. `standings`: how many items stand where, and why."""

    plan: str
    kind: str
    scope: str | None
    made_at: datetime
    made_by: str
    policy_version: str
    items: int
    size_bytes: int
    monthly_saving: int
    currency: str | None
    state: str  #: refused, waits for approval, approved, running, done
    refused: str | None
    approved_by: tuple[str, ...]
    missing: tuple[str, ...]
    begun_at: datetime | None
    ended_at: datetime | None
    standings: tuple[tuple[str, str | None, int], ...]
    kept: tuple[dict[str, Any], ...]
    named: tuple[ItemView, ...] = ()


def view(connection: sa.Connection, plan: sa.Row[Any], named: int = NAMED) -> PlanView:
    approvals = rows.approvals_of(connection, plan.id)
    items = rows.items_of(connection, plan.id, limit=named) if named else ()
    missing = missing_roles(connection, plan.id)
    return PlanView(
        plan=plan.id,
        kind=plan.kind,
        scope=plan.scope,
        made_at=utc(plan.made_at),
        made_by=plan.made_by,
        policy_version=plan.policy_version,
        items=plan.items,
        size_bytes=plan.size_bytes,
        monthly_saving=plan.monthly_saving,
        currency=plan.currency,
        state=_state(plan, is_approved=bool(approvals) and not missing),
        refused=plan.refused,
        approved_by=tuple(f"{row.actor} as {row.role}" for row in approvals),
        missing=missing,
        begun_at=_time(plan.begun_at),
        ended_at=_time(plan.ended_at),
        standings=tuple((row.standing, row.why, row.number) for row in rows.counts_of(connection, plan.id)),
        kept=tuple(plan.kept),
        named=tuple(_item(row) for row in items),
    )


def _state(plan: sa.Row[Any], *, is_approved: bool) -> str:
    """The first that holds."""
    facts = (
        (plan.refused, "refused"),
        (plan.ended_at, "done"),
        (plan.begun_at, "running"),
        (is_approved, "approved"),
    )
    return next((word for holds, word in facts if holds), "waits for approval")


def one_plan(database: Database, name: str) -> PlanView:
    with database.reading() as connection:
        return view(connection, rows.plan_named(connection, name))


def newest(database: Database, limit: int = 10) -> Sequence[PlanView]:
    with database.reading() as connection:
        return [view(connection, row, 0) for row in rows.recent_plans(connection, limit)]


def subjects_of(database: Database, name: str) -> list[str]:
    with database.reading() as connection:
        plan = rows.plan_named(connection, name)
        return [row.subject for row in rows.items_of(connection, plan.id)]


def _item(row: sa.Row[Any]) -> ItemView:
    return ItemView(
        row.what, row.subject, row.campaign, row.size_bytes, row.reason,
        f"{row.policy_row}@{row.row_version}", _time(row.anchor_at), _time(row.due_at),
        row.standing, row.why, _time(row.purge_after),
    )  # fmt: skip


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else utc(micros)
