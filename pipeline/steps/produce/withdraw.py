"""Take outputs from view, and bring changed tags to those that are in view (T6).

Belongs here: the pointer's moves to nothing and to the same object. Does not belong here: moves to another
object (`publish`, `roll_back`), or deleting anything: objects and evidence stay.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace, UnknownSubject
from pipeline.steps.produce.index import tell
from pipeline.steps.produce.publish import settings_of, shown
from resources.database.database import Database, Transaction
from resources.database.index_entries import behind_settings, entries_of_slots, say_again
from resources.database.outputs import outputs
from resources.database.publications import (
    PointerMove,
    PublicationMove,
    lock_slot,
    move_pointer,
    published_of,
)
from resources.tag_index.protocol import TagIndex


def withdraw(
    database: Database, index: TagIndex, slot_id: str, tenant: str, *, actor: str, reason: str
) -> bool:
    """Show nothing in a slot; False when it shows nothing already. Nothing shows it again by itself.

    Raises `UnknownSubject` for a slot that is not this tenant's.
    """

    def work(tx: Transaction) -> bool:
        slot = lock_slot(tx, slot_id)
        if slot is None or slot.tenant != tenant:
            raise UnknownSubject("slot", slot_id)
        return withdraw_shown(tx, slot, actor=actor, reason=reason)

    withdrawn = database.run(work)
    if withdrawn:
        tell_slots(database, index, [slot_id])
    return withdrawn


def withdraw_shown(tx: Transaction, slot: sa.Row[Any], *, actor: str, reason: str) -> bool:
    """Move a locked slot's pointer to nothing; False when it is there already."""
    if slot.publication is None:
        return False
    if not move_pointer(tx, PointerMove(slot, PublicationMove.WITHDRAW, None, actor, reason)):
        raise LostRace("slot", slot.id, "stale")
    return True


def tell_slots(database: Database, index: TagIndex, slot_ids: Collection[str]) -> None:
    """Tell the index at once what changed in these slots; what it does not hear is due anyhow."""
    with database.reading() as connection:
        behind = entries_of_slots(connection, slot_ids)
    tell(database, index, behind)


def retag(
    database: Database,
    index: TagIndex,
    *,
    campaign: str | None = None,
    actor: str = "retagger",
    reason: str = "settings_amended",
) -> int:
    """Bring amended settings to what is in view: of one campaign, or of all; the number of changed entries.

    A shown object whose required tags changed gets a publication of its own; where only free tags or the
    title changed, the entry is told again. Idempotent, and cheap when nothing was amended.
    """
    with database.reading() as connection:
        behind = behind_settings(connection, campaign)
    for slot in sorted({entry.slot for entry in behind if entry.standing == "current"}):
        database.run(lambda tx, slot=slot: _retag_slot(tx, slot, actor, reason))  # type: ignore[misc]
    ids = [entry.id for entry in behind]
    database.run(lambda tx: say_again(tx, ids))
    tell(database, index, ids)
    return len(ids)


def _retag_slot(tx: Transaction, slot_id: str, actor: str, reason: str) -> None:
    slot = lock_slot(tx, slot_id)
    now_shown = published_of(tx.connection, [slot_id]).get(slot_id)
    if slot is None or now_shown is None:
        return
    output = outputs(tx.connection, [now_shown.attempt])[now_shown.attempt]
    settings = settings_of(tx.connection, [output], tx.now)[output.campaign]
    if now_shown.tags_version == settings.tags_version:
        return
    to = shown(output, settings)
    move_pointer(tx, PointerMove(slot, PublicationMove.RETAG, to, actor, reason))
