"""Pauses: claims held per stage, provider and tenant; `*` stands for all (L9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import pauses

ALL = "*"


def active_pauses(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    return connection.execute(
        sa.select(pauses).where(pauses.c.resumed_at.is_(None)).order_by(pauses.c.id)
    ).all()


def pause(tx: Transaction, *, stage: str, provider: str, tenant: str, actor: str, reason: str) -> bool:
    """Hold claims of that scope; False when exactly that is held already."""
    if tx.connection.scalar(sa.select(pauses.c.id).where(_open(stage, provider, tenant))):
        return False
    tx.connection.execute(
        sa.insert(pauses).values(
            stage=stage,
            provider=provider,
            tenant=tenant,
            paused_by=actor,
            reason=reason,
            paused_at=tx.now,
        )
    )
    return True


def resume(tx: Transaction, *, stage: str, provider: str, tenant: str, actor: str) -> bool:
    """End the pause of exactly that scope; False when there is none."""
    ended = tx.connection.execute(
        sa.update(pauses).where(_open(stage, provider, tenant)).values(resumed_by=actor, resumed_at=tx.now)
    )
    return ended.rowcount > 0


def is_paused(held: Sequence[sa.Row[Any]], stage: str, provider: str, tenant: str) -> bool:
    """Whether one of *held* covers work of that stage, provider and tenant."""
    return any(
        row.stage in (stage, ALL) and row.provider in (provider, ALL) and row.tenant in (tenant, ALL)
        for row in held
    )


def pausing(
    stage: str, provider: sa.ColumnElement[str], tenant: sa.ColumnElement[str]
) -> sa.ColumnElement[bool]:
    """SQL: a pause covers *stage* for the provider and the tenant that stand in these columns."""
    return sa.exists().where(
        pauses.c.resumed_at.is_(None),
        pauses.c.stage.in_([str(stage), ALL]),
        pauses.c.provider.in_([provider, ALL]),
        pauses.c.tenant.in_([tenant, ALL]),
    )


def _open(stage: str, provider: str, tenant: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        pauses.c.resumed_at.is_(None),
        pauses.c.stage == stage,
        pauses.c.provider == provider,
        pauses.c.tenant == tenant,
    )
