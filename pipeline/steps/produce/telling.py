"""Tell the tag index what it should say of outputs, and see that it says so (T1, T2, T4).

Belongs here: entries built from the database, one bulk a call, confirmation, and when to tell again. Does
not belong here: which entries are told (`index`), or when one becomes current (`publish`, `withdraw`).
"""

from __future__ import annotations

import enum
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import IndexUnavailable
from pipeline.domain.polling import backoff_seconds
from pipeline.domain.tags import Visibility, all_tokens
from resources.database.database import Database, Transaction
from resources.database.index_entries import (
    TOMBSTONE,
    entry_rows,
    not_synced,
    synced,
)
from resources.database.outputs import settings_of
from resources.tag_index.protocol import Change, Entry, Outcome, Standing, TagIndex, Tombstone, WriteResult

SECOND = 1_000_000
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5.0, 300.0


#: Required tags that an amendment may change.
_AMENDABLE = ("asset_type", "visibility", "retention_class")


class Heard(enum.StrEnum):
    """What became of telling the index one entry."""

    VISIBLE = "visible"  #: It says this version or a newer one, and shows it.
    REFUSED = "refused"  #: For good; the reason names the field.
    LATER = "later"  #: It did not answer, or does not show it yet.


@dataclass(frozen=True, slots=True)
class Told:
    """One entry at the version that was told."""

    entry: str
    version: int
    heard: Heard
    reason: str = ""
    tries: int = 0


def tell(database: Database, index: TagIndex, entry_ids: Collection[str]) -> dict[str, Told]:
    """Tell the index what these entries say now, in one bulk, and note what it heard; by entry id."""
    told = say(database, index, entry_ids)
    if told:
        database.run(lambda tx: note(tx, told.values()))
    return told


def say(database: Database, index: TagIndex, entry_ids: Collection[str]) -> dict[str, Told]:
    """As `tell`, and nothing is noted: the caller does, in a transaction of its own."""
    if not entry_ids:
        return {}
    with database.reading() as connection:
        rows = entry_rows(connection, entry_ids)
        settings = settings_of(connection, rows.values(), database.clock(connection))
    changes = [change_of(row, settings[row.campaign]) for row in rows.values()]
    results = _written(index, changes)
    shown = _shown(index, changes, results)
    return {
        change.entry_id: _told(rows[change.entry_id], result, shown)
        for change, result in zip(changes, results, strict=True)
    }


def change_of(row: sa.Row[Any], settings: sa.Row[Any]) -> Change:
    """What the index should say of one entry: its fields, its free tags, and the words that find it.

    What a slot shows says the required tags of its publication, so that the two agree at every version.
    """
    if row.standing == TOMBSTONE:
        return Tombstone(row.id, row.tenant, row.version)
    required = row.shown_tags or {name: getattr(settings, name) for name in _AMENDABLE}
    tags = {name: tuple(values) for name, values in settings.tags.items()}
    texts = [settings.title or row.title, row.copy, *(value for values in tags.values() for value in values)]
    return Entry(
        entry_id=row.id,
        tenant=row.tenant,
        rendition_id=row.rendition,
        object_id=row.object,
        campaign=row.campaign,
        slot=row.slot,
        locale=row.locale,
        asset_type=required["asset_type"],
        visibility=Visibility(required["visibility"]),
        retention_class=required["retention_class"],
        standing=Standing(row.standing),
        version=row.version,
        created_at=row.created_at,
        tags=tags,
        text=all_tokens(texts),
    )


def _written(index: TagIndex, changes: Sequence[Change]) -> Sequence[WriteResult]:
    """One bulk. An index that does not answer has refused nothing: all of it is told again."""
    try:
        return index.put(changes)
    except IndexUnavailable as error:
        reason = str(error)[:200]
        return [WriteResult(change.entry_id, Outcome.TRY_AGAIN, reason) for change in changes]


def _shown(index: TagIndex, changes: Sequence[Change], results: Sequence[WriteResult]) -> Mapping[str, int]:
    """The version that each written entry is found at now. A written answer alone proves nothing."""
    by_tenant: dict[str, list[str]] = defaultdict(list)
    for change, result in zip(changes, results, strict=True):
        if result.is_done and isinstance(change, Entry):
            by_tenant[change.tenant].append(change.entry_id)
    try:
        found = [index.get(tenant, ids) for tenant, ids in by_tenant.items()]
    except IndexUnavailable:
        return {}
    return {entry.entry_id: entry.version for page in found for entry in page.values()}


def _told(row: sa.Row[Any], result: WriteResult, shown: Mapping[str, int]) -> Told:
    heard = Heard.LATER
    if result.outcome is Outcome.REFUSED:
        heard = Heard.REFUSED
    elif result.is_done and (row.standing == TOMBSTONE or shown.get(row.id, 0) >= row.version):
        heard = Heard.VISIBLE
    reason = result.reason or ("not_visible_yet" if heard is Heard.LATER else "")
    return Told(row.id, row.version, heard, reason, row.tries)


def note(tx: Transaction, told: Collection[Told]) -> None:
    """Note what the index heard; what it did not hear is due again, what it refuses waits for a person."""
    synced(tx, [(one.entry, one.version) for one in told if one.heard is Heard.VISIBLE])
    for one in told:
        if one.heard is Heard.REFUSED:
            not_synced(tx, one.entry, one.version, due_at=None, refused_reason=one.reason)
        elif one.heard is Heard.LATER:
            due_at = tx.now + int(wait_seconds(one.tries) * SECOND)
            not_synced(tx, one.entry, one.version, due_at=due_at)


def wait_seconds(tries: int) -> float:
    return backoff_seconds(
        tries,
        first=FIRST_WAIT_SECONDS,
        ceiling=LONGEST_WAIT_SECONDS,
        spread=random.random(),  # noqa: S311 - spreads load, guards nothing
    )
