"""Delivery logs as rows: who owns a key, what was read before, and one file with all that came of it.

Belongs here: statements over the `delivery_*` tables and those that attribute. Does not belong here: reading
a log, or any rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import (
    attempts,
    campaign_settings,
    delivery_deletions,
    delivery_facts,
    delivery_files,
    delivery_names,
    delivery_quarantine,
    object_parents,
    objects,
)
from resources.database.upsert import insert_for

#: Held while one file is entered: two files that share lines must not both count them.
_LOCK = 0x5EE1_0002
_TOGETHER = 500
EVERYBODY = "*"


def owners_of(connection: sa.Connection, keys: Collection[str]) -> Iterator[sa.Row[Any]]:
    """Object, tenant, campaign, kind, size, rendition and spend of each key; the newest object last.

    A derivative belongs to the rendition of the video that it was made from.
    """
    parent = (
        sa.select(sa.func.min(object_parents.c.parent))
        .where(object_parents.c.object == objects.c.id)
        .scalar_subquery()
    )
    made = attempts.c.object == sa.case((objects.c.kind == "derivative", parent), else_=objects.c.id)
    ordered = sorted(keys)
    for start in range(0, len(ordered), _TOGETHER):
        found: sa.Select[Any] = (
            sa.select(
                objects.c.key,
                objects.c.id,
                objects.c.tenant,
                objects.c.campaign,
                objects.c.size_bytes,
                attempts.c.campaign.label("made_for"),
                attempts.c.rendition,
                attempts.c.spend,
            )
            .select_from(objects.outerjoin(attempts, made))
            .where(objects.c.key.in_(ordered[start : start + _TOGETHER]))
            .order_by(objects.c.key, objects.c.created_at, objects.c.id, attempts.c.id)
        )
        yield from connection.execute(found)


def cost_centers_over_time(
    connection: sa.Connection, campaigns: Collection[str]
) -> dict[str, list[tuple[int, str]]]:
    """Of each campaign, from which microsecond on which one held."""
    held: dict[str, list[tuple[int, str]]] = {}
    rows = connection.execute(
        sa.select(
            campaign_settings.c.campaign, campaign_settings.c.effective_from, campaign_settings.c.cost_center
        )
        .where(campaign_settings.c.campaign.in_(sorted(campaigns)))
        .order_by(
            campaign_settings.c.campaign, campaign_settings.c.effective_from, campaign_settings.c.number
        )
    )
    for row in rows:
        held.setdefault(row.campaign, []).append((row.effective_from, row.cost_center))
    return held


def file_by_id(connection: sa.Connection, file: str) -> sa.Row[Any] | None:
    found: sa.Select[Any] = sa.select(delivery_files.c.name, delivery_files.c.verdict)
    return connection.execute(found.where(delivery_files.c.id == file)).one_or_none()


def identities_between(connection: sa.Connection, first_at: int, last_at: int) -> Iterator[bytes]:
    """Packed identities of every file that has events in this span, one file at a time."""
    files = connection.scalars(
        sa.select(delivery_files.c.id)
        .where(delivery_files.c.last_at >= first_at, delivery_files.c.first_at <= last_at)
        .order_by(delivery_files.c.id)
    ).all()
    for file in files:
        blob = connection.scalar(sa.select(delivery_files.c.identities).where(delivery_files.c.id == file))
        if blob:
            yield bytes(blob)


def one_at_a_time(tx: Transaction) -> None:
    """Nobody else enters a file until this transaction ends; SQLite's write lock does that by itself."""
    if tx.connection.dialect.name == "postgresql":
        tx.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def enter_file(tx: Transaction, row: Mapping[str, Any]) -> None:
    """A file that was refused before may be read now; one that was read stays as it is."""
    insert = insert_for(tx.connection, delivery_files).values(tenant=EVERYBODY, read_at=tx.now, **row)
    news = {name: insert.excluded[name] for name in (*row, "read_at") if name not in ("id", "name")}
    refused = delivery_files.c.verdict == "refused"
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=news, where=refused))


def enter_facts(tx: Transaction, file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        named = [{"id": fact_id(file, row), "file": file, **row} for row in rows]
        tx.connection.execute(sa.insert(delivery_facts), named)


def fact_id(file: str, row: Mapping[str, Any]) -> str:
    """The same file gives the same facts the same ids, wherever and whenever it is read."""
    said = "\n".join(f"{name}={row[name]}" for name in sorted(row) if name != "quantity")
    return hashlib.sha256(f"{file}\n{said}".encode()).hexdigest()[:32]


def enter_quarantine(tx: Transaction, file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        named = [{"file": file, "tenant": EVERYBODY, **row} for row in rows]
        tx.connection.execute(sa.insert(delivery_quarantine), named)


def enter_deletions(tx: Transaction, file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        insert = insert_for(tx.connection, delivery_deletions).on_conflict_do_nothing()
        tx.connection.execute(insert, [{"file": file, **row} for row in rows])


def names_seen(connection: sa.Connection) -> dict[str, sa.Row[Any]]:
    """By name: size and time as they were listed, and the file that lay there with its verdict."""
    found: sa.Select[Any] = sa.select(
        delivery_names.c.name,
        delivery_names.c.size_bytes,
        delivery_names.c.modified_at,
        delivery_files.c.verdict,
        delivery_files.c.reader_version,
    ).join(delivery_files, delivery_files.c.id == delivery_names.c.file)
    return {row.name: row for row in connection.execute(found)}


def remember_name(tx: Transaction, name: str, size_bytes: int, modified_at: int, file: str) -> None:
    news = {"size_bytes": size_bytes, "modified_at": modified_at, "file": file, "seen_at": tx.now}
    insert = insert_for(tx.connection, delivery_names).values(name=name, tenant=EVERYBODY, **news)
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=news))


def read_until(connection: sa.Connection) -> int | None:
    """The newest event of any file, in UTC microseconds: what the window shows as the watermark."""
    newest: int | None = connection.scalar(sa.select(sa.func.max(delivery_files.c.last_at)))
    return newest


def sums_of_day(connection: sa.Connection, day: int) -> dict[str, int]:
    """Quantity a meter, and `unattributed_bytes` beside them."""
    facts = delivery_facts.c
    is_nobodys = facts.tenant.is_(None)
    rows: sa.Select[Any] = (
        sa.select(facts.meter, is_nobodys.label("is_nobodys"), sa.func.sum(facts.quantity).label("quantity"))
        .where(facts.day == day)
        .group_by(facts.meter, is_nobodys)
    )
    sums = {"unattributed_bytes": 0}
    for row in connection.execute(rows):
        sums[row.meter] = sums.get(row.meter, 0) + int(row.quantity)
        if row.is_nobodys and row.meter == "delivered_bytes":
            sums["unattributed_bytes"] += int(row.quantity)
    return sums
