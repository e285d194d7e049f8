"""Grants as rows: issued for what a slot shows, revoked until they are redeemed (A2).

Belongs here: those statements; they meet retention at the object's row. Does not belong here: who may be
granted what, or handing out bytes.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from resources.database.database import Transaction
from resources.database.objects import SERVING_STATES, hold_objects
from resources.database.schema import grants, objects, slots


def issue_grant(tx: Transaction, object_: str, *, issued_to: str, expires_at: int) -> str:
    """A grant for one published object; its id. It keeps the bytes until it is over (C4).

    Raises NotAllowed for an object that no slot shows, or that does not serve any more.
    """
    hold_objects(tx, [object_])
    row = tx.connection.execute(
        sa.select(objects.c.tenant).where(
            objects.c.id == object_,
            objects.c.state.in_(SERVING_STATES),
            sa.exists().where(slots.c.published_object == objects.c.id),
        )
    ).one_or_none()
    if row is None:
        raise NotAllowed(object_, "it is not published, or its bytes were purged")
    name = f"g-{uuid.uuid4().hex}"
    tx.connection.execute(
        sa.insert(grants).values(
            id=name, tenant=row.tenant, object=object_, issued_to=issued_to, issued_at=tx.now,
            expires_at=expires_at,
        )
    )  # fmt: skip
    return name


def revoke_grant(tx: Transaction, grant: str) -> bool:
    """End a grant that was not redeemed; False when it was, or ended before."""
    revoked = sa.update(grants).where(
        grants.c.id == grant, grants.c.redeemed_at.is_(None), grants.c.revoked_at.is_(None)
    )
    return tx.connection.execute(revoked.values(revoked_at=tx.now)).rowcount == 1


def oldest_end(connection: sa.Connection) -> int | None:
    """When the first of all grants that are kept was over."""
    found: int | None = connection.scalar(sa.select(sa.func.min(grants.c.expires_at)))
    return found


def prune_grants(tx: Transaction, before: int) -> int:
    """Remove grants that were over before *before*: they name who downloaded."""
    return tx.connection.execute(sa.delete(grants).where(grants.c.expires_at < before)).rowcount
