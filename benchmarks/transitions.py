"""Guarded transitions in lots of 1,000 against the same rows written by hand without guards (L3).

Ours: one `apply` of 1,000 moves `generating` to `retrieving`, as the poller makes them, over 20 campaigns:
guarded UPDATE by state, version and lease token, audit, a usage fact and an outbox message each, a
partition message a campaign, all under one operation id that a lost COMMIT can be looked up by.

Bare: the same rows into the same tables with the same indexes, by a DB-API connection of the same engine
(same journal, same durability): UPDATE by primary key and plain INSERTs, one transaction. SQLite uses
`executemany`. psycopg2's `executemany` is one round trip a row, so PostgreSQL is measured against
`execute_values` (a thousand rows a statement), which is the harder baseline; the easier is stated.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import psycopg2.extras
import sqlalchemy as sa

from benchmarks.databases import LONG_AGO, Bench, each_database, seed, settle
from benchmarks.figures import ROUNDS, Figure, Goal, at_least, interleaved, shown, timed
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move
from resources.database import schema
from resources.database.transitions import Transition, Usage, Verdict, apply

LOT, CAMPAIGNS = 1_000, 20
MOVE = Move(AttemptState.GENERATING, AttemptState.RETRIEVING)
FACTS = {
    "last_observation": '["output|succeeded|","2026-01-01T00:00:00Z",1]',
    "poll_count": 3,
    "polls_metered": 3,
    "outcome_class": None,
    "outcome_reason": "output_reported",
    "next_poll_at": None,
    "result_expires_at": LONG_AGO,
    "ended_at": None,
}

#: Writes parameter tuples with one statement: (cursor, statement, rows).
Write = Callable[[Any, str, Sequence[tuple[Any, ...]]], None]

UPDATE_BY_ROW = (
    "UPDATE attempts SET state=?, version=?, entity_version=?, last_observation=?, poll_count=?, "
    "polls_metered=?, outcome_class=?, outcome_reason=?, next_poll_at=?, result_expires_at=?, ended_at=?, "
    "lease_until=0, lease_owner=NULL WHERE id=?"
)
UPDATE_BY_VALUES = (
    "UPDATE attempts SET state=v.state, version=v.version::bigint, entity_version=v.entity::bigint, "
    "last_observation=v.seen, poll_count=v.polls::bigint, polls_metered=v.metered::bigint, "
    "outcome_class=v.outcome, outcome_reason=v.reason, next_poll_at=v.poll_at::bigint, "
    "result_expires_at=v.expires::bigint, ended_at=v.ended::bigint, lease_until=0, lease_owner=NULL "
    "FROM (VALUES %s) AS v (state, version, entity, seen, polls, metered, outcome, reason, poll_at, "
    "expires, ended, id) WHERE attempts.id = v.id"
)
AUDIT = (
    "INSERT INTO audit (tenant, subject_kind, subject_id, from_state, to_state, version, entity_version, "
    "operation_id, actor, reason, lease_token, detail, at) VALUES {places}"
)
USAGE = (
    "INSERT INTO usage_facts (id, tenant, campaign, rendition, attempt, object, cost_center, meter, "
    "quantity, spend, at) VALUES {places}"
)
OUTBOX = "INSERT INTO outbox (id, tenant, topic, subject_id, created_at, next_try_at) VALUES {places}"


def benchmark() -> Iterator[Figure]:
    with each_database() as benches:
        for bench in benches:
            yield from _of(bench)


def _of(bench: Bench) -> Iterator[Figure]:
    goal = at_least(0.5)
    if bench.dialect == "sqlite":
        yield _figure(bench, "executemany", goal, _by_executemany, UPDATE_BY_ROW, "?")
        return
    yield _figure(bench, "execute_values", goal, _by_values, UPDATE_BY_VALUES, None)
    yield _figure(bench, "executemany", None, _by_executemany, UPDATE_BY_ROW.replace("?", "%s"), "%s")


def _figure(
    bench: Bench, how: str, goal: Goal | None, write: Write, update: str, place: str | None
) -> Figure:
    lots = _queue(bench, 2 * (ROUNDS + 1))
    bare = _Bare(bench.bare(), write, update, place)
    sides = interleaved(lambda: _ours(bench, next(lots)), lambda: bare.lot(next(lots)))
    ours, theirs = sides.medians
    return Figure(
        f"transitions in lots of {LOT:,}, {bench.dialect}, {how}",
        sides.throughput_ratio,
        shown(ours),
        shown(theirs),
        goal,
    )


_seeded = itertools.count()


def _queue(bench: Bench, lots: int) -> Iterator[Sequence[sa.Row[Any]]]:
    """Fresh attempts in `generating`, a lot over 20 campaigns at a time."""
    each = LOT // CAMPAIGNS
    seed(
        bench.database,
        f"t{next(_seeded)}-",
        tenants=1,
        campaigns=CAMPAIGNS,
        attempts=each * lots,
        state=str(MOVE.source),
        submission="accepted",
        version=2,
        entity_version=2,
        lease_token=2,
    )
    settle(bench.database)
    with bench.database.reading() as connection:
        found = sa.select(schema.attempts).where(schema.attempts.c.state == str(MOVE.source))
        rows = connection.execute(found.order_by(schema.attempts.c.id)).all()
    return iter([rows[start::lots] for start in range(lots)])


def _ours(bench: Bench, rows: Sequence[sa.Row[Any]]) -> float:
    with timed() as watch:
        wanted = [
            Transition(
                "attempt", row, MOVE, "bench", "output_reported", facts=FACTS,
                usage=(Usage("status_requests", 3),), topics=(Topic.OUTPUT_REPORTED,), release=True,
            )
            for row in rows
        ]  # fmt: skip
        verdicts = bench.database.run(lambda tx: apply(tx, wanted))
    assert verdicts == [Verdict.APPLIED] * LOT
    return watch.seconds


class _Bare:
    """The same rows, written by someone who checks nothing."""

    def __init__(self, connection: Any, write: Write, update: str, place: str | None) -> None:
        self._connection = connection
        self._write = write
        self._update = update
        self._place = place

    def lot(self, rows: Sequence[sa.Row[Any]]) -> float:
        with timed() as watch:
            cursor = self._connection.cursor()
            if self._place == "?":
                cursor.execute("BEGIN IMMEDIATE")
            self._write(cursor, self._update, [(*_changed(row), row.id) for row in rows])
            operation, at = uuid.uuid4().hex, LONG_AGO
            self._insert(cursor, AUDIT, [_audit(row, operation, at) for row in rows])
            self._insert(cursor, USAGE, [_usage(row, at) for row in rows])
            self._insert(cursor, OUTBOX, list(_messages(rows, operation, at)))
            self._connection.commit()
        return watch.seconds

    def _insert(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        width = len(rows[0])
        places = "%s" if self._place is None else f"({', '.join([self._place] * width)})"
        self._write(cursor, statement.format(places=places), rows)


def _by_executemany(cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    cursor.executemany(statement, rows)


def _by_values(cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    psycopg2.extras.execute_values(cursor, statement, rows, page_size=LOT)


def _changed(row: sa.Row[Any]) -> tuple[Any, ...]:
    return (str(MOVE.target), row.version + 1, row.entity_version + 1, *FACTS.values())


def _audit(row: sa.Row[Any], operation: str, at: int) -> tuple[Any, ...]:
    moved = (str(MOVE.source), str(MOVE.target), row.version + 1, row.entity_version + 1)
    return (row.tenant, "attempt", row.id, *moved, operation, "bench", "output_reported", 2, None, at)


def _usage(row: sa.Row[Any], at: int) -> tuple[Any, ...]:
    name, home = f"{row.id}:status_requests:{row.entity_version + 1}", (row.tenant, row.campaign)
    return (name, *home, row.rendition, row.id, None, "MKT-1", "status_requests", 3, row.spend, at)


def _messages(rows: Iterable[sa.Row[Any]], operation: str, at: int) -> Iterator[tuple[Any, ...]]:
    campaigns = set()
    for row in rows:
        campaigns.add((row.tenant, row.campaign))
        name = f"output_reported:{row.id}:{row.entity_version + 1}"
        yield (name, row.tenant, "output_reported", row.id, at, at)
    for tenant, campaign in sorted(campaigns):
        yield (f"wish_changed:{campaign}:{operation}", tenant, "wish_changed", campaign, at, at)
