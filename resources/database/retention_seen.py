"""When a plan first saw what lies around and is no object: a file's own time is never believed (C1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import objects, retention_seen
from resources.database.upsert import insert_for

CHUNK = 500


class Seen(Protocol):
    """What is kept of one sighting."""

    @property
    def what(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def tenant(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def modified_at(self) -> int: ...
    @property
    def first_seen_at(self) -> int: ...


def seen_before(
    connection: sa.Connection, named: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], sa.Row[Any]]:
    """Sightings by (what, subject)."""
    found: dict[tuple[str, str], sa.Row[Any]] = {}
    subjects = sorted({subject for _, subject in named})
    for start in range(0, len(subjects), CHUNK):
        wanted = retention_seen.c.subject.in_(subjects[start : start + CHUNK])
        rows = connection.execute(sa.select(retention_seen).where(wanted))
        found |= {(row.what, row.subject): row for row in rows}
    return found


def keep_seen(tx: Transaction, seen: Sequence[Seen]) -> None:
    """Keep when each was first seen; what is seen no more is forgotten, and new when it comes again."""
    insert = insert_for(tx.connection, retention_seen)
    changed = ("size_bytes", "modified_at", "first_seen_at", "last_seen_at")
    if seen:
        tx.connection.execute(
            insert.on_conflict_do_update(
                index_elements=["what", "subject"], set_={name: insert.excluded[name] for name in changed}
            ),
            [
                {"what": str(one.what), "subject": one.subject, "tenant": one.tenant,
                 "size_bytes": one.size_bytes, "modified_at": one.modified_at,
                 "first_seen_at": one.first_seen_at, "last_seen_at": tx.now}
                for one in seen
            ],
        )  # fmt: skip
    tx.connection.execute(sa.delete(retention_seen).where(retention_seen.c.last_seen_at < tx.now))


def named_by_objects(connection: sa.Connection, keys: Collection[str]) -> frozenset[str]:
    """Those of *keys* that an unpurged object holds."""
    wanted = sa.select(objects.c.key).where(objects.c.key.in_(keys), objects.c.state != "purged")
    return frozenset(connection.scalars(wanted))
