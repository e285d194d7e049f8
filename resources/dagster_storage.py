"""Takes old rows out of Dagster's own storage, and keeps what its window still shows.

Belongs here: which rows of event logs and runs may go, and what runs printed. Does not belong here: how long
they are kept, or when this runs (`pipeline.jobs.upkeep`); ticks go by `retention` in dagster.yaml.

Dagster has no retention for events and runs, and its `delete_run` takes a run's materializations along, so
that partitions turn "missing" (measured). Here a run goes with its log alone: of each partition the newest
materialization and observation stay, and older ones go. It uses private names, so the release is pinned and a
test fails when they move.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager
from dagster._core.storage.runs.schema import RunTagsTable
from dagster._core.storage.runs.sql_run_storage import SqlRunStorage

from pipeline.domain.errors import BadSettings

#: What the window shows of assets and partitions; of each kind a partition's newest stays.
ASSET_EVENTS = (
    "ASSET_MATERIALIZATION",
    "ASSET_OBSERVATION",
    "ASSET_MATERIALIZATION_PLANNED",
    "ASSET_CHECK_EVALUATION",
    "ASSET_CHECK_EVALUATION_PLANNED",
    "ASSET_FAILED_TO_MATERIALIZE",
)
FINISHED = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
#: Runs and rows of one statement; SQLite takes 32,766 parameters.
PAGE = 500
#: Runs of one job that a pruning takes on; the next one goes on.
RUNS = 20_000
#: Dagster's name for events of no run.
RUNLESS = ""

_E, _C, _T = SqlEventLogStorageTable, AssetCheckExecutionsTable, AssetEventTagsTable


@dataclass(frozen=True, slots=True)
class Pruned:
    runs: int
    events: int


def prune(instance: DagsterInstance, jobs: Collection[str], before: datetime) -> Pruned:
    """Remove finished runs of *jobs* from before *before*, their logs, and older asset events of partitions.

    Runs of other jobs stay. Safe to kill: what was not removed is found the next time.
    """
    events = 0
    runs = [run_id for job in sorted(jobs) for run_id in _runs(instance, job, before)]
    for page in _pages(runs):
        events += _forget_logs(_events_of(instance), page)
        _forget_outputs(instance, page)
        _forget_runs(instance, page)
    events += _forget_older(_events_of(instance), before)
    return Pruned(len(runs), events)


def _runs(instance: DagsterInstance, job: str, before: datetime) -> list[str]:
    wanted = RunsFilter(job_name=job, statuses=list(FINISHED), updated_before=before)
    return [run.run_id for run in instance.get_runs(wanted, limit=RUNS)]


def _pages(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), PAGE):
        yield ids[start : start + PAGE]


def _events_of(instance: DagsterInstance) -> SqlEventLogStorage:
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        raise _no_sql(storage)
    return storage


def _runs_of(instance: DagsterInstance) -> SqlRunStorage:
    storage = instance.run_storage
    if not isinstance(storage, SqlRunStorage):
        raise _no_sql(storage)
    return storage


def _no_sql(storage: object) -> BadSettings:
    kind = type(storage).__name__
    return BadSettings("dagster.yaml", f"{kind} is no SQL storage", "keep Dagster on SQLite or PostgreSQL")


def _forget_logs(storage: SqlEventLogStorage, run_ids: Sequence[str]) -> int:
    is_asset_event = _E.c.dagster_event_type.in_(ASSET_EVENTS)
    logs = sa.delete(_E).where(
        _E.c.run_id.in_(run_ids), sa.or_(_E.c.dagster_event_type.is_(None), ~is_asset_event)
    )
    with storage.index_connection() as connection:
        number = int(connection.execute(logs).rowcount)
    if isinstance(storage, SqliteEventLogStorage):  # a file a run; the index has its own copy of asset events
        for run_id in run_ids:
            path = Path(storage.path_for_shard(run_id))
            for one in (path, path.with_suffix(".db-wal"), path.with_suffix(".db-shm")):
                one.unlink(missing_ok=True)
    return number


def _forget_outputs(instance: DagsterInstance, run_ids: Sequence[str]) -> None:
    """What the runs printed; Dagster never removes it."""
    manager = instance.compute_log_manager
    if not isinstance(manager, NoOpComputeLogManager):
        for run_id in run_ids:
            manager.delete_logs(prefix=[run_id])


def _forget_runs(instance: DagsterInstance, run_ids: Sequence[str]) -> None:
    storage = _runs_of(instance)
    with storage.connect() as connection:
        connection.execute(sa.delete(RunTagsTable).where(RunTagsTable.c.run_id.in_(run_ids)))
    for run_id in run_ids:
        storage.delete_run(run_id)


def _overtaken(
    row: sa.Column[Any], is_old: sa.ColumnElement[bool], *group: sa.Column[Any]
) -> sa.Select[tuple[int]]:
    """Ids of old rows that are not the newest of their group.

    One sort: PostgreSQL goes through `NOT IN (the newest)` once a row as soon as that exceeds its memory.
    """
    is_asset_event = [_E.c.dagster_event_type.in_(ASSET_EVENTS)] if row.table is _E else []
    newest = sa.func.max(row).over(partition_by=group)
    ranked = sa.select(row, is_old.label("is_old"), newest.label("newest")).where(*is_asset_event).subquery()
    return sa.select(ranked.c.id).where(ranked.c.is_old, ranked.c.id < ranked.c.newest)


def _forget_older(storage: SqlEventLogStorage, before: datetime) -> int:
    """Asset events that a newer one of the same partition and kind has made history."""
    at = before.astimezone(UTC).replace(tzinfo=None)  # as Dagster stores it
    old = _overtaken(_E.c.id, _E.c.timestamp < at, _E.c.asset_key, _E.c.partition, _E.c.dagster_event_type)
    old_checks = _overtaken(
        _C.c.id, _C.c.create_timestamp < at, _C.c.asset_key, _C.c.check_name, _C.c.partition
    )
    with storage.index_connection() as connection:
        connection.execute(sa.delete(_T).where(_T.c.event_id.in_(old)))
        number = int(connection.execute(sa.delete(_E).where(_E.c.id.in_(old))).rowcount)
        connection.execute(sa.delete(_C).where(_C.c.id.in_(old_checks)))
    if isinstance(storage, SqliteEventLogStorage):
        with storage.run_connection(RUNLESS) as connection:
            connection.execute(sa.delete(_E).where(_E.c.timestamp < at))
    return number
