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

    @property
    def number(self) -> int:
        """Of the publication that it makes: moves of a slot are counted."""
        return int(self.slot.version) + 1

    @property
    def publication(self) -> str:
        return f"{self.slot.id}@{self.number}"


def lock_slot(tx: Transaction, slot: str) -> sa.Row[Any] | None:
    """The slot's row, locked for this transaction. Slots are locked before attempts, everywhere."""
    return tx.connection.execute(sa.select(slots).where(slots.c.id == slot).with_for_update()).one_or_none()


def move_pointer(tx: Transaction, move: PointerMove) -> bool:
    """As `move_pointers`, for one."""
    [moved] = move_pointers(tx, [move])
    return moved


def move_pointers(tx: Transaction, wanted: Sequence[PointerMove]) -> list[bool]:
    """Move what slots show, each once; False, and a count, where somebody else was first.

    A move holds only while the slot's version is the one that was read and the object serves undeclined; a
    `publish` also only while the slot wants this rendition and this attempt is the selected one (L4).
    Whatever must be in the same transaction is written for those that moved, and nothing for the others.
    """
    moved = [_move(tx, one) for one in wanted]
    done = [one for one, holds in zip(wanted, moved, strict=True) if holds]
    if done:
        _keep(tx, done)
        entries = [(one.to.entry, one.to.tags_version) for one in done if one.to]
        show_in_index(tx, [one.slot.id for one in done], entries)
        _tell(tx, done)
    return moved


def _move(tx: Transaction, one: PointerMove) -> bool:
    changed = tx.connection.execute(
        sa.update(slots)
        .where(*_guards(one))
        .values(
            publication=one.publication if one.to else None,
            published_rendition=one.to.rendition if one.to else None,
            published_object=one.to.object if one.to else None,
            version=one.number,
            entity_version=slots.c.entity_version + 1,
        )
    ).rowcount
    if changed != 1:
        count_up(tx, "slot_stale", one.slot.tenant)
    return changed == 1


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


def _keep(tx: Transaction, moves: Sequence[PointerMove]) -> None:
    """The publications that end, those that begin, and a link in each slot's audit chain."""
    ended = publications.c.slot.in_([one.slot.id for one in moves])
    tx.connection.execute(
        sa.update(publications).where(ended, publications.c.until_at.is_(None)).values(until_at=tx.now)
    )
    tx.connection.execute(sa.insert(publications), [_publication_row(tx, one) for one in moves])
    tx.connection.execute(sa.insert(audit), [_audit_row(tx, one) for one in moves])


def _publication_row(tx: Transaction, one: PointerMove) -> dict[str, Any]:
    to = one.to
    return {
        "id": one.publication,
        "tenant": one.slot.tenant,
        "slot": one.slot.id,
        "number": one.number,
        "move": str(one.move),
        "rendition": to and to.rendition,
        "attempt": to and to.attempt,
        "object": to and to.object,
        "tags_version": to.tags_version if to else 0,
        "tags": dict(to.tags) if to else {},
        "from_at": tx.now,
        "until_at": None,
        "actor": one.actor,
        "reason": one.reason,
        "operation_id": tx.operation_id,
    }


def _audit_row(tx: Transaction, one: PointerMove) -> dict[str, Any]:
    return {
        "tenant": one.slot.tenant,
        "subject_kind": "slot",
        "subject_id": one.slot.id,
        "from_state": one.slot.publication,
        "to_state": one.publication if one.to else None,
        "version": one.number,
        "entity_version": one.slot.entity_version + 1,
        "operation_id": tx.operation_id,
        "actor": one.actor,
        "reason": one.reason,
        "detail": {"move": str(one.move), "object": one.to and one.to.object},
        "at": tx.now,
    }


def _tell(tx: Transaction, moves: Sequence[PointerMove]) -> None:
    """Batch items that became usable, the campaigns' partitions, and receipts once every wish is ready."""
    shows = [one for one in moves if one.to]
    reached(tx, "usable_at", {one.to.rendition for one in shows if one.to})
    campaigns = {(one.slot.tenant, one.slot.campaign) for one in moves}
    messages = [
        message(tx, Topic.WISH_CHANGED, tenant, campaign, tx.operation_id) for tenant, campaign in campaigns
    ]
    messages += [
        message(tx, Topic.CAMPAIGN_COMPLETE, ready.tenant, ready.revision, tx.operation_id)
        for ready in _all_ready(tx, [one.slot.id for one in shows])
    ]
    post(tx, messages)


def _all_ready(tx: Transaction, slot_ids: Sequence[str]) -> Sequence[sa.Row[Any]]:
    """Revisions (`revision`, `tenant`) with a wish in these slots of which every wish is shown now."""
    touched = (
        sa.select(wishes.c.revision, wishes.c.tenant)
        .where(wishes.c.slot.in_(slot_ids), wishes.c.rendition.is_not(None))
        .distinct()
        .subquery()
    )
    ready: sa.Select[Any] = sa.select(touched).where(~_waits(touched.c.revision))
    return tx.connection.execute(ready).all()


def _waits(revision: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Whether a wish of *revision* is not shown in its slot."""
    place = slots.alias("place")
    is_elsewhere = place.c.published_rendition.is_distinct_from(wishes.c.rendition)
    return sa.exists().where(
        wishes.c.revision == revision,
        place.c.id == wishes.c.slot,
        sa.or_(wishes.c.rendition.is_(None), is_elsewhere),
    )


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
