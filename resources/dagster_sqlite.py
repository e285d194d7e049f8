"""Dagster's storage in SQLite files, with what it looks up again and again kept for the process.

Belongs here: checking a file's revision once a process, one engine a file. Does not belong here: any
statement, or what a file holds; both are Dagster's own, and the files are the same.

For every sensor tick Dagster opens its storage anew: it reads its whole chain of migrations three times, and
makes an engine for every single connection, which compiles every statement anew. That was 55 ms of CPU a
tick, most of what an idle one cost (measured). It uses private names, so the release is pinned and a test
fails when they move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS, create_db_conn_string
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

#: Engines kept: those of the standing files, and of the runs that are written to or looked at now.
ENGINES = 32
#: Dagster's name for the file of what spans runs.
INDEX = "index"

#: Files that this process found, or brought, at the revision of this release.
_checked: set[str] = set()


class KeptRuns(SqliteRunStorage):
    """Runs, and signs of life of the daemons."""

    @classmethod
    def from_local(cls, base_dir: str, inst_data: ConfigurableClassData | None = None) -> Self:
        if _is_checked(base_dir, "runs"):
            return cls(create_db_conn_string(base_dir, "runs"), inst_data)
        opened = super().from_local(base_dir, inst_data)
        _checked.add(create_db_conn_string(base_dir, "runs"))
        return opened

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with _engine(self._conn_string).begin() as connection:
            yield connection


class KeptSchedules(SqliteScheduleStorage):
    """Ticks and states of sensors and schedules."""

    @classmethod
    def from_local(
        cls, base_dir: str, inst_data: ConfigurableClassData | None = None
    ) -> SqliteScheduleStorage:
        if _is_checked(base_dir, "schedules"):
            return cls(create_db_conn_string(base_dir, "schedules"), inst_data)
        opened = super().from_local(base_dir, inst_data)
        _checked.add(create_db_conn_string(base_dir, "schedules"))
        return opened

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with _engine(self._conn_string).begin() as connection:
            yield connection


class KeptEvents(SqliteEventLogStorage):
    """Events: a file a run, and one of what spans them."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        if _is_checked(base_dir, INDEX):
            self._initialized_dbs.add(INDEX)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[sa.Connection]:
        engine = _engine(self.conn_string_for_shard(shard))
        with self._db_lock:
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
                if shard == INDEX:
                    _checked.add(self.conn_string_for_shard(shard))
            with engine.begin() as connection:
                yield connection


class KeptSqliteStorage(DagsterSqliteStorage):
    """What dagster.yaml names. A folder that `sqlite` wrote goes on with it, and back."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super(DagsterSqliteStorage, self).__init__()  # type: ignore[no-untyped-call]  # not its own: that opens
        history = Path(base_dir, "history")
        self.base_dir = base_dir
        self._inst_data = inst_data
        self._run_storage = KeptRuns.from_local(str(history))
        self._event_log_storage = KeptEvents(str(history / "runs"))
        self._schedule_storage = KeptSchedules.from_local(str(Path(base_dir, "schedules")))

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> KeptSqliteStorage:
        return cls.from_local(inst_data=inst_data, **config_value)


@lru_cache(maxsize=ENGINES)
def _engine(url: str) -> sa.Engine:
    """It keeps compiled statements, and no connection."""
    return sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})


def _is_checked(folder: str, name: str) -> bool:
    return create_db_conn_string(folder, name) in _checked and Path(folder, f"{name}.db").exists()
