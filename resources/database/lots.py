"""Lots as rows: requested, begun, ended, and what came of them.

Belongs here: statements over `lots`, and which of them still count as open. Does not belong here: what a lot
does (`pipeline.steps.produce`), or how its run is requested (`sensors`).

A row may stay open because its run never came about or died; it stops counting after a while, so that a
stage is never held up by it. Two lots of one stage at once are harmless: each works on what it leased.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from resources.database.database import Transaction
from resources.database.due import open_lot
from resources.database.schema import lots

SECOND = 1_000_000
#: A run that has not begun after this long was lost before it did, only previewed, or waits for a slot.
UNSTARTED_SECONDS = 60
#: A lot ends by itself after ten minutes.
STARTED_SECONDS = 720
#: PostgreSQL: two sensors that request at once take turns; SQLite's write lock does the same by itself.
LOTS_LOCK = 0x5EE1_0002


@dataclass(frozen=True, slots=True)
class Lot:
    stage: Stage
    number: int


def request_missing(tx: Transaction, stages: Collection[Stage], at_most: int) -> list[Lot]:
    """Open a lot of each of *stages* that has fewer than *at_most* open ones."""
    if tx.connection.dialect.name == "postgresql":
        tx.connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOTS_LOCK})")
    full = busy_stages(tx.connection, tx.now, at_most)
    return [Lot(stage, open_lot(tx, stage)) for stage in stages if stage not in full]


def busy_stages(connection: sa.Connection, now: int, at_most: int) -> frozenset[Stage]:
    """Stages that have as many open lots as they may."""
    found = connection.scalars(
        sa.select(lots.c.stage).where(_is_open(now)).group_by(lots.c.stage).having(sa.func.count() >= at_most)
    )
    return frozenset(Stage(stage) for stage in found)


def begun_lots(connection: sa.Connection, now: int) -> Sequence[sa.Row[Any]]:
    """Open lots whose run said that it began."""
    wanted = sa.select(lots).where(_is_open(now), lots.c.run_id.is_not(None))
    return connection.execute(wanted.order_by(lots.c.requested_at)).all()


def begin_lot(tx: Transaction, lot: Lot, run_id: str) -> None:
    tx.connection.execute(
        sa.update(lots).where(_is(lot)).values(run_id=run_id, started_at=tx.now, ended_at=None)
    )


def end_lot(tx: Transaction, lot: Lot, counts: Mapping[str, int]) -> None:
    """Close *lot*; one that is closed already stays as it is."""
    tx.connection.execute(
        sa.update(lots)
        .where(_is(lot), lots.c.ended_at.is_(None))
        .values(ended_at=tx.now, counts=dict(counts), items=sum(counts.values()))
    )


def _is(lot: Lot) -> sa.ColumnElement[bool]:
    return sa.and_(lots.c.stage == str(lot.stage), lots.c.number == lot.number)


def _is_open(now: int) -> sa.ColumnElement[bool]:
    waits = sa.and_(lots.c.started_at.is_(None), lots.c.requested_at > now - UNSTARTED_SECONDS * SECOND)
    works = lots.c.started_at > now - STARTED_SECONDS * SECOND
    return sa.and_(lots.c.ended_at.is_(None), sa.or_(waits, works))
