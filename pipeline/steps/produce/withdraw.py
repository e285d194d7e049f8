"""Take what a slot shows from view (T6).

Belongs here: the pointer's move to nothing. Does not belong here: moves to another object (`publish`,
`roll_back`), or deleting anything: objects and evidence stay.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace, UnknownSubject
from pipeline.steps.produce.telling import tell
from resources.database.database import Database, Transaction
from resources.database.index_entries import entries_of_slots
from resources.database.publications import (
    PointerMove,
    PublicationMove,
    lock_slot,
    move_pointer,
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
