"""Republish what is shown under older required tags: a retag of each slot, the same object (E3, T6).

Belongs here: which slots, and seeing that the index follows. Does not belong here: the retag itself
(`produce.index`).

A slot has no lease: its version decides, so that a lot that shows something newer meanwhile wins.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.steps.operate.backfilled import SKIPPED, BackfillReport
from pipeline.steps.produce.index import BULK, is_behind, retag
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.telling import tell
from resources.adapters import Adapters
from resources.database.backfill import campaigns_named, slots_with_other_tags
from resources.database.database import Database
from resources.database.index_entries import entries_of_slots
from resources.database.settings import in_force

RETAGGED, TAGGED_MEANWHILE = "retagged", "tagged_meanwhile"


def republish(
    adapters: Adapters, campaigns: Collection[str] | None = None, *, actor: str = "backfill"
) -> BackfillReport:
    """Retag every slot of *campaigns* (None: all) that shows its object under older required tags.

    Words: `retagged`, `tagged_meanwhile` (somebody else was first), `skipped` (its pointer cannot move to the
    same object now; named in `left`). Raises UnknownSubject for a strange campaign.
    """
    began, database = time.monotonic(), adapters.database
    results: list[ItemResult] = []
    for campaign, behind in _behind(database, campaigns):
        results += [_retag(database, campaign, slot, actor) for slot in behind]
        _tell(adapters, [slot.id for slot in behind])
    return BackfillReport("tags", tuple(results), time.monotonic() - began)


def _behind(database: Database, campaigns: Collection[str] | None) -> list[tuple[str, Sequence[sa.Row[Any]]]]:
    found = []
    with database.reading() as connection:
        now = database.clock(connection)
        for campaign in campaigns_named(connection, campaigns):
            settings = in_force(connection, campaign, now)
            if settings is not None:
                slots = slots_with_other_tags(connection, campaign, settings.tags_version)
                found.append((campaign, slots))
    return found


def _retag(database: Database, campaign: str, slot: sa.Row[Any], actor: str) -> ItemResult:
    if database.run(lambda tx: retag(tx, slot.id, actor)):
        return ItemResult(slot.id, campaign, RETAGGED)
    if is_behind(database, slot.id):
        return ItemResult(slot.id, campaign, SKIPPED, f"{slot.attempt} does not serve, or was declined")
    return ItemResult(slot.id, campaign, TAGGED_MEANWHILE)


def _tell(adapters: Adapters, slot_ids: Sequence[str]) -> None:
    """What is not told now is due and told by the next publish lot."""
    with adapters.database.reading() as connection:
        entries = list(entries_of_slots(connection, slot_ids))
    for start in range(0, len(entries), BULK):
        tell(adapters.database, adapters.index, entries[start : start + BULK])
