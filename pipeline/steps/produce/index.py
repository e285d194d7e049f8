"""Keep the tag index true to the database: tell it whatever is due (T1, T6).

Belongs here: what is due, retags among it. Does not belong here: how an entry is built and told
(`telling`), or making a new output findable (`publish`).
"""

from __future__ import annotations

from collections import Counter

from pipeline.steps.produce.shown import shown
from pipeline.steps.produce.telling import tell
from resources.database.database import Database, Transaction
from resources.database.index_entries import CURRENT, due_entries
from resources.database.outputs import outputs, settings_of
from resources.database.publications import (
    PointerMove,
    PublicationMove,
    lock_slot,
    move_pointer,
    published_of,
)
from resources.tag_index.protocol import TagIndex

#: Entries that one bulk tells at most.
BULK = 500


def sync_index(
    database: Database, index: TagIndex, *, limit: int = BULK, actor: str = "indexer"
) -> Counter[str]:
    """Tell what is due, longest due first, at most *limit* entries; counts by `Heard`.

    Due is what a crash left between pointer and index, what was declined, deselected or withdrawn, and
    what was amended: a shown object whose required tags changed gets its retag first.
    """
    with database.reading() as connection:
        due = due_entries(connection, database.clock(connection), limit)
    for slot in sorted({entry.slot for entry in due if entry.standing == CURRENT}):
        if is_behind(database, slot):
            database.run(lambda tx, slot=slot: retag(tx, slot, actor))  # type: ignore[misc]
    told = tell(database, index, [entry.id for entry in due])
    return Counter(str(one.heard) for one in told.values())


def is_behind(database: Database, slot: str) -> bool:
    """Whether what the slot shows carries other required tags than hold now."""
    with database.reading() as connection:
        now_shown = published_of(connection, slot)
        if now_shown is None:
            return False
        settings = settings_of(connection, [now_shown], database.clock(connection))
        return bool(now_shown.tags_version != settings[now_shown.campaign].tags_version)


def retag(tx: Transaction, slot_id: str, actor: str) -> bool:
    """The same object under the tags that hold now; False for a slot that needs none, or moved meanwhile."""
    slot, now_shown = lock_slot(tx, slot_id), published_of(tx.connection, slot_id)
    if slot is None or now_shown is None:
        return False
    output = outputs(tx.connection, [now_shown.attempt])[now_shown.attempt]
    to = shown(output, settings_of(tx.connection, [output], tx.now)[output.campaign])
    if now_shown.tags_version == to.tags_version:
        return False
    return move_pointer(tx, PointerMove(slot, PublicationMove.RETAG, to, actor, "required_tags_amended"))
