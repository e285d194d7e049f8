"""Byte-time of a month against the bare head/tail/delta query on the same rows of the same database (F2).

Ours: `measure`, as the asset runs it: who used each object then, sums by account and kind to the microsecond,
cost centres, objects that several share.

Bare: one query over the same `objects` that knows only an object's campaign, and whole seconds: what lay on
its first day and on its last, and what rises and falls at midnights between; then a running sum. Where
objects have uses it follows them to the attempt, as it could not say otherwise whose bytes they are, and
groups by it. Both are read to the end by this process, day by day, and must come to the same sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import sqlalchemy as sa

from benchmarks.databases import LONG_AGO, Bench, each_database, seed, settle
from benchmarks.figures import Figure, Goal, at_most, interleaved, shown, timed
from pipeline.domain.periods import DAY, Month
from pipeline.domain.units import SECOND
from resources.database import schema
from resources.database.storage_usage import measure

OBJECTS, TENANTS, CAMPAIGNS, ATTEMPTS, ROUNDS = 1_000_000, 10, 20, 50, 3
GOAL = at_most(1.5)
MONTH = Month.at(LONG_AGO).next.next.next  #: April: thirty days
_DAYS = len(MONTH.days)

_NUMBERS = {
    "sqlite": "WITH RECURSIVE made(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM made WHERE n < {last})",
    "postgresql": "WITH made(n) AS (SELECT generate_series(0::bigint, {last}))",
}
#: Sizes to 50 MB; made within fifty days around the month; four of ten still lie.
_OBJECTS = """
INSERT INTO objects (id, tenant, campaign, kind, retention_class, key, sha256, size_bytes, media_type, facts,
    state, version, entity_version, created_at, purged_at)
{numbers}, mixed AS (SELECT n, (n * 2654435761) % 4294967296 AS h FROM made),
placed AS (SELECT n, h, {first} + (h * 7919) % (50 * 86400) AS at FROM mixed)
SELECT 'object-' || n, substr(campaign, 1, 4), campaign, 'rendition', 'standard', 'k/' || n, 'x',
    1 + h % 50000000, 'video/mp4', '{{}}', CASE WHEN h % 10 < 4 THEN 'live' ELSE 'purged' END, 0, 0,
    at * 1000000, CASE WHEN h % 10 < 4 THEN NULL ELSE (at + 1 + (h * 104729) % (40 * 86400)) * 1000000 END
FROM placed JOIN numbered ON numbered.number = n % {campaigns}
"""
_USES = """
INSERT INTO object_uses (object, user_kind, user_id, tenant, from_at, until_at)
{numbers}, listed AS (SELECT id, campaign, row_number() OVER (PARTITION BY campaign ORDER BY id) - 1 AS place
FROM attempts)
SELECT objects.id, 'attempt', listed.id, objects.tenant, objects.created_at, NULL
FROM made JOIN objects ON objects.id = 'object-' || n
JOIN listed ON listed.campaign = objects.campaign AND listed.place = n / {campaigns} % {attempts}
"""
_NUMBERED = (
    "numbered AS (SELECT id AS campaign, row_number() OVER (ORDER BY id) - 1 AS number FROM campaigns)"
)
_BARE = """
WITH x AS MATERIALIZED (
    SELECT c, b, s, e, s / 86400 AS ds, e / 86400 AS de FROM (
        SELECT {owner} AS c, size_bytes AS b, {max}(created_at / 1000000, {lo}) - {lo} AS s,
            {min}(coalesce(purged_at / 1000000, {hi}), {hi}) - {lo} AS e
        FROM objects {joined}
        WHERE created_at < {hi}000000 AND coalesce(purged_at, {hi}000000) > {lo}000000
    ) AS clipped)
SELECT 0, c, ds, sum(CASE WHEN ds = de THEN b * (e - s) ELSE b * ((ds + 1) * 86400 - s) END),
    sum(CASE WHEN ds < de THEN b ELSE 0 END) FROM x GROUP BY c, ds
UNION ALL SELECT 1, c, de, sum(b * (e - de * 86400)), sum(b) FROM x WHERE ds < de GROUP BY c, de
"""
_BY_USE = "JOIN object_uses u ON u.object = objects.id AND u.user_kind = 'attempt'"


def benchmark() -> Iterator[Figure]:
    with each_database() as benches:
        for bench in benches:
            _seed_objects(bench)
            yield _figure(bench, "of campaigns", "campaign", "", GOAL)
            _seed_uses(bench)
            yield _figure(bench, "used by attempts", "u.user_id", _BY_USE, GOAL)


def _figure(bench: Bench, shape: str, owner: str, joined: str, goal: Goal) -> Figure:
    sides = interleaved(lambda: _ours(bench), lambda: _bare(bench, owner, joined), ROUNDS)
    ours, bare = sides.medians
    name = f"byte-time, {OBJECTS:,} objects {shape}, {_DAYS} days, {bench.dialect}"
    return Figure(name, ours / bare, shown(ours), shown(bare), goal)


def _seed_objects(bench: Bench) -> None:
    seed(bench.database, "t", tenants=TENANTS, campaigns=CAMPAIGNS, attempts=ATTEMPTS)
    first = (MONTH.start - 20 * DAY) // SECOND
    numbers = _NUMBERS[bench.dialect].format(last=OBJECTS - 1)
    numbers += (
        ", numbered AS (SELECT id AS campaign, row_number() OVER (ORDER BY id) - 1 AS number FROM campaigns)"
    )
    _run(bench, _OBJECTS.format(numbers=numbers, first=first, campaigns=TENANTS * CAMPAIGNS))


def _seed_uses(bench: Bench) -> None:
    numbers = _NUMBERS[bench.dialect].format(last=OBJECTS - 1)
    _run(bench, _USES.format(numbers=numbers, campaigns=TENANTS * CAMPAIGNS, attempts=ATTEMPTS))


def _run(bench: Bench, statement: str) -> None:
    with bench.database.engine.begin() as connection:
        connection.exec_driver_sql(
            statement.replace("%", "%%") if bench.dialect == "postgresql" else statement
        )
    settle(bench.database)


def _ours(bench: Bench) -> float:
    with timed() as watch, bench.database.reading() as connection:
        total = sum(sum(found.values()) for _, found in measure(connection, MONTH.days))
    assert total == _wanted(bench) * SECOND, total
    return watch.seconds


def _bare(bench: Bench, owner: str, joined: str) -> float:
    largest, least = {"sqlite": ("max", "min"), "postgresql": ("greatest", "least")}[bench.dialect]
    low, high = MONTH.start // SECOND, MONTH.end // SECOND
    statement = _BARE.format(owner=owner, joined=joined, max=largest, min=least, lo=low, hi=high)
    connection = bench.bare()
    with timed() as watch:
        cursor = connection.cursor()
        cursor.execute(statement)
        total = sum(sum(day.values()) for day in _days(cursor))
    connection.close()
    assert total == _wanted(bench), total
    return watch.seconds


def _days(rows: Iterator[tuple[int, str, int, int, int]]) -> Iterator[dict[str, int]]:
    parts: list[dict[str, int]] = [defaultdict(int) for _ in range(_DAYS + 1)]
    rises: list[dict[str, int]] = [defaultdict(int) for _ in range(_DAYS + 2)]
    for part, owner, day, seconds, edge in rows:
        parts[day][owner] += int(seconds)
        rises[day + 1 if part == 0 else day][owner] += int(edge) if part == 0 else -int(edge)
    lying: dict[str, int] = defaultdict(int)
    for day in range(_DAYS):
        for owner, change in rises[day].items():
            lying[owner] += change
        found = parts[day]
        for owner, size in lying.items():
            found[owner] += size * 86_400
        yield found


@cache
def _wanted(bench: Bench) -> int:
    """Byte-seconds of the month, object by object."""
    at, total = schema.objects.c, 0
    with bench.database.reading() as connection:
        wanted = sa.select(at.size_bytes, at.created_at, sa.func.coalesce(at.purged_at, MONTH.end))
        for size, created, purged in connection.execution_options(yield_per=10_000).execute(wanted):
            total += size * max(0, min(purged, MONTH.end) - max(created, MONTH.start))
    return total // SECOND
