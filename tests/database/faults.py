"""Real faults of a database under test: a COMMIT whose answer is lost, one that never came, a cut connection.

Belongs here: faults as context managers over an engine. Does not belong here: what must hold after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event


@dataclass
class Broken:
    """How often the fault struck."""

    times: int = 0


@contextmanager
def lost_commit(engine: sa.Engine, *, applied: bool, times: int = 1) -> Iterator[Broken]:
    """The next *times* COMMITs of writers fail for the caller: after they were *applied*, or instead."""
    broken, dialect = Broken(), engine.dialect
    plain = dialect.do_commit

    def commit(connection: Any) -> None:
        if broken.times >= times:
            return plain(connection)
        broken.times += 1
        if applied:
            plain(connection)
        else:
            dialect.do_rollback(connection)
        raise dialect.loaded_dbapi.OperationalError("disk I/O error: the answer to COMMIT is lost")

    dialect.do_commit = commit  # type: ignore[method-assign, assignment]
    try:
        yield broken
    finally:
        dialect.do_commit = plain  # type: ignore[method-assign]


@contextmanager
def cut_before_commit(engine: sa.Engine, *, times: int = 1) -> Iterator[Broken]:
    """PostgreSQL: the server ends the connection (`pg_terminate_backend`) right before COMMIT is sent."""
    broken = Broken()
    killer = sa.create_engine(engine.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def cut(connection: sa.Connection) -> None:
        if broken.times >= times:
            return
        broken.times += 1
        backend = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        with killer.connect() as other:
            other.exec_driver_sql(f"SELECT pg_terminate_backend({backend}, 5000)")

    event.listen(engine, "commit", cut)
    try:
        yield broken
    finally:
        event.remove(engine, "commit", cut)
        killer.dispose()
