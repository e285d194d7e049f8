"""Legal holds: what nobody may purge until they are released. Not the holds of a budget (`budgets`).

Belongs here: placing, releasing, and what an active hold reaches. Does not belong here: the verdict
(`pipeline.domain.retention`), or who may place one.

A hold and the transaction in which a purge begins meet at one row: whoever comes second sees the other. So
a hold that was placed is kept by every purge that begins after it, and says of others that it came too late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.renditions import source_key
from pipeline.domain.retention import Held, Scope
from resources.database.database import Transaction
from resources.database.schema import (
    attempts,
    campaigns,
    legal_holds,
    object_parents,
    object_uses,
    objects,
    renditions,
    retention_heads,
    source_assets,
)

HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class NewHold:
    tenant: str
    matter: str
    scope: Scope
    subject: str  #: the tenant, or the id of a campaign, rendition or source asset
    actor: str
    reason: str


def place_hold(tx: Transaction, new: NewHold) -> str:
    """Place a hold; its id. The same matter over the same subject twice is one."""
    meet_purges(tx)
    active = sa.select(legal_holds.c.id).where(
        legal_holds.c.tenant == new.tenant,
        legal_holds.c.matter == new.matter,
        legal_holds.c.scope == str(new.scope),
        legal_holds.c.subject == new.subject,
        legal_holds.c.released_at.is_(None),
    )
    found = tx.connection.scalar(active)
    if found is not None:
        return str(found)
    said = f"{new.tenant}\n{new.matter}\n{new.scope}\n{new.subject}\n{tx.operation_id}"
    name = "h-" + hashlib.sha256(said.encode()).hexdigest()[:12]
    tx.connection.execute(
        sa.insert(legal_holds).values(
            id=name,
            tenant=new.tenant,
            matter=new.matter,
            scope=str(new.scope),
            subject=new.subject,
            placed_by=new.actor,
            reason=new.reason,
            placed_at=tx.now,
        )
    )
    return name


def release_hold(tx: Transaction, hold: str, *, actor: str, reason: str) -> bool:
    """End a hold; False when it is over or was never placed."""
    ended = tx.connection.execute(
        sa.update(legal_holds)
        .where(legal_holds.c.id == hold, legal_holds.c.released_at.is_(None))
        .values(released_by=actor, release_reason=reason, released_at=tx.now)
    )
    return ended.rowcount == 1


def all_holds(connection: sa.Connection, *, active: bool) -> Sequence[sa.Row[Any]]:
    wanted = sa.select(legal_holds).order_by(legal_holds.c.placed_at, legal_holds.c.id)
    return connection.execute(wanted.where(legal_holds.c.released_at.is_(None)) if active else wanted).all()


def active_holds(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    return all_holds(connection, active=True)


def meet_purges(tx: Transaction) -> None:
    """Wait for every purge that has begun, and let none begin until this transaction ends."""
    held = sa.select(retention_heads.c.name).where(retention_heads.c.name == HOLDS)
    tx.connection.execute(held.with_for_update()).all()


def meet_holds(tx: Transaction) -> None:
    """Let no hold be placed until this transaction ends; purges do not wait for each other here."""
    held = sa.select(retention_heads.c.name).where(retention_heads.c.name == HOLDS)
    tx.connection.execute(held.with_for_update(read=True)).all()


def resolve(connection: sa.Connection, holds: Sequence[sa.Row[Any]]) -> Held:
    """What *holds* reach. A rendition reaches its sources, a source asset what was made of it."""
    tenants = {row.tenant: row.matter for row in holds if row.scope == Scope.TENANT}
    of_campaigns = {row.subject: row.matter for row in holds if row.scope == Scope.CAMPAIGN}
    found: dict[str, str] = {}
    for row in holds:
        if row.scope == Scope.RENDITION:
            found |= dict.fromkeys(objects_of_rendition(connection, row.subject), row.matter)
        if row.scope == Scope.SOURCE_ASSET:
            found |= dict.fromkeys(objects_of_source(connection, row.subject), row.matter)
    return Held(tenants, of_campaigns, found, {row.tenant: row.matter for row in holds})


def objects_of_rendition(connection: sa.Connection, rendition: str) -> list[str]:
    """Its videos, and the originals of its sources."""
    videos = sa.select(attempts.c.object).where(
        attempts.c.rendition == rendition, attempts.c.object.is_not(None)
    )
    found = [str(name) for name in connection.scalars(videos)]
    row = connection.execute(sa.select(renditions).where(renditions.c.id == rendition)).one_or_none()
    keys = [source_key(row.tenant, sha256) for sha256 in row.sources] if row else []
    return found + list(connection.scalars(sa.select(objects.c.id).where(objects.c.key.in_(keys))))


def objects_of_source(connection: sa.Connection, asset: str) -> list[str]:
    """A source asset's original, and every video that was made of it."""
    tenant, _, sha256 = asset.partition("/")
    original = sa.select(objects.c.id).where(objects.c.key == source_key(tenant, sha256))
    made = (
        sa.select(attempts.c.object)
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .where(
            renditions.c.tenant == tenant,
            sa.cast(renditions.c.sources, sa.Text).like(f'%"{sha256}"%'),
            attempts.c.object.is_not(None),
        )
    )
    return [str(name) for query in (original, made) for name in connection.scalars(query)]


def pictures_of(connection: sa.Connection, masters: Sequence[str]) -> list[str]:
    """What was made from *masters*: by their parents, or by the attempts that show them."""
    by_parent = sa.select(object_parents.c.object).where(object_parents.c.parent.in_(masters))
    by_use = (
        sa.select(object_uses.c.object)
        .join(attempts, attempts.c.id == object_uses.c.user_id)
        .where(object_uses.c.user_kind == "attempt", attempts.c.object.in_(masters))
    )
    found = [str(name) for query in (by_parent, by_use) for name in connection.scalars(query)]
    return sorted(set(found) - set(masters))


def exists(connection: sa.Connection, tenant: str, scope: Scope, subject: str) -> bool:
    """Whether *subject* is something of *tenant* that a hold or an erasure can name."""
    table = {
        Scope.TENANT: campaigns, Scope.CAMPAIGN: campaigns, Scope.RENDITION: renditions,
        Scope.SOURCE_ASSET: source_assets,
    }[scope]  # fmt: skip
    wanted = sa.select(sa.literal(1)).where(table.c.tenant == tenant)
    if scope is not Scope.TENANT:
        wanted = wanted.where(table.c.id == subject)
    return connection.scalar(wanted.limit(1)) is not None
