"""What the tag index should say of every output, and how far it is known to say so (T1).

Belongs here: standings and their counters, what is due for the index, the required tags that hold. Does
not belong here: writing to an index (`pipeline.steps.produce.sync`), or text and tokens.

An entry's `version` rises with every change of what it should say and is the version that the index
compares; while `synced_version` lags behind it, the entry is due.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import (
    campaigns,
    index_entries,
    objects,
    publications,
    renditions,
    slots,
)
from resources.database.upsert import insert_for

#: Whoever wants a candidate tells the index at once; what one that died leaves is due after this long.
TOLD_WITHIN = 60 * 1_000_000

CANDIDATE, CURRENT, TOMBSTONE = "candidate", "current", "tombstone"

#: What a change of an entry sets beside its standing: a newer version, due at once, nothing refused yet.
_RISES = {"version": index_entries.c.version + 1, "tries": 0, "refused_reason": None}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output that searches may find before its slot shows it."""

    entry: str
    tenant: str
    campaign: str
    slot: str
    rendition: str
    attempt: str
    object: str
    tags_version: int


def want_candidates(tx: Transaction, wanted: Sequence[Candidate]) -> None:
    """Each of *wanted* is to be found; an entry that was taken away comes back, any other stays as it is."""
    if not wanted:
        return
    insert = insert_for(tx.connection, index_entries)
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["id"],
            set_={
                **_RISES,
                "standing": CANDIDATE,
                "tags_version": insert.excluded.tags_version,
                "next_action_at": insert.excluded.next_action_at,
            },
            where=index_entries.c.standing == TOMBSTONE,
        ),
        [
            {
                "id": one.entry,
                "tenant": one.tenant,
                "campaign": one.campaign,
                "slot": one.slot,
                "rendition": one.rendition,
                "attempt": one.attempt,
                "object": one.object,
                "standing": CANDIDATE,
                "version": 1,
                "tags_version": one.tags_version,
                "next_action_at": tx.now + TOLD_WITHIN,
            }
            for one in wanted
        ],
    )


def show_in_index(tx: Transaction, slot_ids: Collection[str], entries: Sequence[tuple[str, int]]) -> None:
    """*entries* (entry, tags version) become current, every other one of *slot_ids* is to go: due now."""
    of_slots = index_entries.c.slot.in_(slot_ids)
    gone = sa.and_(
        index_entries.c.standing == CURRENT, index_entries.c.id.not_in([name for name, _ in entries])
    )
    tx.connection.execute(
        sa.update(index_entries)
        .where(of_slots, gone)
        .values(standing=TOMBSTONE, next_action_at=tx.now, **_RISES)
    )
    if entries:
        tags_version: sa.BindParameter[int] = sa.bindparam("tags")
        tx.connection.execute(
            sa.update(index_entries)
            .where(index_entries.c.id == sa.bindparam("entry"))
            .values(standing=CURRENT, tags_version=tags_version, next_action_at=tx.now, **_RISES),
            [{"entry": name, "tags": version} for name, version in entries],
        )


def take_from_index(tx: Transaction, attempt: sa.Row[Any]) -> None:
    """The candidate of *attempt* is to go; what a slot shows stays until the pointer moves."""
    of_attempt = sa.and_(
        index_entries.c.rendition == attempt.rendition, index_entries.c.attempt == attempt.id
    )
    tx.connection.execute(
        sa.update(index_entries)
        .where(of_attempt, index_entries.c.standing == CANDIDATE)
        .values(standing=TOMBSTONE, next_action_at=tx.now, **_RISES)
    )


def take_objects_from_index(tx: Transaction, object_ids: Collection[str]) -> None:
    """The entries of these objects are to go: nobody is to find what is about to be purged."""
    of_objects = index_entries.c.object.in_(object_ids)
    tx.connection.execute(
        sa.update(index_entries)
        .where(of_objects, index_entries.c.standing != TOMBSTONE)
        .values(standing=TOMBSTONE, next_action_at=tx.now, **_RISES)
    )


def entries_of_objects(connection: sa.Connection, object_ids: Collection[str]) -> dict[str, list[str]]:
    """By object, its entries that the index is still to be told about."""
    behind = sa.select(index_entries.c.object, index_entries.c.id).where(
        index_entries.c.object.in_(object_ids), index_entries.c.synced_version < index_entries.c.version
    )
    found: dict[str, list[str]] = {}
    for row in connection.execute(behind):
        found.setdefault(row.object, []).append(row.id)
    return found


def say_again(tx: Transaction, entry_ids: Collection[str]) -> None:
    """What these entries say has changed: the index is to be told."""
    _say_again(tx, index_entries.c.id.in_(entry_ids))


def say_campaign_again(tx: Transaction, campaign: str) -> None:
    """What the entries of *campaign* say has changed (its tags or title were amended)."""
    _say_again(tx, index_entries.c.campaign == campaign)


def _say_again(tx: Transaction, which: sa.ColumnElement[bool]) -> None:
    tx.connection.execute(
        sa.update(index_entries)
        .where(which, index_entries.c.standing != TOMBSTONE)
        .values(next_action_at=tx.now, **_RISES)
    )


def entry_rows(connection: sa.Connection, entry_ids: Collection[str]) -> dict[str, sa.Row[Any]]:
    """Entries by id, with rendition, object and campaign columns, and `shown_tags`: the required tags of
    the publication that shows the entry's object, None while nothing does."""
    is_shown = sa.and_(
        slots.c.id == index_entries.c.slot,
        slots.c.published_rendition == index_entries.c.rendition,
        slots.c.published_object == index_entries.c.object,
    )
    found = connection.execute(
        sa.select(
            index_entries,
            renditions.c.locale,
            renditions.c.copy,
            campaigns.c.title,
            objects.c.created_at,
            objects.c.key,
            publications.c.tags.label("shown_tags"),
        )
        .join(renditions, renditions.c.id == index_entries.c.rendition)
        .join(campaigns, campaigns.c.id == index_entries.c.campaign)
        .join(objects, objects.c.id == index_entries.c.object)
        .outerjoin(slots, is_shown)
        .outerjoin(publications, publications.c.id == slots.c.publication)
        .where(index_entries.c.id.in_(entry_ids))
    )
    return {row.id: row for row in found}


def entry_ids_after(connection: sa.Connection, after: str, limit: int) -> Sequence[str]:
    """Ids of the entries behind *after*, in their order: a walk over all, tombstones among them."""
    wanted = sa.select(index_entries.c.id).where(index_entries.c.id > after).order_by(index_entries.c.id)
    return connection.scalars(wanted.limit(limit)).all()


def due_entries(connection: sa.Connection, now: int, limit: int) -> Sequence[sa.Row[Any]]:
    """`id`, `slot` and `standing` of entries that the index is to be told about, longest due first."""
    wanted: sa.Select[Any] = sa.select(
        index_entries.c.id, index_entries.c.slot, index_entries.c.standing
    ).where(index_entries.c.next_action_at <= now, index_entries.c.synced_version < index_entries.c.version)
    return connection.execute(wanted.order_by(index_entries.c.next_action_at).limit(limit)).all()


def synced(tx: Transaction, versions: Sequence[tuple[str, int]]) -> None:
    """The index says what each entry said at that version; one that changed meanwhile stays due."""
    if not versions:
        return
    entry: sa.BindParameter[str] = sa.bindparam("entry")
    version: sa.BindParameter[int] = sa.bindparam("seen")
    is_newest = index_entries.c.version == version
    tx.connection.execute(
        sa.update(index_entries)
        .where(index_entries.c.id == entry, index_entries.c.synced_version < version)
        .values(
            synced_version=version,
            next_action_at=sa.case((is_newest, sa.null()), else_=index_entries.c.next_action_at),
            tries=sa.case((is_newest, 0), else_=index_entries.c.tries),
        ),
        [{"entry": name, "seen": number} for name, number in versions],
    )


def not_synced(
    tx: Transaction, entry: str, version: int, *, due_at: int | None, refused_reason: str | None = None
) -> None:
    """The index did not take that version: tried again at *due_at*, or never when it refused for good."""
    tx.connection.execute(
        sa.update(index_entries)
        .where(index_entries.c.id == entry, index_entries.c.version == version)
        .values(tries=index_entries.c.tries + 1, next_action_at=due_at, refused_reason=refused_reason)
    )


def shown_entries(connection: sa.Connection, entry_ids: Collection[str]) -> dict[str, sa.Row[Any]]:
    """Those of *entry_ids* whose object their slot shows now, by id, with key and required tags as shown."""
    is_shown = sa.and_(
        slots.c.id == index_entries.c.slot,
        slots.c.published_rendition == index_entries.c.rendition,
        slots.c.published_object == index_entries.c.object,
    )
    found = connection.execute(
        sa.select(index_entries, slots.c.publication, objects.c.key)
        .join(slots, is_shown)
        .join(objects, objects.c.id == index_entries.c.object)
        .where(index_entries.c.id.in_(entry_ids))
    )
    return {row.id: row for row in found}


def slots_in_hand_over(connection: sa.Connection, tenant: str) -> int:
    """Slots whose pointer has moved and whose entries in the index have not followed yet."""
    lagging = sa.select(sa.func.count(sa.distinct(index_entries.c.slot))).where(
        index_entries.c.tenant == tenant,
        index_entries.c.standing.in_([CURRENT, TOMBSTONE]),
        index_entries.c.next_action_at.is_not(None),  # indexed: a search must not read every entry
        index_entries.c.synced_version < index_entries.c.version,
    )
    return int(connection.scalar(lagging) or 0)


def entries_of_slots(connection: sa.Connection, slot_ids: Collection[str]) -> Sequence[str]:
    """Ids of the entries of these slots that the index is to be told about."""
    behind = sa.select(index_entries.c.id).where(
        index_entries.c.slot.in_(slot_ids), index_entries.c.synced_version < index_entries.c.version
    )
    return connection.scalars(behind).all()
