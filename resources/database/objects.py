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

from pipeline.domain.errors import StoreUnavailable
from pipeline.domain.lifecycle import ObjectState
from pipeline.domain.renditions import source_key
from resources.database.database import Transaction
from resources.database.schema import object_parents, object_uses, objects
from resources.database.upsert import insert_for

#: In these the bytes are there and serve.
SERVING_STATES = (str(ObjectState.LIVE), str(ObjectState.MARKED))
_PURGES = (str(ObjectState.PURGING), str(ObjectState.PURGED))

#: What helps where the originals were purged.
SOURCES_AGAIN = "deliver the images again under a new revision"


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
    purges_before: int = 0  #: of its key, read before the bytes were put there (`purges_of`)


def own(tx: Transaction, new: Sequence[NewObject]) -> dict[str, str]:
    """Register *new* and return object ids by key; a key that an unpurged object holds keeps that one.

    Raises StoreUnavailable (`purged_meanwhile`) when a purge of the key began or ended after the bytes were
    put: a put that found them there may have found what was about to go.
    """
    if not new:
        return {}
    insert = insert_for(tx.connection, objects).on_conflict_do_nothing()
    tx.connection.execute(insert, [_row(tx, one) for one in new])
    keys = [one.key for one in new]
    held = sa.select(objects.c.key, objects.c.id, objects.c.state).where(
        objects.c.key.in_(keys), objects.c.state != str(ObjectState.PURGED)
    )
    rows = tx.connection.execute(held.order_by(objects.c.id).with_for_update(read=True)).all()
    purges = purges_of(tx.connection, keys)
    for one in new:
        if purges.get(one.key, 0) != one.purges_before:
            raise StoreUnavailable("purged_meanwhile", f"{one.key} is or was being purged meanwhile")
    return {row.key: row.id for row in rows}


def purges_before_put(connection: sa.Connection, keys: Collection[str]) -> dict[str, int]:
    """`purges_of`, for whoever is about to put bytes under *keys*.

    Raises StoreUnavailable (`being_purged`) while one of them is being purged: its bytes are not to come back
    under a receipt that says they are gone.
    """
    purging = sa.select(objects.c.key).where(
        objects.c.key.in_(keys), objects.c.state == str(ObjectState.PURGING)
    )
    key = connection.scalar(purging.limit(1))
    if key is not None:
        raise StoreUnavailable("being_purged", f"{key} is being purged")
    return purges_of(connection, keys)


def purges_of(connection: sa.Connection, keys: Collection[str]) -> dict[str, int]:
    """How often each of *keys* was purged, one that is under way included; none where it never was."""
    wanted = (
        sa.select(objects.c.key, sa.func.count().label("number"))
        .where(objects.c.key.in_(keys), objects.c.state.in_(_PURGES))
        .group_by(objects.c.key)
    )
    return {row.key: row.number for row in connection.execute(wanted)}


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


def is_used(tx: Transaction, one: Use) -> bool:
    """Whether that use stands."""
    uses = object_uses.c
    wanted = sa.select(uses.object).where(
        uses.object == one.object, uses.user_kind == one.user_kind, uses.user_id == one.user_id
    )
    return tx.connection.scalar(wanted.where(uses.until_at.is_(None))) is not None


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


def hold_sources(tx: Transaction, tenant: str, sha256s: Collection[str]) -> bool:
    """Keep retention from purging these source assets until this transaction ends; False when one is gone."""
    keys = [source_key(tenant, sha256) for sha256 in sha256s]
    held = sa.select(objects.c.key, objects.c.state).where(objects.c.key.in_(keys))
    found = tx.connection.execute(held.order_by(objects.c.id).with_for_update(read=True)).all()
    return {row.key for row in found} == {row.key for row in found if row.state in SERVING_STATES}


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
