"""What is due now, per stage: the one question of the lifecycle sensor."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from resources.database.claims import FOR_RETRY, work_of
from resources.database.database import Transaction
from resources.database.schema import attempts, index_entries, lanes, lots, revisions
from resources.database.upsert import insert_for

#: Counting stops here: a sensor needs to know "many", not how many.
ENOUGH = 1_000


def due_by_stage(connection: sa.Connection, now: int) -> Mapping[Stage, int]:
    """Items that a lot of each stage could take on now, counted up to `ENOUGH`."""
    return {
        Stage.INGEST: _count(connection, _due_revisions(now)),
        Stage.SUBMIT: _count(connection, _due(work_of(Stage.SUBMIT), now).where(_has_room()))
        + _count(connection, _due(FOR_RETRY, now)),
        Stage.RETRIEVE: _count(connection, _due(work_of(Stage.RETRIEVE), now)),
        Stage.DERIVE: _count(connection, _due(work_of(Stage.DERIVE), now)),
        Stage.PUBLISH: _count(connection, _due(work_of(Stage.PUBLISH), now))
        + _count(connection, sa.select(index_entries.c.id).where(index_entries.c.next_action_at <= now)),
    }


def waiting_since(connection: sa.Connection, stage: Stage) -> int:
    """Since when the oldest attempt that *stage* works on is due; 0 when what is due is no attempt."""
    if stage is Stage.INGEST:
        return 0
    oldest = sa.select(sa.func.min(attempts.c.next_action_at)).where(work_of(stage))
    return int(connection.scalar(oldest) or 0)


def _count(connection: sa.Connection, wanted: sa.Select[tuple[str]]) -> int:
    return int(
        connection.scalar(sa.select(sa.func.count()).select_from(wanted.limit(ENOUGH).subquery())) or 0
    )


def _due(work: sa.ColumnElement[bool], now: int) -> sa.Select[tuple[str]]:
    return sa.select(attempts.c.id).where(
        attempts.c.next_action_at <= now, attempts.c.lease_until < now, work
    )


def _has_room() -> sa.ColumnElement[bool]:
    """A full lane takes nothing but what is inside and abandoned; a lane not made yet is made by the lot."""
    full = sa.exists().where(
        lanes.c.provider == attempts.c.provider,
        lanes.c.tenant.in_([attempts.c.tenant, "*"]),
        lanes.c.in_flight >= lanes.c.cap,
    )
    return sa.or_(~full, attempts.c.lane_held == 1)


def _due_revisions(now: int) -> sa.Select[tuple[str]]:
    return sa.select(revisions.c.id).where(
        sa.or_(revisions.c.next_action_at <= now, revisions.c.receipt_due_at <= now),
        revisions.c.lease_until < now,
    )


def open_lot(tx: Transaction, stage: Stage) -> int:
    """Take the next number of a stage's lots; the number makes its run's key unique for ever."""
    newest = tx.connection.scalar(sa.select(sa.func.max(lots.c.number)).where(lots.c.stage == str(stage)))
    number = int(newest or 0) + 1
    insert = insert_for(tx.connection, lots)
    tx.connection.execute(insert.values(stage=str(stage), number=number, requested_at=tx.now))
    return number
