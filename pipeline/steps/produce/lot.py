"""A lot: one run's share of a stage's due work, across campaigns.

Belongs here: claiming in groups, holding the leases, knowing when to stop. Does not belong here: what a
stage does with its items, or when a lot is requested (`sensors`).
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from resources.database.claims import GROUP
from resources.database.database import Database, Transaction
from resources.database.leases import kept
from resources.database.schema import attempts

#: A lot ends after this many items or seconds, or when nothing is due (ARCHITECTURE, "Flow").
LOT_ITEMS = 1_000
LOT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What one item came to; `word` is a short code such as `stored`, `failed`, `postponed`, `lost`."""

    subject: str
    campaign: str
    word: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LotReport:
    """Counts by word, and the items that did not go well."""

    stage: str
    results: tuple[ItemResult, ...] = ()
    seconds: float = 0.0

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(result.word for result in self.results).items()))

    @property
    def campaigns(self) -> tuple[str, ...]:
        return tuple(sorted({result.campaign for result in self.results}))


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease: readable in the database, unique for each worker."""

    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}")


Claim = Callable[[Transaction, str, int], Sequence[sa.Row[Any]]]
Work = Callable[[Sequence[sa.Row[Any]]], Sequence[ItemResult]]


def work_lot(
    database: Database,
    stage: str,
    claim: Claim,
    work: Work,
    *,
    items: int = LOT_ITEMS,
    seconds: float = LOT_SECONDS,
    table: sa.Table = attempts,
) -> LotReport:
    """Claim groups and work on them until *items* are done, nothing is due or *seconds* are over."""
    owner, began = Owner().name, time.monotonic()
    results: list[ItemResult] = []
    while len(results) < items and time.monotonic() - began < seconds:
        size = min(GROUP, items - len(results))
        rows = database.run(lambda tx, size=size: claim(tx, owner, size))  # type: ignore[misc]
        if not rows:
            break
        with kept(database, table, rows):
            results += work(rows)
    return LotReport(stage, tuple(results), time.monotonic() - began)
