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
#: A campaign's cost centres: from when each held.
_Centers = Mapping[str, Sequence[tuple[int, str]]]

#: One row an object that lay in the window, with its one account (`accounts` = 1), or to be cut (more).
_WHOSE = """
WITH users AS (
    SELECT u.object, a.campaign, a.rendition, a.id AS attempt, a.spend, u.from_at, u.until_at
    FROM object_uses u JOIN attempts a ON a.id = u.user_id WHERE u.user_kind = 'attempt'
    UNION ALL
    SELECT u.object, r.campaign, '', '', 'live', u.from_at, u.until_at
    FROM object_uses u JOIN revisions r ON r.id = u.user_id WHERE u.user_kind = 'revision'
), carried AS MATERIALIZED (
    SELECT object, MIN(campaign) AS campaign, MIN(rendition) AS rendition, MIN(attempt) AS attempt,
        MIN(spend) AS spend,
        CASE WHEN MIN(campaign) = MAX(campaign) AND MIN(attempt) = MAX(attempt) THEN 1 ELSE 2 END AS accounts
    FROM users GROUP BY object
), changed AS MATERIALIZED (
    SELECT campaign FROM campaign_settings GROUP BY campaign HAVING MIN(cost_center) <> MAX(cost_center)
)
"""
_LYING = (
    _WHOSE.rstrip()
    + """, lying AS (
    SELECT o.id, o.tenant, COALESCE(c.campaign, o.campaign, '') AS campaign,
        COALESCE(c.rendition, '') AS rendition, COALESCE(c.attempt, '') AS attempt,
        COALESCE(c.spend, 'live') AS spend, o.kind,
        o.size_bytes AS bytes, o.created_at, o.purged_at,
        CASE WHEN COALESCE(c.accounts, 1) = 1 THEN 1 ELSE 2 END AS accounts
    FROM objects o LEFT JOIN carried c ON c.object = o.id
    WHERE o.created_at < :hi AND (o.purged_at IS NULL OR o.purged_at > :lo)
), simple AS (
    SELECT l.tenant, l.campaign, l.rendition, l.attempt, l.spend, l.kind, l.bytes,
        (CASE WHEN l.created_at > :lo THEN l.created_at ELSE :lo END) - :lo AS s,
        (CASE WHEN COALESCE(l.purged_at, :hi) < :hi THEN l.purged_at ELSE :hi END) - :lo AS e
    FROM lying l WHERE l.accounts = 1 AND l.campaign NOT IN (SELECT campaign FROM changed)
), placed AS MATERIALIZED (
    SELECT simple.*, s / {day} AS ds, e / {day} AS de FROM simple WHERE s < e
)
"""
)
_OWNER = "tenant, campaign, cost_center, rendition, attempt, spend, meter"
#: An attempt has one rendition and one kind of spend.
_BY = "tenant, campaign, attempt, kind"
_OWNED = "tenant, campaign, MIN(rendition) AS rendition, attempt, MIN(spend) AS spend, kind"
_PART = "CASE WHEN ds = de THEN e - s ELSE (ds + 1) * {day} - s END"
#: Part 0: the first part of a day, and bytes that rise on the next; part 1: the last part, and what falls.
_SIMPLE = (
    _LYING
    + f"""
SELECT 0 AS part, {_OWNED}, ds AS at,
    SUM(bytes * (({_PART}) / {SECOND})) AS seconds, SUM(bytes * (({_PART}) % {SECOND})) AS micros,
    SUM(CASE WHEN ds < de THEN bytes ELSE 0 END) AS edge
FROM placed GROUP BY {_BY}, ds
UNION ALL
SELECT 1, {_OWNED}, de, SUM(bytes * ((e - de * {{day}}) / {SECOND})),
    SUM(bytes * ((e - de * {{day}}) % {SECOND})), SUM(bytes)
FROM placed WHERE ds < de GROUP BY {_BY}, de
"""
).format(day=DAY)
#: Whether anything must be cut at all: a look at uses and settings, none at objects.
_ANY_SHARED = _WHOSE + "SELECT 1 FROM carried WHERE accounts = 2 UNION ALL SELECT 1 FROM changed LIMIT 1"
_SHARED = (
    _LYING
    + """
SELECT l.id, l.tenant, l.campaign, l.kind, l.bytes, l.created_at, l.purged_at,
    u.campaign AS user_campaign, u.rendition, u.attempt, u.spend, u.from_at, u.until_at
FROM lying l LEFT JOIN users u ON u.object = l.id
WHERE l.accounts = 2 OR l.campaign IN (SELECT campaign FROM changed) ORDER BY l.id
"""
).format(day=DAY)


def measure(connection: sa.Connection, days: Sequence[date]) -> Iterator[tuple[date, dict[Owner, int]]]:
    """Byte-microseconds by owner, for each of consecutive *days*."""
    edges = bounds(days)
    centers = _cost_centers(connection)
    simple = _simple(connection, edges, centers)
    shared = _shared(connection, edges, centers)
    lying: dict[Owner, int] = defaultdict(int)
    for number, day in enumerate(days):
        found: dict[Owner, int] = defaultdict(int)
        for owner, change in simple.rises.get(number, ()):
            lying[owner] += change
            if not lying[owner]:
                del lying[owner]
        for owner, size in lying.items():
            found[owner] += size * DAY
        for part in (simple.parts, shared):
            for owner, amount in part.get(number, {}).items():
                found[owner] += amount
        yield day, {owner: amount for owner, amount in found.items() if amount}


@dataclass(frozen=True, slots=True)
class _Simple:
    """Parts of days, and changes of what lies through whole ones, by number of the day."""

    parts: Mapping[int, Mapping[Owner, int]]
    rises: Mapping[int, Sequence[tuple[Owner, int]]]


def _simple(connection: sa.Connection, edges: Sequence[int], centers: _Centers) -> _Simple:
    parts: dict[int, dict[Owner, int]] = defaultdict(lambda: defaultdict(int))
    rises: dict[int, list[tuple[Owner, int]]] = defaultdict(list)
    for (
        part,
        tenant,
        campaign,
        rendition,
        attempt,
        spend,
        kind,
        at,
        seconds,
        micros,
        edge,
    ) in connection.execute(sa.text(_SIMPLE), {"lo": edges[0], "hi": edges[-1]}):
        center = _center(centers.get(campaign, ()), edges[0])
        owner = (tenant, campaign, center, rendition, attempt, spend, f"{kind}_byte_seconds")
        amount = int(seconds) * SECOND + int(micros)
        if amount:
            parts[at][owner] += amount
        if edge:
            rises[at + 1 if part == 0 else at].append((owner, int(edge) if part == 0 else -int(edge)))
    return _Simple(parts, rises)


def _shared(
    connection: sa.Connection, edges: Sequence[int], centers: _Centers
) -> dict[int, dict[Owner, int]]:
    found: dict[int, dict[Owner, int]] = defaultdict(lambda: defaultdict(int))
    if connection.scalar(sa.text(_ANY_SHARED)) is None:
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
