"""Many published videos by rows alone: the sound installation's video, over and over, in many campaigns.

Belongs here: multiplying its rows. Does not belong here: what a test expects of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Database, Transaction
from tests.database import rows, sound

#: The rows of one published video: table, and the condition that finds them in the sound installation.
PARTS: tuple[tuple[sa.Table, str], ...] = (
    (schema.slots, "id = '{slot}'"),
    (schema.renditions, "id = 'r-1'"),
    (schema.attempts, "id = 'r-1-a1'"),
    (schema.selections, "rendition = 'r-1'"),
    (schema.sends, "attempt = 'r-1-a1'"),
    (schema.remote_jobs, "attempt = 'r-1-a1'"),
    (schema.holds, "attempt = 'r-1-a1'"),
    (schema.objects, "id IN ('o-video', 'o-picture')"),
    (schema.object_uses, "object IN ('o-video', 'o-picture')"),
    (schema.object_parents, "object = 'o-picture'"),
    (schema.derivatives, "object = 'o-picture'"),
    (schema.wishes, "rendition = 'r-1'"),
    (schema.batch_items, "rendition = 'r-1'"),
    (schema.publications, "slot = '{slot}'"),
    (schema.index_entries, "id = 'e-1'"),
    (schema.audit, "subject_id IN ('r-1-a1', '{slot}')"),
    (schema.usage_facts, "attempt = 'r-1-a1'"),
    (schema.outbox, "subject_id = 'r-1-a1'"),
)
#: Names that are one video's own: another one's carry its number.
_OWN = ("r-1", "o-video", "o-picture", "e-1", "r1/v", "a" * 64, "b" * 64)


def multiply(database: Database, number: int, campaigns: int = 1) -> None:
    """Write the sound installation and *number* more videos like its published one, over *campaigns* more."""
    sound.write(database)
    originals = {table: _rows(database, table, where) for table, where in PARTS}
    homes = [f"{sound.TENANT}.c{place}" for place in range(campaigns)]
    for place, home in enumerate(homes):
        rows.campaign(database, home)
        _approve(database, home)
        settled = {"settled": 5 * len(range(place, number, campaigns))}
        change = sa.update(schema.budgets).where(schema.budgets.c.campaign == home).values(settled)
        database.run(lambda tx, change=change: tx.connection.execute(change))  # type: ignore[misc]

    def work(tx: Transaction) -> None:
        for table, found in originals.items():
            copies = list(_copies(found, number, homes))
            if copies:
                tx.connection.execute(sa.insert(table), copies)

    database.run(work)


def _approve(database: Database, home: str) -> None:
    """Its revision 1, approved as that of the sound installation."""
    revision = rows.read(database, schema.revisions, f"{sound.HOME}/r1")._asdict()
    rows.insert(database, schema.revisions, revision | {"id": f"{home}/r1", "campaign": home})
    source, *_ = rows.rows(database, schema.revision_sources)
    rows.insert(database, schema.revision_sources, source._asdict() | {"revision": f"{home}/r1"})
    for table in (schema.audit, schema.decisions):
        copies = [
            {**row._asdict(), "subject_id": f"{home}/r1"}
            for row in rows.rows(database, table)
            if row.subject_id == f"{sound.HOME}/r1"
        ]
        rows.insert(database, table, *({k: v for k, v in one.items() if k != "id"} for one in copies))
    use = {"object": sound.SOURCE, "user_kind": "revision", "user_id": f"{home}/r1"}
    rows.insert(database, schema.object_uses, use | {"tenant": sound.TENANT, "from_at": sound.BEFORE})


def _rows(database: Database, table: sa.Table, where: str) -> list[dict[str, Any]]:
    wanted = sa.select(table).where(sa.text(where.format(slot=sound.SLOT)))
    with database.reading() as connection:
        return [row._asdict() for row in connection.execute(wanted)]


def _copies(found: list[dict[str, Any]], number: int, homes: list[str]) -> Iterator[dict[str, Any]]:
    for place in range(number):
        home = homes[place % len(homes)]
        for row in found:
            copy = {name: _renamed(value, place, home) for name, value in row.items()}
            if isinstance(copy.get("id"), int):
                del copy["id"]  # numbered by the database
            yield copy


def _renamed(value: Any, place: int, home: str) -> Any:
    if isinstance(value, dict):
        return {name: _renamed(one, place, home) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    for name in _OWN:
        value = value.replace(name, f"{name}x{place}")
    return value.replace(sound.HOME, home)
