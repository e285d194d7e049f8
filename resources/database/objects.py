"""Owned objects: rows for bytes that are durable in the store, who uses them, what they were made from.

Belongs here: registering bytes and finding the object that holds a key. Does not belong here: putting the
bytes there (`resources.object_store`), or choosing what is deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import ObjectState
from resources.database.database import Transaction
from resources.database.schema import object_parents, object_uses, objects
from resources.database.upsert import insert_for

#: In these the bytes are there and serve.
SERVING_STATES = (str(ObjectState.LIVE), str(ObjectState.MARKED))


@dataclass(frozen=True, slots=True)
class NewObject:
    """Bytes that lie durably under `key`."""

    tenant: str
    campaign: str | None
    kind: str  #: source, rendition, derivative
    retention_class: str
    key: str
    sha256: str
    size_bytes: int
    media_type: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def own(tx: Transaction, new: Sequence[NewObject]) -> dict[str, str]:
    """Register *new* and return object ids by key; a key that an unpurged object holds keeps that one."""
    if not new:
        return {}
    insert = insert_for(tx.connection, objects).on_conflict_do_nothing()
    tx.connection.execute(insert, [_row(tx, one) for one in new])
    held = sa.select(objects.c.key, objects.c.id).where(
        objects.c.key.in_([one.key for one in new]), objects.c.state != str(ObjectState.PURGED)
    )
    return {row.key: row.id for row in tx.connection.execute(held)}


def _row(tx: Transaction, one: NewObject) -> dict[str, Any]:
    return {
        "id": object_id(one.key, tx.now),
        "tenant": one.tenant,
        "campaign": one.campaign,
        "kind": one.kind,
        "retention_class": one.retention_class,
        "key": one.key,
        "sha256": one.sha256,
        "size_bytes": one.size_bytes,
        "media_type": one.media_type,
        "facts": dict(one.facts),
        "state": str(ObjectState.LIVE),
        "created_at": tx.now,
    }


def object_id(key: str, at: int) -> str:
    """A key may be filled again after a purge, and that is another object: hence the time."""
    return "o-" + hashlib.sha256(f"{key}\n{at}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Use:
    """Who needs an object, and pays for it."""

    object: str
    user_kind: str  #: source_asset, attempt
    user_id: str
    tenant: str


def use(tx: Transaction, uses: Iterable[Use]) -> None:
    """Record uses from now on; one that stands already stays as it is."""
    rows = [
        {
            "object": one.object,
            "user_kind": one.user_kind,
            "user_id": one.user_id,
            "tenant": one.tenant,
            "from_at": tx.now,
        }
        for one in uses
    ]
    if rows:
        tx.connection.execute(insert_for(tx.connection, object_uses).on_conflict_do_nothing(), rows)


def descend(tx: Transaction, tenant: str, parent: str, children: Collection[str]) -> None:
    """Record that *children* were made from *parent*."""
    rows = [{"object": child, "parent": parent, "tenant": tenant} for child in sorted(children)]
    if rows:
        tx.connection.execute(insert_for(tx.connection, object_parents).on_conflict_do_nothing(), rows)


def objects_by_id(connection: sa.Connection, ids: Collection[str]) -> dict[str, sa.Row[Any]]:
    found = connection.execute(sa.select(objects).where(objects.c.id.in_(ids)))
    return {row.id: row for row in found}


def hold_objects(tx: Transaction, ids: Collection[str]) -> None:
    """Keep retention from marking or purging *ids* until this transaction ends."""
    held = sa.select(objects.c.id).where(objects.c.id.in_(ids)).order_by(objects.c.id)
    tx.connection.execute(held.with_for_update(read=True)).all()


def plain(value: Any) -> Any:
    """Facts as JSON values: exact fractions as `25/1` text, frozen values as mappings."""
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [plain(item) for item in value]
    return value
