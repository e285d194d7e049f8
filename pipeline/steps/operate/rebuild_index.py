"""Build the tag index anew beside the live one, from the database alone, and put it in its place (T5).

Belongs here: what it is filled with, and in which order. Does not belong here: how an entry is built
(`produce.telling`), or how an index takes another one's place (`resources.tag_index`).

Every entry is read after the new index is there, and writers write to both: so the newest of each is in it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.domain.errors import IndexUnavailable
from pipeline.steps.produce.index import BULK
from pipeline.steps.produce.telling import change_of
from resources.database.database import Database
from resources.database.index_entries import entry_ids_after, entry_rows
from resources.database.outputs import settings_of
from resources.tag_index.protocol import Change, Outcome, WriteResult

#: How long the replaced index still answers those who were asking it.
LINGER_SECONDS = 10.0
#: Bulks between two notes of how far it is filled.
NOTED_EVERY = 20
#: How often what did not get through is sent again before the rebuild stops, to be gone on with.
ROUNDS = 5
PAUSE_SECONDS = 1.0


class Rebuild(Protocol):
    """As `opensearch_rebuild.IndexRebuild`, which is not installed everywhere."""

    def begin(self) -> str: ...
    def fill(self, changes: Sequence[Change]) -> list[WriteResult]: ...
    def filled_to(self, entry_id: str) -> None: ...
    def swap(self) -> None: ...
    def drop_replaced(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RebuildReport:
    filled: int  #: entries of this run, tombstones among them
    gone_on_with: bool  #: an earlier rebuild had begun
    refused: Mapping[str, str]  #: entry to reason; what the live index refuses too
    seconds: float


def rebuild_index(
    database: Database, rebuild: Rebuild, *, pause: Callable[[float], None] = time.sleep
) -> RebuildReport:
    """Fill the new index, from where an earlier rebuild stopped, and let it take the live one's place.

    Raises IndexUnavailable; what was done then stays, and the next rebuild goes on with it.
    """
    began, after = time.monotonic(), rebuild.begin()
    gone_on_with, filled, refused = bool(after), 0, dict[str, str]()
    for bulk in itertools.count(1):
        changes = _changes(database, after)
        if not changes:
            break
        refused |= _fill(rebuild, changes, pause)
        after, filled = changes[-1].entry_id, filled + len(changes)
        if bulk % NOTED_EVERY == 0:
            rebuild.filled_to(after)
    rebuild.swap()
    pause(LINGER_SECONDS)
    rebuild.drop_replaced()
    return RebuildReport(filled, gone_on_with, refused, time.monotonic() - began)


def _changes(database: Database, after: str) -> list[Change]:
    """What the index should say of the next entries in the order of their ids."""
    with database.reading() as connection:
        ids = entry_ids_after(connection, after, BULK)
        rows = entry_rows(connection, ids)
        settings = settings_of(connection, rows.values(), database.clock(connection))
    return [change_of(rows[name], settings[rows[name].campaign]) for name in ids]


def _fill(rebuild: Rebuild, changes: Sequence[Change], pause: Callable[[float], None]) -> dict[str, str]:
    """Entries that are refused for good, by reason; everything else is in."""
    refused: dict[str, str] = {}
    left, reason = changes, ""
    for _ in range(ROUNDS):
        results = rebuild.fill(left)
        refused |= {one.entry_id: one.reason for one in results if one.outcome is Outcome.REFUSED}
        lost = [n for n, one in enumerate(results) if one.outcome is Outcome.TRY_AGAIN]
        if not lost:
            return refused
        reason = results[lost[0]].reason
        left = [left[n] for n in lost]
        pause(PAUSE_SECONDS)
    raise IndexUnavailable(f"{len(left)} entries do not get into the new index: {reason}")
