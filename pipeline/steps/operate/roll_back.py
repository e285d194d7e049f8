"""Show an earlier output of a slot again (T6).

Belongs here: finding it, making it findable, and the one transaction that moves both pointers. Does not
belong here: making anything new; objects are not rewritten and the later output keeps its evidence.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import IndexUnavailable, LostRace, NotAllowed, UnknownSubject
from pipeline.domain.lifecycle import AttemptState
from pipeline.domain.outcomes import HoldFate
from pipeline.steps.produce.answers import ended
from pipeline.steps.produce.shown import candidate, shown
from pipeline.steps.produce.telling import Heard, tell
from pipeline.steps.produce.withdraw import tell_slots
from resources.database.database import Database, Transaction
from resources.database.index_entries import want_candidates
from resources.database.objects import hold_objects
from resources.database.outputs import DECLINE, outputs, serves, settings_of
from resources.database.planning import Want, lock_unsent, move_wants
from resources.database.publications import (
    PointerMove,
    PublicationMove,
    lock_slot,
    move_pointer,
    publication_of,
)
from resources.database.schema import slots
from resources.tag_index.protocol import TagIndex


class RolledBack(enum.StrEnum):
    MOVED = "moved"
    UNCHANGED = "unchanged"  #: the slot shows and wants it already


@dataclass(frozen=True, slots=True)
class Target:
    """An earlier publication of a slot: by its number there, or the newest one of a rendition."""

    number: int | None = None
    rendition: str | None = None

    def __str__(self) -> str:
        return f"publication {self.number}" if self.rendition is None else self.rendition


def roll_back(
    database: Database,
    index: TagIndex,
    slot_id: str,
    tenant: str,
    *,
    to: Target,
    actor: str,
    reason: str,
) -> RolledBack:
    """Show what *to* names in its slot again, and want it there until the next revision.

    Raises `UnknownSubject` (no such slot or publication), `NotAllowed` (it was declined or its bytes are
    gone), `IndexUnavailable` (searches would not find it; nothing was moved), `LostRace`.
    """
    slot, output = _find(database, slot_id, tenant, to)
    _require_showable(slot_id, to, output)
    if slot.published_object == output.object and slot.wanted_rendition == output.rendition:
        return RolledBack.UNCHANGED
    _make_visible(database, index, output)
    rolled = database.run(lambda tx: _move(tx, slot_id, output, to, actor, reason))
    tell_slots(database, index, [slot_id])
    return rolled


def _find(database: Database, slot_id: str, tenant: str, to: Target) -> tuple[sa.Row[Any], sa.Row[Any]]:
    """The slot, and how the output stands that *to* names."""
    with database.reading() as connection:
        slot = connection.execute(
            sa.select(slots).where(slots.c.id == slot_id, slots.c.tenant == tenant)
        ).one_or_none()
        if slot is None:
            raise UnknownSubject("slot", slot_id)
        earlier = publication_of(connection, slot_id, number=to.number, rendition=to.rendition)
        if earlier is None:
            remedy = "publications are numbered from 1; without --to the one before is shown"
            raise UnknownSubject("publication", f"{slot_id} {to}", remedy)
        return slot, outputs(connection, [earlier.attempt])[earlier.attempt]


def _require_showable(slot_id: str, to: Target, output: sa.Row[Any]) -> None:
    if not serves(output):
        raise NotAllowed(slot_id, f"the bytes of {to} were purged", "make a new one with `--take`")
    if output.verdict == DECLINE:
        raise NotAllowed(slot_id, f"{to} was declined", "accept it first")


def _make_visible(database: Database, index: TagIndex, output: sa.Row[Any]) -> None:
    """T1's order: searches find it as a candidate before the pointer moves."""
    with database.reading() as connection:
        now = database.clock(connection)
        wanted = candidate(output, settings_of(connection, [output], now)[output.campaign])
    database.run(lambda tx: want_candidates(tx, [wanted]))
    told = tell(database, index, [wanted.entry])[wanted.entry]
    if told.heard is not Heard.VISIBLE:
        raise IndexUnavailable(f"the tag index does not show {output.rendition}: {told.reason}")


def _move(
    tx: Transaction, slot_id: str, seen: sa.Row[Any], to: Target, actor: str, reason: str
) -> RolledBack:
    slot = lock_slot(tx, slot_id)
    assert slot is not None, "slots are never deleted"  # noqa: S101
    hold_objects(tx, [seen.object])
    output = outputs(tx.connection, [seen.attempt])[seen.attempt]
    _require_showable(slot_id, to, output)
    if slot.wanted_rendition != output.rendition:
        before = slot.wanted_rendition
        move_wants(tx, [Want(slot, output.rendition)], actor=actor, reason=reason)
        slot = lock_slot(tx, slot_id)
        assert slot is not None  # noqa: S101
        _cancel_unsent(tx, before, actor)
    if slot.published_object == output.object:
        return RolledBack.MOVED
    settings = settings_of(tx.connection, [output], tx.now)[output.campaign]
    move = PointerMove(slot, PublicationMove.ROLL_BACK, shown(output, settings), actor, reason)
    if not move_pointer(tx, move):
        raise LostRace("slot", slot_id, "stale")
    return RolledBack.MOVED


def _cancel_unsent(tx: Transaction, rendition_id: str | None, actor: str) -> None:
    """What was wanted until now and was not sent is not sent any more; what was sent runs on (L4)."""
    if rendition_id is None:
        return
    for row in lock_unsent(tx, [rendition_id]):
        ended(
            tx, row, AttemptState.CANCELLED, None, "unwanted",
            actor=actor, hold=HoldFate.RELEASE, take_over=True,
        )  # fmt: skip
