"""Partition marks: which campaigns changed since Dagster was told, and what it was told last.

Belongs here: statements over `partition_marks`. Does not belong here: what is said (`mark_partitions`), or
saying it (`pipeline.jobs.bulk_events`).

A mark is due while `marked` lags `due`. Telling is two writes: `claim` before the events and `settle` after
them, each comparing `told` with what was read, so that of two tellers one tells, and what a killed teller
left half said is said again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import campaigns, partition_marks
from resources.database.upsert import insert_for

#: What was told of each part: part -> facts about the telling (`mark_partitions` owns their shape).
Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    campaign: str
    tenant: str
    due: int
    told: Told


def due_marks(
    connection: sa.Connection, now: int, *, limit: int, campaigns: Collection[str] | None = None
) -> list[Mark]:
    """Marks to tell now, longest due first, of the named campaigns or of all."""
    wanted = sa.select(partition_marks).where(
        partition_marks.c.due > partition_marks.c.marked, partition_marks.c.due_at <= now
    )
    if campaigns is not None:
        wanted = wanted.where(partition_marks.c.campaign.in_(campaigns))
    rows = connection.execute(wanted.order_by(partition_marks.c.due_at).limit(limit))
    return [Mark(row.campaign, row.tenant, row.due, row.told) for row in rows]


def told_of(connection: sa.Connection, campaign: str) -> Told:
    found = connection.scalar(sa.select(partition_marks.c.told).where(partition_marks.c.campaign == campaign))
    return found or {}


def claim(tx: Transaction, mark: Mark, told: Told) -> bool:
    """Say that *told* is about to be told; False when another teller was first."""
    return _update(tx, mark, mark.told, {"told": told})


def settle(tx: Transaction, mark: Mark, claimed: Told, told: Told, *, later_at: int | None) -> bool:
    """What was claimed is told. With *later_at* the mark stays due and comes again then."""
    values: dict[str, Any] = {"told": told}
    if later_at is None:
        values["marked"] = mark.due
    else:
        # a change that came meanwhile made it due at once, and stays so
        values["due_at"] = sa.case(
            (partition_marks.c.due == mark.due, later_at), else_=partition_marks.c.due_at
        )
    return _update(tx, mark, claimed, values)


def _update(tx: Transaction, mark: Mark, expected: Told, values: Mapping[str, Any]) -> bool:
    same = (partition_marks.c.campaign == mark.campaign, partition_marks.c.told == expected)
    return tx.connection.execute(sa.update(partition_marks).where(*same).values(values)).rowcount == 1


def without_partition(connection: sa.Connection, limit: int) -> Sequence[tuple[str, str]]:
    """Campaigns (id, tenant) whose key Dagster does not know yet, oldest first."""
    wanted = (
        sa.select(campaigns.c.id, campaigns.c.tenant)
        .outerjoin(partition_marks, partition_marks.c.campaign == campaigns.c.id)
        .where(sa.func.coalesce(partition_marks.c.has_partition, 0) == 0)
        .order_by(campaigns.c.created_at)
        .limit(limit)
    )
    return [(row.id, row.tenant) for row in connection.execute(wanted)]


def record_partitions(tx: Transaction, added: Sequence[tuple[str, str]]) -> None:
    """Their keys are known to Dagster now."""
    insert = insert_for(tx.connection, partition_marks)
    tx.connection.execute(
        insert.on_conflict_do_update(index_elements=["campaign"], set_={"has_partition": 1}),
        [
            {"campaign": campaign, "tenant": tenant, "due_at": tx.now, "told": {}, "has_partition": 1}
            for campaign, tenant in added
        ],
    )
