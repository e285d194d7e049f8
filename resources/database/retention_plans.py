"""Plans of retention as rows: frozen, approved, worked through item by item.

Belongs here: statements over `retention_plans`, `retention_items`, `retention_approvals` and
`retention_exemptions`. Does not belong here: what goes into a plan (`steps.retain`), or moves of objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import AmbiguousName, UnknownSubject
from resources.database.database import Transaction
from resources.database.schema import (
    objects,
    retention_approvals,
    retention_exemptions,
    retention_items,
    retention_plans,
)
from resources.database.upsert import insert_for

PLANNED, MARKED, PURGING, PURGED = "planned", "marked", "purging", "purged"
SKIPPED, UNDONE = "skipped", "undone"
OPEN = (PLANNED, MARKED, PURGING)


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One thing that goes, as the plan saw it."""

    tenant: str
    what: str
    subject: str
    key: str
    campaign: str | None
    policy_row: str
    row_version: int
    approver: str
    reason: str
    anchor_at: int | None
    due_at: int | None
    size_bytes: int
    seen_version: int


def insert_plan(tx: Transaction, plan: Mapping[str, Any], items: Sequence[PlannedItem]) -> bool:
    """Keep a plan with its items; False when exactly this one is kept already."""
    insert = insert_for(tx.connection, retention_plans).values(**plan)
    kept = tx.connection.execute(insert.on_conflict_do_nothing()).rowcount
    if not kept or not items:
        return bool(kept)
    rows = [
        asdict(one) | {"plan": plan["id"], "number": number, "standing": PLANNED, "planned_at": tx.now}
        for number, one in enumerate(items, 1)
    ]
    tx.connection.execute(sa.insert(retention_items), rows)
    return True


def plan_named(connection: sa.Connection, name: str) -> sa.Row[Any]:
    """The plan whose hash begins with *name*; UnknownSubject, AmbiguousName."""
    wanted = sa.select(retention_plans).where(retention_plans.c.id.startswith(name, autoescape=True))
    found = connection.execute(wanted.order_by(retention_plans.c.id).limit(2)).all()
    if not found or len(name) < 8:
        raise UnknownSubject(
            "retention plan", name, "`reelwright retention status` names plans by their hash"
        )
    if len(found) > 1:
        raise AmbiguousName(name, [row.id for row in found], "use more of the hash")
    return found[0]


def locked_plan(tx: Transaction, plan: str) -> sa.Row[Any]:
    wanted = sa.select(retention_plans).where(retention_plans.c.id == plan).with_for_update()
    return tx.connection.execute(wanted).one()


def newest_plan(connection: sa.Connection, *, kind: str, before: int | None = None) -> sa.Row[Any] | None:
    wanted = sa.select(retention_plans).where(retention_plans.c.kind == kind)
    if before is not None:
        wanted = wanted.where(retention_plans.c.made_at < before)
    newest = wanted.order_by(retention_plans.c.made_at.desc(), retention_plans.c.id)
    return connection.execute(newest.limit(1)).one_or_none()


def recent_plans(connection: sa.Connection, limit: int) -> Sequence[sa.Row[Any]]:
    wanted = sa.select(retention_plans).order_by(retention_plans.c.made_at.desc(), retention_plans.c.id)
    return connection.execute(wanted.limit(limit)).all()


def open_plans(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    """Plans with an approval that are not worked through, the oldest first."""
    approved = sa.exists().where(retention_approvals.c.plan == retention_plans.c.id)
    wanted = sa.select(retention_plans).where(approved, retention_plans.c.ended_at.is_(None))
    return connection.execute(wanted.order_by(retention_plans.c.made_at, retention_plans.c.id)).all()


def items_of(
    connection: sa.Connection, plan: str, *, standing: Collection[str] = (), after: int = 0,
    limit: int | None = None,
) -> Sequence[sa.Row[Any]]:  # fmt: skip
    """Items of a plan by their number, those behind *after*, narrowed to some standings."""
    wanted = sa.select(retention_items).where(
        retention_items.c.plan == plan, retention_items.c.number > after
    )
    if standing:
        wanted = wanted.where(retention_items.c.standing.in_(standing))
    return connection.execute(wanted.order_by(retention_items.c.number).limit(limit)).all()


def due_items(
    connection: sa.Connection, now: int, limit: int, after: tuple[str, int]
) -> Sequence[sa.Row[Any]]:
    """Items whose purge has begun, or whose grace is over, plan by plan, behind *after*."""
    is_due = sa.or_(
        retention_items.c.standing == PURGING,
        sa.and_(retention_items.c.standing == MARKED, retention_items.c.purge_after <= now),
    )
    place = sa.tuple_(retention_items.c.plan, retention_items.c.number)
    wanted = sa.select(retention_items).where(is_due, place > after)
    return connection.execute(
        wanted.order_by(retention_items.c.plan, retention_items.c.number).limit(limit)
    ).all()


def items_about(connection: sa.Connection, subject: str) -> Sequence[sa.Row[Any]]:
    """Every plan's item about one object, by id or key, the newest first."""
    wanted = sa.select(retention_items).where(
        sa.or_(retention_items.c.subject == subject, retention_items.c.key == subject)
    )
    return connection.execute(wanted.order_by(retention_items.c.planned_at.desc())).all()


def counts_of(connection: sa.Connection, plan: str) -> Sequence[sa.Row[Any]]:
    """`standing`, `why`, `number` and `size_bytes` of a plan's items."""
    table = retention_items.c
    wanted = sa.select(
        table.standing, table.why, sa.func.count().label("number"),
        sa.func.sum(table.size_bytes).label("size_bytes"),
    ).where(table.plan == plan)  # fmt: skip
    grouped = wanted.group_by(table.standing, table.why).order_by(table.standing, table.why)
    return connection.execute(grouped).all()


def approve_plan(
    tx: Transaction, plan: str, roles: Collection[str], *, tenant: str, actor: str, reason: str
) -> None:
    insert = insert_for(tx.connection, retention_approvals)
    rows = [
        {"plan": plan, "role": role, "tenant": tenant, "actor": actor, "reason": reason, "at": tx.now}
        for role in sorted(roles)
    ]
    if rows:
        tx.connection.execute(insert.on_conflict_do_nothing(), rows)


def approvals_of(connection: sa.Connection, plan: str) -> Sequence[sa.Row[Any]]:
    wanted = sa.select(retention_approvals).where(retention_approvals.c.plan == plan)
    return connection.execute(wanted.order_by(retention_approvals.c.role)).all()


def approvers_wanted(connection: sa.Connection, plan: str) -> frozenset[str]:
    """Roles that the rows of a plan's items name."""
    wanted = sa.select(retention_items.c.approver).where(retention_items.c.plan == plan).distinct()
    return frozenset(connection.scalars(wanted))


def begin(tx: Transaction, plan: str) -> None:
    begun = sa.update(retention_plans).where(
        retention_plans.c.id == plan, retention_plans.c.begun_at.is_(None)
    )
    tx.connection.execute(begun.values(begun_at=tx.now))


def end_finished(tx: Transaction) -> int:
    """Note that plans of which no item is open any more are worked through."""
    is_open = sa.exists().where(
        retention_items.c.plan == retention_plans.c.id, retention_items.c.standing.in_(OPEN)
    )
    ended = sa.update(retention_plans).where(
        retention_plans.c.begun_at.is_not(None), retention_plans.c.ended_at.is_(None), ~is_open
    )
    return tx.connection.execute(ended.values(ended_at=tx.now)).rowcount


def settle(
    tx: Transaction,
    items: Collection[sa.Row[Any]],
    standing: str,
    why: Mapping[int, str | None] | None = None,
    **times: int | None,
) -> None:
    """Move items of one plan to *standing*; *why* by their number."""
    if not items:
        return
    said = {"to": standing, **{f"at_{name}": at for name, at in times.items()}}
    rows = [
        said | {"of": one.plan, "at_number": one.number, "because": (why or {}).get(one.number)}
        for one in items
    ]
    statement = (
        sa.update(retention_items)
        .where(
            retention_items.c.plan == sa.bindparam("of"),
            retention_items.c.number == sa.bindparam("at_number"),
        )
        .values(
            standing=sa.bindparam("to"),
            why=sa.bindparam("because"),
            **{name: sa.bindparam(f"at_{name}") for name in times},
        )
    )
    tx.connection.execute(statement, rows)


def exempt(
    tx: Transaction, subjects: Mapping[str, str], *, policy_version: str, actor: str, reason: str
) -> None:
    """Keep *subjects* (id -> tenant) under this version of the policy from now on."""
    rows = [
        {"subject": subject, "policy_version": policy_version, "tenant": tenant, "actor": actor,
         "reason": reason, "at": tx.now}
        for subject, tenant in sorted(subjects.items())
    ]  # fmt: skip
    if rows:
        insert = insert_for(tx.connection, retention_exemptions)
        tx.connection.execute(insert.on_conflict_do_nothing(), rows)


def exempted(connection: sa.Connection, policy_version: str) -> frozenset[str]:
    wanted = sa.select(retention_exemptions.c.subject)
    return frozenset(
        connection.scalars(wanted.where(retention_exemptions.c.policy_version == policy_version))
    )


def lock_objects(tx: Transaction, ids: Collection[str]) -> dict[str, sa.Row[Any]]:
    """Objects by id, locked in one order: nobody begins to need one until this transaction ends."""
    wanted = sa.select(objects).where(objects.c.id.in_(ids)).order_by(objects.c.id).with_for_update()
    return {row.id: row for row in tx.connection.execute(wanted)}


def lock_items(tx: Transaction, items: Collection[sa.Row[Any]], standing: str) -> list[sa.Row[Any]]:
    """Those of *items* that still stand so, as they are now, locked; objects are locked before items."""
    fresh: list[sa.Row[Any]] = []
    for plan in sorted({one.plan for one in items}):
        wanted = sa.select(retention_items).where(
            retention_items.c.plan == plan,
            retention_items.c.number.in_([one.number for one in items if one.plan == plan]),
            retention_items.c.standing == standing,
        )
        fresh += tx.connection.execute(wanted.order_by(retention_items.c.number).with_for_update()).all()
    return fresh
