"""Tell the tag index everything about campaigns again, and see that it says so (E3, T1).

Belongs here: raising the entries, telling them, comparing what the index shows. Does not belong here: how an
entry is built and told (`produce.telling`), or what is due by itself (`produce.index`).

Entries carry versions, so that lots, syncs and other backfills may tell the same ones meanwhile: the newest
wins. An index that is ahead of the database (restored from a backup) is passed by.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import IndexUnavailable
from pipeline.steps.operate.backfilled import FAILED, BackfillReport
from pipeline.steps.produce.index import BULK
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.telling import Heard, Told, change_of, tell
from resources.adapters import Adapters
from resources.database.backfill import campaigns_named, entries_of_campaign, is_gone, pass_by
from resources.database.database import Database, Transaction
from resources.database.index_entries import entry_rows, say_campaign_again
from resources.database.outputs import settings_of
from resources.tag_index.protocol import Change, Entry, TagIndex

REINDEXED, REMOVED = "reindexed", "removed"
#: How often what the index shows otherwise is told again before it is named.
ROUNDS = 2


def reindex(adapters: Adapters, campaigns: Collection[str] | None = None) -> BackfillReport:
    """Re-index *campaigns* (None: all). Words: `reindexed`, `removed` (it should not be found and is not);
    `failed` with what the index said, named by attempt in `left`.

    Raises UnknownSubject for a strange campaign; an index that does not answer is a reason, not an error.
    """
    began, database = time.monotonic(), adapters.database
    with database.reading() as connection:
        named = campaigns_named(connection, campaigns)
    results: list[ItemResult] = []
    for campaign in named:
        database.run(lambda tx, campaign=campaign: say_campaign_again(tx, campaign))  # type: ignore[misc]
        with database.reading() as connection:
            entries = entries_of_campaign(connection, campaign)
        for bulk in _bulks(entries):
            results += _tell(database, adapters.index, bulk)
    return BackfillReport("index", tuple(results), time.monotonic() - began)


def _bulks(entries: Sequence[sa.Row[Any]]) -> Iterator[Sequence[sa.Row[Any]]]:
    for start in range(0, len(entries), BULK):
        yield entries[start : start + BULK]


def _tell(database: Database, index: TagIndex, entries: Sequence[sa.Row[Any]]) -> list[ItemResult]:
    """Tell a bulk, compare, and tell what differs once more."""
    wrong: Mapping[str, str] = {entry.id: "" for entry in entries}
    heard: dict[str, Told] = {}
    for _ in range(ROUNDS):
        heard |= tell(database, index, list(wrong))
        try:
            wrong = differing(database, index, list(wrong))
        except IndexUnavailable:
            wrong = dict.fromkeys(wrong, "index_unavailable")
        if not wrong:
            break
    return [_result(entry, wrong.get(entry.id), heard.get(entry.id)) for entry in entries]


def differing(database: Database, index: TagIndex, entry_ids: Collection[str]) -> dict[str, str]:
    """Those of *entry_ids* of which the index says something else than it should, and what.

    Where it says so at the entry's version or a higher one, the entry is raised above that. Raises
    IndexUnavailable.
    """
    found = compared(database, index, entry_ids)
    ahead = [(one.row, one.shown_version) for one in found.values() if one.shown_version]
    overtaken = database.run(lambda tx: _pass_by(tx, ahead)) if ahead else set()
    return {name: one.problem for name, one in found.items() if name not in overtaken}


@dataclass(frozen=True, slots=True)
class Differs:
    """One entry of which the index says something else than it should."""

    row: sa.Row[Any]
    problem: str
    shown_version: int = 0  #: 0: it shows nothing


def compared(database: Database, index: TagIndex, entry_ids: Collection[str]) -> dict[str, Differs]:
    """What the index says otherwise, by entry; nothing is changed. Raises IndexUnavailable."""
    with database.reading() as connection:
        rows = entry_rows(connection, entry_ids)
        settings = settings_of(connection, rows.values(), database.clock(connection))
    shown = _shown(index, rows.values())
    problems = {
        name: _problem(row, change_of(row, settings[row.campaign]), shown.get(name))
        for name, row in rows.items()
    }
    return {
        name: Differs(rows[name], problem, shown[name].version if name in shown else 0)
        for name, problem in problems.items()
        if problem
    }


def _pass_by(tx: Transaction, ahead: Sequence[tuple[sa.Row[Any], int]]) -> set[str]:
    """Raise each above what is shown of it; those that somebody else changed meanwhile, who tells them."""
    return {row.id for row, version in ahead if version >= row.version and not pass_by(tx, row, version)}


def _shown(index: TagIndex, rows: Collection[sa.Row[Any]]) -> dict[str, Entry]:
    by_tenant: dict[str, list[str]] = {}
    for row in rows:
        by_tenant.setdefault(row.tenant, []).append(row.id)
    return {name: entry for who, ids in by_tenant.items() for name, entry in index.get(who, ids).items()}


#: What an index may keep in another order, or not give back as it was written.
_COMPARED = (
    "rendition_id", "object_id", "campaign", "slot", "locale", "standing",
    "asset_type", "visibility", "retention_class",
)  # fmt: skip


def _problem(row: sa.Row[Any], wanted: Change, shown: Entry | None) -> str:
    """Why what is *shown* is not what is *wanted*; empty when it is."""
    if not isinstance(wanted, Entry):
        return "" if shown is None else "shown although it should be gone"
    if shown is None:
        return "not shown"
    if shown.version < row.version:
        return f"shown at version {shown.version} of {row.version}"
    if shown.version > row.version:
        return f"the index is ahead, at version {shown.version}"
    other = [name for name in _COMPARED if getattr(shown, name) != getattr(wanted, name)]
    return f"other {', '.join(other)}" if other else ""


def _result(entry: sa.Row[Any], problem: str | None, told: Told | None) -> ItemResult:
    if problem is None:
        return ItemResult(entry.attempt, entry.campaign, REMOVED if is_gone(entry) else REINDEXED)
    is_refused = told is not None and told.heard is Heard.REFUSED
    reason = f"refused: {told.reason}" if told is not None and is_refused else problem
    return ItemResult(entry.attempt, entry.campaign, FAILED, reason)
