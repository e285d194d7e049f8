"""Byte-time a day out of object intervals, and the rows that keep it (F2).

Belongs here: the statements. Does not belong here: the rule of shared bytes (`pipeline.domain.byte_time`).

An object with one account, in a campaign that never changed its cost centre, is summed in SQL: three
groupings (first part of a day, last part, bytes that lie through whole days between) and a running sum, which
costs the same for a day as for a year. The few that several share, or whose cost centre changed, are cut in
Python. Sums are kept apart in whole seconds and microseconds: bytes times microseconds pass 64 bits at 107 MB
a day.
"""

# ruff: noqa: S608 - every piece of a statement is a constant of this module
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from pipeline.domain.byte_time import Interval, Use, shared_byte_time
from pipeline.domain.periods import DAY, bounds
from pipeline.domain.units import SECOND
from resources.database.database import Transaction
from resources.database.schema import campaign_settings, storage_days, storage_measured
from resources.database.upsert import insert_for

#: Accounts of a lot of byte-time: tenant, campaign, cost centre, rendition, attempt, spend, meter.
Owner = tuple[str, str, str, str, str, str, str]
#: Rows that are fetched at once.
FETCHED = 5_000
#: A campaign's cost centres: from when each held.
_Centers = Mapping[str, Sequence[tuple[int, str]]]

#: Objects with more than one use (`again`, with the first of their users, and whether accounts share them);
#: campaigns whose cost centre changed after the window began, and who uses objects in their name (`moved`).
_WHOSE = """
WITH users AS (
    SELECT u.object, u.user_id, a.campaign, a.rendition, a.id AS attempt, a.spend, u.from_at, u.until_at
    FROM object_uses u JOIN attempts a ON a.id = u.user_id WHERE u.user_kind = 'attempt'
    UNION ALL
    SELECT u.object, u.user_id, r.campaign, '', '', 'live', u.from_at, u.until_at
    FROM object_uses u JOIN revisions r ON r.id = u.user_id WHERE u.user_kind = 'revision'
), often AS MATERIALIZED (
    SELECT object FROM object_uses WHERE user_kind IN ('attempt', 'revision')
    GROUP BY object HAVING COUNT(*) > 1
), again AS MATERIALIZED (
    SELECT u.object, MIN(u.user_id) AS user_id,
        CASE WHEN MIN(COALESCE(a.campaign, r.campaign)) = MAX(COALESCE(a.campaign, r.campaign))
            AND MIN(COALESCE(a.id, '')) = MAX(COALESCE(a.id, '')) THEN 1 ELSE 2 END AS accounts
    FROM often JOIN object_uses u ON u.object = often.object AND u.user_kind IN ('attempt', 'revision')
        LEFT JOIN attempts a ON a.id = u.user_id LEFT JOIN revisions r ON r.id = u.user_id
    GROUP BY u.object
), changed AS MATERIALIZED (
    SELECT campaign FROM campaign_settings
    GROUP BY campaign HAVING MIN(cost_center) <> MAX(cost_center) AND MAX(effective_from) > :lo
), moved AS MATERIALIZED (
    SELECT a.id FROM changed JOIN attempts a ON a.campaign = changed.campaign
    UNION ALL SELECT r.id FROM changed JOIN revisions r ON r.campaign = changed.campaign
)
"""
_LYING = "o.created_at < :hi AND (o.purged_at IS NULL OR o.purged_at > :lo)"
_SPAN = """
        (CASE WHEN o.created_at > :lo THEN o.created_at ELSE :lo END) - :lo AS s,
        (CASE WHEN COALESCE(o.purged_at, :hi) < :hi THEN o.purged_at ELSE :hi END) - :lo AS e
"""
_OWNER = "tenant, campaign, cost_center, rendition, attempt, spend, meter"
#: Grouped by user alone, whose names are looked up afterwards; by campaign where nobody uses an object.
_BY = "user_id, made_for, tenant, kind"
#: Part 0: the first part of a day, and bytes that rise on the next; part 1: the last part, and what falls.
_SIMPLE = (
    _WHOSE.rstrip()
    + f""", lying AS (
    SELECT COALESCE(again.user_id, u.user_id, '') AS user_id,
        CASE WHEN u.user_id IS NULL THEN COALESCE(o.campaign, '') ELSE '' END AS made_for,
        o.tenant, o.kind, o.size_bytes AS bytes, {_SPAN}
    FROM objects o
        LEFT JOIN object_uses u ON u.object = o.id AND u.user_kind IN ('attempt', 'revision')
        LEFT JOIN again ON again.object = o.id
    WHERE {_LYING} AND (again.object IS NULL OR (again.accounts = 1 AND again.user_id = u.user_id))
), placed AS MATERIALIZED (
    SELECT {_BY}, bytes, s, e, s / {{day}} AS ds, e / {{day}} AS de,
        (CASE WHEN s / {{day}} = e / {{day}} THEN e ELSE (s / {{day}} + 1) * {{day}} END) - s AS part
    FROM lying l LEFT JOIN moved ON moved.id = l.user_id LEFT JOIN changed ON changed.campaign = l.made_for
    WHERE s < e AND moved.id IS NULL AND changed.campaign IS NULL
), summed AS (
    SELECT 0 AS part, {_BY}, ds AS at, SUM(bytes * (part / {SECOND})) AS seconds,
        SUM(bytes * (part % {SECOND})) AS micros, SUM(CASE WHEN ds < de THEN bytes ELSE 0 END) AS edge
    FROM placed GROUP BY {_BY}, ds
    UNION ALL
    SELECT 1, {_BY}, de, SUM(bytes * ((e - de * {{day}}) / {SECOND})),
        SUM(bytes * ((e - de * {{day}}) % {SECOND})), SUM(bytes)
    FROM placed WHERE ds < de GROUP BY {_BY}, de
)
SELECT part, summed.tenant, COALESCE(a.campaign, r.campaign, made_for), COALESCE(a.rendition, ''),
    COALESCE(a.id, ''), COALESCE(a.spend, 'live'), kind, at, seconds, micros, edge
FROM summed LEFT JOIN attempts a ON a.id = user_id LEFT JOIN revisions r ON r.id = user_id
"""
).format(day=DAY)
#: Whether anything must be cut at all: a look at uses and settings, none at objects.
_ANY_SHARED = _WHOSE + "SELECT 1 FROM again WHERE accounts = 2 UNION ALL SELECT 1 FROM changed LIMIT 1"
_SHARED = (
    _WHOSE.rstrip()
    + f""", cut AS (
    SELECT object FROM again WHERE accounts = 2
    UNION SELECT object FROM moved JOIN object_uses ON user_id = moved.id
    UNION SELECT o.id FROM changed JOIN objects o ON o.campaign = changed.campaign
    WHERE NOT EXISTS (
        SELECT 1 FROM object_uses u WHERE u.object = o.id AND u.user_kind IN ('attempt', 'revision'))
)
SELECT o.id, o.tenant, COALESCE(o.campaign, '') AS campaign, o.kind, o.size_bytes AS bytes, o.created_at,
    o.purged_at, u.campaign AS user_campaign, u.rendition, u.attempt, u.spend, u.from_at, u.until_at
FROM cut JOIN objects o ON o.id = cut.object LEFT JOIN users u ON u.object = o.id
WHERE {_LYING} ORDER BY o.id
"""
)


def measure(connection: sa.Connection, days: Sequence[date]) -> Iterator[tuple[date, dict[Owner, int]]]:
    """Byte-microseconds by owner, for each of consecutive *days*."""
    edges = bounds(days)
    centers = _cost_centers(connection)
    simple = _simple(connection, edges, centers)
    shared = _shared(connection, edges, centers)
    lying: dict[int, int] = {}
    for number, day in enumerate(days):
        for one, change in simple.rises.pop(number, {}).items():
            size = lying.pop(one, 0) + change
            if size:
                lying[one] = size
        amounts = simple.parts.pop(number, {})
        for one, size in lying.items():
            amounts[one] = amounts.get(one, 0) + size * DAY
        owners = simple.owners
        found = {owners[one]: amount for one, amount in amounts.items() if amount}
        for owner, amount in shared.get(number, {}).items():
            found[owner] = found.get(owner, 0) + amount
        yield day, found


@dataclass(frozen=True, slots=True)
class _Simple:
    """Parts of days, and changes of what lies through whole ones, by number of the day and of the owner."""

    owners: Sequence[Owner]
    parts: dict[int, dict[int, int]]
    rises: dict[int, dict[int, int]]


def _simple(connection: sa.Connection, edges: Sequence[int], centers: _Centers) -> _Simple:
    numbers: dict[tuple[str, ...], int] = {}
    owners: dict[Owner, int] = {}
    parts: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    rises: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    found = connection.execution_options(yield_per=FETCHED).execute(
        sa.text(_SIMPLE), {"lo": edges[0], "hi": edges[-1]}
    )
    for block in found.partitions():
        for part, tenant, campaign, rendition, attempt, spend, kind, at, seconds, micros, edge in block:
            named = (tenant, campaign, attempt, kind)
            number = numbers.get(named)
            if number is None:
                center = _center(centers.get(campaign, ()), edges[0])
                owner = (tenant, campaign, center, rendition, attempt, spend, f"{kind}_byte_seconds")
                number = numbers[named] = owners.setdefault(owner, len(owners))
            if amount := int(seconds) * SECOND + int(micros):
                parts[at][number] += amount
            if edge:
                rises[at + 1 - part][number] += int(edge) if part == 0 else -int(edge)
    return _Simple(tuple(owners), parts, rises)


def _shared(
    connection: sa.Connection, edges: Sequence[int], centers: _Centers
) -> dict[int, dict[Owner, int]]:
    found: dict[int, dict[Owner, int]] = defaultdict(lambda: defaultdict(int))
    if connection.scalar(sa.text(_ANY_SHARED), {"lo": edges[0]}) is None:
        return found
    rows = connection.execute(sa.text(_SHARED), {"lo": edges[0], "hi": edges[-1]}).all()
    for group in _by_object(rows):
        for owner, amounts in _cut(group, centers, edges):
            for number, amount in enumerate(amounts):
                if amount:
                    found[number][owner] += amount
    return found


def _by_object(rows: Iterable[sa.Row[Any]]) -> Iterator[list[sa.Row[Any]]]:
    groups: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for row in rows:
        groups[row.id].append(row)
    return iter(groups.values())


_SEPARATOR = "\x1f"


def _cut(
    rows: Sequence[sa.Row[Any]], centers: _Centers, edges: Sequence[int]
) -> Iterator[tuple[Owner, list[int]]]:
    """One object's byte-time by owner: cut where its users change, and where a cost centre does."""
    one = rows[0]
    uses = [
        Use(
            _SEPARATOR.join((row.user_campaign, row.rendition, row.attempt, row.spend)),
            row.from_at,
            row.until_at,
        )
        for row in rows
        if row.user_campaign is not None
    ]
    made_for = _SEPARATOR.join((one.campaign, "", "", "live"))
    campaigns = {one.campaign, *(use.account.split(_SEPARATOR)[0] for use in uses)}
    changes = {at for campaign in campaigns for at, _ in centers.get(campaign, ())}
    end = edges[-1] if one.purged_at is None else min(one.purged_at, edges[-1])
    cuts = sorted({one.created_at, end} | {at for at in changes if one.created_at < at < end})
    for start, stop in pairwise(cuts):
        piece = Interval(one.bytes, start, stop)
        for account, amounts in shared_byte_time(piece, uses, made_for, edges).items():
            campaign, rendition, attempt, spend = account.split(_SEPARATOR)
            center = _center(centers.get(campaign, ()), start)
            yield (
                (one.tenant, campaign, center, rendition, attempt, spend, f"{one.kind}_byte_seconds"),
                amounts,
            )


def _center(changes: Sequence[tuple[int, str]], at: int) -> str:
    """The cost centre that held; before the first one that first one."""
    held = [center for since, center in changes if since <= at]
    return held[-1] if held else (changes[0][1] if changes else "")


def _cost_centers(connection: sa.Connection) -> _Centers:
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    wanted = sa.select(
        campaign_settings.c.campaign, campaign_settings.c.effective_from, campaign_settings.c.cost_center
    ).order_by(campaign_settings.c.campaign, campaign_settings.c.number)
    for campaign, since, center in connection.execute(wanted):
        found[campaign].append((since, center))
    return found


def replace_day(tx: Transaction, day: date, found: Mapping[Owner, int]) -> None:
    """Put a day's byte-time in place of what was measured before, as a whole."""
    at = bounds([day])[0]
    tx.connection.execute(sa.delete(storage_days).where(storage_days.c.day == at))
    names = _OWNER.split(", ")
    rows = [
        {"day": at, "byte_seconds": amount // SECOND, "byte_micros": amount % SECOND}
        | dict(zip(names, owner, strict=True))
        for owner, amount in sorted(found.items())
    ]
    if rows:
        tx.connection.execute(sa.insert(storage_days), rows)
    mark = insert_for(tx.connection, storage_measured).values(day=at, tenant="*", measured_at=tx.now)
    tx.connection.execute(mark.on_conflict_do_update(index_elements=["day"], set_={"measured_at": tx.now}))


def measured_at(connection: sa.Connection, days: Sequence[date]) -> dict[date, int]:
    """When each of consecutive *days* was measured last; those that never were are left out."""
    edges = bounds(days)
    found = connection.execute(
        sa.select(storage_measured.c.day, storage_measured.c.measured_at).where(
            storage_measured.c.day >= edges[0], storage_measured.c.day < edges[-1]
        )
    )
    by_edge = dict(zip(edges, days, strict=False))
    return {by_edge[row.day]: row.measured_at for row in found}


def first_object_at(connection: sa.Connection) -> int | None:
    """When the first object was made: before it nothing can be measured."""
    found: int | None = connection.scalar(sa.text("SELECT MIN(created_at) FROM objects"))
    return found
