"""What slots show: the facts that decide about it, and the one guarded move of the pointer (T1, T6).

Belongs here: reading how outputs stand in their slots, moving the pointer with everything that must be in
its transaction. Does not belong here: whether an output should be shown (steps), or what the index says of
it afterwards (`index_entries`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Topic
from resources.database.batch_items import reached
from resources.database.counters import count_up
from resources.database.database import Transaction
from resources.database.index_entries import show_in_index
from resources.database.objects import SERVING_STATES
from resources.database.outputs import DECLINE, newest_verdict
from resources.database.schema import audit, objects, publications, renditions, slots, wishes
from resources.database.transitions import message, post


class PublicationMove(StrEnum):
    PUBLISH = "publish"
    ROLL_BACK = "roll_back"  #: to an earlier object of the slot
    RETAG = "retag"  #: the same object, changed required tags
    WITHDRAW = "withdraw"  #: to nothing


@dataclass(frozen=True, slots=True)
class Shown:
    """What a slot is to show, with the required tags under which it is shown."""

    rendition: str
    attempt: str
    object: str
    entry: str
    tags_version: int
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointerMove:
    """One wanted move. `slot` is the slot as it was read: its version is the compare-and-set."""

    slot: sa.Row[Any]
    move: PublicationMove
    to: Shown | None
    actor: str
    reason: str


def lock_slot(tx: Transaction, slot: str) -> sa.Row[Any] | None:
    """The slot's row, locked for this transaction. Slots are locked before attempts, everywhere."""
    return tx.connection.execute(sa.select(slots).where(slots.c.id == slot).with_for_update()).one_or_none()


def move_pointer(tx: Transaction, move: PointerMove) -> bool:
    """Move what a slot shows; False, and a count, when somebody else was first. Nothing else is written then.

    Holds only while the slot's version is the one that was read and the object serves undeclined; a
    `publish` also only while the slot wants this rendition and this attempt is the selected one (L4).
    """
    number = move.slot.version + 1
    changed = tx.connection.execute(
        sa.update(slots)
        .where(*_guards(move))
        .values(
            publication=_id(move, number) if move.to else None,
            published_rendition=move.to.rendition if move.to else None,
            published_object=move.to.object if move.to else None,
            version=number,
            entity_version=slots.c.entity_version + 1,
        )
    ).rowcount
    if changed != 1:
        count_up(tx, "slot_stale", move.slot.tenant)
        return False
    _keep(tx, move, number)
    entry, tags_version = (move.to.entry, move.to.tags_version) if move.to else (None, 0)
    show_in_index(tx, move.slot.id, entry, tags_version)
    _tell(tx, move, number)
    return True


def _guards(move: PointerMove) -> list[sa.ColumnElement[bool]]:
    guards: list[sa.ColumnElement[bool]] = [
        slots.c.id == move.slot.id,
        slots.c.version == move.slot.version,
    ]
    if move.to is None:
        return guards
    serves = sa.exists().where(objects.c.id == move.to.object, objects.c.state.in_(SERVING_STATES))
    verdict = newest_verdict(sa.literal(move.to.attempt))
    guards += [serves, sa.func.coalesce(verdict, "") != DECLINE]
    if move.move is PublicationMove.PUBLISH:
        selected = sa.exists().where(
            renditions.c.id == move.to.rendition, renditions.c.selected_attempt == move.to.attempt
        )
        guards += [slots.c.wanted_rendition == move.to.rendition, selected]
    return guards


def _id(move: PointerMove, number: int) -> str:
    return f"{move.slot.id}@{number}"


def _keep(tx: Transaction, move: PointerMove, number: int) -> None:
    """The publication that ends, the one that begins, and the link in the slot's audit chain."""
    shown = publications.c.slot == move.slot.id
    tx.connection.execute(
        sa.update(publications).where(shown, publications.c.until_at.is_(None)).values(until_at=tx.now)
    )
    to = move.to
    tx.connection.execute(
        sa.insert(publications).values(
            id=_id(move, number),
            tenant=move.slot.tenant,
            slot=move.slot.id,
            number=number,
            move=str(move.move),
            rendition=to and to.rendition,
            attempt=to and to.attempt,
            object=to and to.object,
            tags_version=to.tags_version if to else 0,
            tags=dict(to.tags) if to else {},
            from_at=tx.now,
            until_at=None,
            actor=move.actor,
            reason=move.reason,
            operation_id=tx.operation_id,
        )
    )
    tx.connection.execute(sa.insert(audit).values(_audit_row(tx, move, number)))


def _audit_row(tx: Transaction, move: PointerMove, number: int) -> dict[str, Any]:
    return {
        "tenant": move.slot.tenant,
        "subject_kind": "slot",
        "subject_id": move.slot.id,
        "from_state": move.slot.publication,
        "to_state": _id(move, number) if move.to else None,
        "version": number,
        "entity_version": move.slot.entity_version + 1,
        "operation_id": tx.operation_id,
        "actor": move.actor,
        "reason": move.reason,
        "detail": {"move": str(move.move), "object": move.to and move.to.object},
        "at": tx.now,
    }


def _tell(tx: Transaction, move: PointerMove, number: int) -> None:
    """Batch items that became usable, the campaign's partition, and its receipt once every wish is ready."""
    tenant, campaign = move.slot.tenant, move.slot.campaign
    messages = [message(tx, Topic.WISH_CHANGED, tenant, campaign, tx.operation_id)]
    if move.to is not None:
        reached(tx, "usable_at", [move.to.rendition])
        revisions = _all_ready(tx, move.slot.id)
        messages += [
            message(tx, Topic.CAMPAIGN_COMPLETE, tenant, revision, f"{move.slot.id}@{number}")
            for revision in revisions
        ]
    post(tx, messages)


def _all_ready(tx: Transaction, slot: str) -> Sequence[str]:
    """Revisions with a wish in *slot* of which every wish is shown in its slot now."""
    other = wishes.alias("other")
    where = slots.alias("place")
    waiting = (
        sa.exists()
        .where(
            other.c.revision == wishes.c.revision,
            where.c.id == other.c.slot,
            sa.or_(
                other.c.rendition.is_(None), where.c.published_rendition.is_distinct_from(other.c.rendition)
            ),
        )
        .correlate(wishes)
    )
    named = wishes.c.rendition.is_not(None)
    return tx.connection.scalars(
        sa.select(wishes.c.revision).where(wishes.c.slot == slot, named, ~waiting)
    ).all()


def publication_of(
    connection: sa.Connection, slot: str, *, number: int | None = None, rendition: str | None = None
) -> sa.Row[Any] | None:
    """The newest publication of *slot* that showed something, narrowed to one number or rendition."""
    wanted = sa.select(publications).where(publications.c.slot == slot, publications.c.object.is_not(None))
    if number is not None:
        wanted = wanted.where(publications.c.number == number)
    if rendition is not None:
        wanted = wanted.where(publications.c.rendition == rendition)
    return connection.execute(wanted.order_by(publications.c.number.desc()).limit(1)).one_or_none()


def published_of(connection: sa.Connection, slot: str) -> sa.Row[Any] | None:
    """The publication that *slot* shows now, with its campaign; None when it shows nothing."""
    return connection.execute(
        sa.select(publications, slots.c.campaign)
        .join(slots, slots.c.publication == publications.c.id)
        .where(slots.c.id == slot)
    ).one_or_none()
