"""Batch items: when acceptance, media, processing and use first held for each (B1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState
from resources.database.database import Transaction
from resources.database.schema import batch_items

#: The fact that a move of an attempt brings about for its rendition's items.
FACT_OF: Mapping[str, str] = MappingProxyType(
    {
        AttemptState.GENERATING: "accepted_at",
        AttemptState.STORED: "media_at",
        AttemptState.INDEXED: "processed_at",
    }
)


def note_moves(tx: Transaction, moved: Sequence[tuple[str, str]]) -> None:
    """Note (rendition, new state) pairs; a fact that held before keeps its first time."""
    by_fact: dict[str, list[str]] = defaultdict(list)
    for rendition, state in moved:
        if state in FACT_OF:
            by_fact[FACT_OF[state]].append(rendition)
    for fact, renditions in sorted(by_fact.items()):
        note(tx, renditions, fact)


def note(tx: Transaction, renditions: Sequence[str], fact: str) -> None:
    column = batch_items.c[fact]
    tx.connection.execute(
        sa.update(batch_items)
        .where(batch_items.c.rendition.in_(renditions), column.is_(None))
        .values({fact: tx.now})
    )
