"""Claims of 50 with lease, caps and fairness against a bare indexed UPDATE … RETURNING (L7, G10).

Both claim from the same table: 10,000 queued attempts of 50 tenants, all due. What was claimed is put back
at the end of the queue, untimed, so that every claim finds the same 10,000.

Ours: `claim_submissions` in `Database.run`, with the clock, the gate, the counters of tenant and provider,
pauses, and the operation id. Bare: one UPDATE of the 50 that are due longest, through the index on state and
due time, as whole rows (a claimer needs them), by a DB-API connection of the same engine.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from benchmarks.databases import LONG_AGO, Bench, each_database, seed, settle
from benchmarks.figures import Figure, at_least, interleaved, shown, timed
from resources.database import schema
from resources.database.database import Database, Transaction
from resources.database.lane_claims import claim_submissions
from resources.database.lanes import set_caps

TENANTS, QUEUED, CLAIM = 50, 10_000, 50
#: Claims of each side in one round.
SAMPLES = 40

BARE_CLAIM = (
    "UPDATE attempts SET lease_owner = 'bare', lease_token = lease_token + 1, lease_until = {at} "
    "WHERE id IN (SELECT id FROM attempts WHERE state = 'queued' AND next_action_at <= {at} "
    "AND lease_until < {at} ORDER BY next_action_at LIMIT {limit}{lock}) RETURNING *"
)


def benchmark() -> Iterator[Figure]:
    with each_database() as benches:
        for bench in benches:
            yield _figure(bench)


def _figure(bench: Bench) -> Figure:
    database, bare = bench.database, bench.bare()
    seed(database, "tenant", tenants=TENANTS, campaigns=1, attempts=QUEUED // TENANTS)
    database.run(_line_up)
    database.run(lambda tx: set_caps(tx, "bench", cap=QUEUED, tenant_cap=QUEUED // TENANTS))
    settle(database)
    back = _PutBack(database)
    sides = interleaved(lambda: _ours(database, back), lambda: _bare(bench, bare, back), samples=SAMPLES)
    ours, theirs = sides.medians
    name = f"claims of {CLAIM} of {QUEUED:,} queued, {bench.dialect}"
    return Figure(name, sides.throughput_ratio, shown(ours), shown(theirs), at_least(0.5))


def _line_up(tx: Transaction) -> None:
    """One queue in which the tenants stand mixed: everyone's first, everyone's second, and so on."""
    place = sa.cast(sa.func.substr(schema.attempts.c.id, len("tenant000.c000-") + 1, 5), sa.BigInteger)
    tx.connection.execute(sa.update(schema.attempts).values(next_action_at=LONG_AGO + place))


class _PutBack:
    """Puts claimed attempts at the end of the queue, as if they had never been claimed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._places = itertools.count(LONG_AGO + 1_000)

    def __call__(self, ids: Sequence[str]) -> None:
        assert len(ids) == CLAIM
        place = next(self._places)

        def work(tx: Transaction) -> None:
            free = {"lease_until": 0, "lease_owner": None, "lane_held": 0, "next_action_at": place}
            claimed = schema.attempts.c.id.in_(ids)
            tx.connection.execute(sa.update(schema.attempts).where(claimed).values(**free))
            tx.connection.execute(sa.update(schema.lanes).values(in_flight=0))

        self._database.run(work)


def _ours(database: Database, back: _PutBack) -> float:
    with timed() as watch:
        rows = database.run(lambda tx: claim_submissions(tx, "bench", "ours", CLAIM))
    back([row.id for row in rows])
    return watch.seconds


def _bare(bench: Bench, connection: Any, back: _PutBack) -> float:
    locks = " FOR UPDATE SKIP LOCKED" if bench.dialect == "postgresql" else ""
    at = LONG_AGO + 10**9
    statement = BARE_CLAIM.format(at=at, limit=CLAIM, lock=locks)
    with timed() as watch:
        cursor = connection.cursor()
        if bench.dialect == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
        cursor.execute(statement)
        rows = cursor.fetchall()
        connection.commit()
    back([row[0] for row in rows])
    return watch.seconds
