"""The four facts of a batch item: when each first held (B1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState
from resources.database.database import Transaction
from resources.database.schema import batch_items

Fact = Literal["accepted_at", "media_at", "processed_at", "usable_at"]

#: The fact that a move of an attempt brings about.
FACT_OF: Mapping[str, Fact] = MappingProxyType(
    {
        AttemptState.GENERATING: "accepted_at",
        AttemptState.STORED: "media_at",
        AttemptState.INDEXED: "processed_at",
    }
)


def note_moves(tx: Transaction, moved: Sequence[tuple[str, str]]) -> None:
    """Note what moves of attempts brought about, given as (rendition, new state)."""
    by_fact: dict[Fact, set[str]] = defaultdict(set)
    for rendition, state in moved:
        if state in FACT_OF:
            by_fact[FACT_OF[state]].add(rendition)
    for fact, renditions in sorted(by_fact.items()):
        reached(tx, fact, renditions)


def reached(tx: Transaction, fact: Fact, renditions: Collection[str]) -> None:
    """*fact* holds from now on for every item of *renditions* where it did not hold before."""
    if not renditions:
        return
    column = batch_items.c[fact]
    tx.connection.execute(
        sa.update(batch_items)
        .where(batch_items.c.rendition.in_(renditions), column.is_(None))
        .values({fact: tx.now})
    )
