"""Objects at their end: orphans that get a row to be purged by, uses that end, who holds a key.

Belongs here: those statements. Does not belong here: moves of objects (they are transitions), or proof that
bytes are gone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import ObjectState
from resources.database.database import Transaction
from resources.database.objects import object_id
from resources.database.schema import object_uses, objects
from resources.database.upsert import insert_for

ORPHAN = "orphan"  #: the kind of a row that only exists so that its purge can be seen by others


def own_orphan(tx: Transaction, item: sa.Row[Any]) -> bool:
    """Take bytes that no row names, to purge them; False when some row names them by now.

    Whoever puts the same bytes meanwhile finds the key being purged, and comes again.
    """
    row = {
        "id": object_id(item.key, tx.now), "tenant": item.tenant, "campaign": None, "kind": ORPHAN,
        "retention_class": "", "key": item.key, "sha256": "", "size_bytes": item.size_bytes,
        "media_type": "application/octet-stream", "facts": {}, "state": str(ObjectState.PURGING),
        "created_at": tx.now,
    }  # fmt: skip
    insert = insert_for(tx.connection, objects).values(**row).on_conflict_do_nothing()
    return tx.connection.execute(insert).rowcount == 1


def purging_orphans(tx: Transaction, keys: Collection[str]) -> dict[str, str]:
    """Ids by key of orphans that are being purged."""
    wanted = sa.select(objects.c.key, objects.c.id).where(
        objects.c.key.in_(keys), objects.c.kind == ORPHAN, objects.c.state == str(ObjectState.PURGING)
    )
    return {row.key: row.id for row in tx.connection.execute(wanted)}


def end_uses(tx: Transaction, ids: Collection[str]) -> None:
    """Nobody uses, or pays for, these objects any more: their byte-time ends now."""
    tx.connection.execute(
        sa.update(object_uses)
        .where(object_uses.c.object.in_(ids), object_uses.c.until_at.is_(None))
        .values(until_at=tx.now)
    )


def holders_of(connection: sa.Connection, key: str) -> tuple[str, ...]:
    """Ids of unpurged objects that hold *key*."""
    wanted = sa.select(objects.c.id).where(objects.c.key == key, objects.c.state != str(ObjectState.PURGED))
    return tuple(connection.scalars(wanted))
