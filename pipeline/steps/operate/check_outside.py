"""Looks outside of the database, a window at a time: object store and tag index (E5).

Belongs here: comparing a window of rows with what lies there. The rule of the window is
`resources.database.sampling`: so many rows an hour, round and round; small installations are seen whole. Does
not belong here: the whole look (`check`), or mending it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import IndexUnavailable, StoreUnavailable
from pipeline.steps.operate.checked import Looked, Offence, Severity
from pipeline.steps.operate.reindex import compared
from pipeline.steps.produce.ingest import micros
from resources.adapters import Adapters
from resources.database.backfill import is_gone
from resources.database.invariants.owning import IMPORT_WINDOW, RECONCILED_WITHIN
from resources.database.objects import SERVING_STATES
from resources.database.sampling import Window, window
from resources.database.schema import index_entries, objects
from resources.object_store.protocol import INTAKE_PREFIX, ObjectStore, Stored

SECOND = 1_000_000
#: Objects and entries of one look.
OBJECTS, ENTRIES = 500, 500
#: Keys of the store that one look lists at most, in the window's range; more are looked at in their own turn.
KEYS = 5_000
#: A key without an object may be one of a write that has not committed yet.
SETTLED = 900 * SECOND

_E, _W = Severity.ERROR, Severity.WARN


def objects_in_store(adapters: Adapters) -> Looked:
    """The bytes of a window of objects lie in the store in their size, and nothing else lies between them."""
    database = adapters.database
    with database.reading() as connection:
        now = database.clock(connection)
        seen = window(connection, _serving(), _by_key(database.engine), size=OBJECTS, now=now)
    try:
        found = list(_store_differs(adapters, seen, now))
    except StoreUnavailable as error:
        found = [Offence("object store", f"did not answer: {error.reason}", _E)]
    return Looked(
        tuple(found), len(found), f"{len(seen.rows)} of {seen.of} objects, and the keys between them"
    )


def _by_key(engine: sa.Engine) -> sa.ColumnElement[str]:
    """In the order of bytes, as the store lists: SQLite's own, PostgreSQL's collation C."""
    return objects.c.key if engine.dialect.name == "sqlite" else sa.collate(objects.c.key, "C")


def _serving() -> sa.Select[Any]:
    return sa.select(objects.c.id, objects.c.key, objects.c.size_bytes).where(
        objects.c.state.in_(SERVING_STATES)
    )


def _store_differs(adapters: Adapters, seen: Window, now: int) -> Iterator[Offence]:
    listed, is_cut = _listed(adapters.store, seen)
    for row in seen.rows:
        there = listed.get(row.key) or (adapters.store.head(row.key) if is_cut else None)
        if there is None:
            yield Offence(row.id, f"no bytes under {row.key}", _E)
        elif there.size != row.size_bytes:
            yield Offence(row.id, f"{there.size} bytes under {row.key}, not {row.size_bytes}", _E)
    yield from _orphans(adapters, listed.values(), {row.key for row in seen.rows}, now)
    for one in adapters.store.list_temporary():
        if micros(one.modified_at) < now - IMPORT_WINDOW - RECONCILED_WITHIN:
            yield Offence(one.key, f"{one.size} temporary bytes that no reconciliation removed", _W)


def _listed(store: ObjectStore, seen: Window) -> tuple[dict[str, Stored], bool]:
    """What the store lists from the window's first key up to the next window's; whether that was cut short.

    The first window begins with the first key of all, and the last one ends with the last.
    """
    first = seen.rows[0].key if seen.start else ""
    found: dict[str, Stored] = {}
    if first and (there := store.head(first)) is not None:
        found[first] = there
    for one in islice(store.list("", after=first), KEYS):
        if seen.next is not None and one.key.encode() >= seen.next.key.encode():
            return found, False
        found[one.key] = one
    return found, len(found) >= KEYS


def _orphans(adapters: Adapters, listed: Iterable[Stored], known: set[str], now: int) -> Iterator[Offence]:
    strange = {
        one.key: one
        for one in listed
        if one.key not in known
        and not one.key.startswith(INTAKE_PREFIX)
        and micros(one.modified_at) < now - SETTLED
    }
    with adapters.database.reading() as connection:
        owned = set(
            connection.scalars(
                sa.select(objects.c.key).where(objects.c.key.in_(strange), objects.c.state != "purged")
            )
        )
    for key, one in strange.items():
        if key not in owned:
            yield Offence(key, f"{one.size} bytes that no object names", _W)


def entries_in_index(adapters: Adapters) -> Looked:
    """The tag index says of a window of entries what it should."""
    database = adapters.database
    with database.reading() as connection:
        now = database.clock(connection)
        seen = window(connection, _told(), index_entries.c.id, size=ENTRIES, now=now)
    at = f"{len(seen.rows)} of {seen.of} entries in the index"
    try:
        found = compared(database, adapters.index, [row.id for row in seen.rows])
    except IndexUnavailable as error:
        return Looked((Offence("tag index", f"did not answer: {error}", _E),), 1, at)
    with database.reading() as connection:
        still = {row.id: row.version for row in connection.execute(_told_versions(list(found)))}
    offences = [
        Offence(name, _index_says(one.row, one.problem), _E)
        for name, one in found.items()
        if still.get(name) == one.row.version
    ]
    return Looked(tuple(offences), len(offences), at)


def _index_says(row: sa.Row[Any], problem: str) -> str:
    return f"the index, which should {'not ' if is_gone(row) else ''}show it: {problem}"


def _told() -> sa.Select[Any]:
    """Entries of which the index is believed to say the newest."""
    return sa.select(index_entries).where(index_entries.c.synced_version == index_entries.c.version)


def _told_versions(ids: Sequence[str]) -> sa.Select[Any]:
    """Those that were not changed while they were looked at."""
    told = index_entries.c.synced_version == index_entries.c.version
    return sa.select(index_entries.c.id, index_entries.c.version).where(index_entries.c.id.in_(ids), told)
