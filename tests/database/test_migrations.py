"""E7, L9: one chain for both databases, whose head is the metadata; safe twice, at once, killed halfway."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from pipeline.domain.errors import SchemaMismatch
from resources.database.database import Database
from resources.database.engine import open_engine
from resources.database.migrate import READERS, head, migrate, require_current
from resources.database.schema import metadata
from resources.database.schema.index import SEARCH_TEXT

#: A migrator that dies by SIGKILL right before its N-th statement is executed.
_DIES = """
import os, signal, sys
import sqlalchemy as sa
from sqlalchemy import event
from resources.database.migrate import migrate
left = int(sys.argv[2])
@event.listens_for(sa.Engine, "before_cursor_execute")
def count(connection, cursor, statement, parameters, context, executemany):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
migrate(sys.argv[1])
"""


def tables(url: str) -> set[str]:
    engine = open_engine(url)
    try:
        return set(sa.inspect(engine).get_table_names())
    finally:
        engine.dispose()


def _is_ours(_object: Any, name: str | None, kind: str, *_: Any) -> bool:
    """The free-text table differs by dialect, and who may use the schema is beside it: no metadata."""
    return not (kind in ("table", "index") and ((name or "") == READERS or SEARCH_TEXT in (name or "")))


def _default_differs(
    context: MigrationContext, _seen: Any, _column: Any, seen: str | None, _default: Any, written: str | None
) -> bool | None:
    """Alembic does not know an empty text again on SQLite; everything else it compares itself (None)."""
    is_empty = context.dialect.name == "sqlite" and written == ""
    return seen != "('')" if is_empty else None


#: How a database is compared with the metadata.
OPTIONS: dict[str, Any] = {
    "compare_type": True,
    "compare_server_default": _default_differs,
    "include_object": _is_ours,
}


def test_the_head_of_the_chain_is_the_metadata(database_url: str) -> None:
    engine = open_engine(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=OPTIONS)
        found = compare_metadata(context, metadata)
    engine.dispose()

    assert found == []


def test_the_comparison_notices_a_missing_column(database_url: str) -> None:
    engine = open_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE lots DROP COLUMN run_id")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_ours})
        found = compare_metadata(context, metadata)
    engine.dispose()

    assert [(change[0], change[2], change[3].name) for change in found] == [("add_column", "lots", "run_id")]


def test_a_new_database_is_made_whole(empty_url: str) -> None:
    assert migrate(empty_url) == "none"
    assert {table.name for table in metadata.sorted_tables} <= tables(empty_url)


def test_migrating_again_does_nothing(database_url: str) -> None:
    before = tables(database_url)

    assert migrate(database_url) == head()
    assert tables(database_url) == before


def test_two_migrators_at_once_are_safe(empty_url: str) -> None:
    with ThreadPoolExecutor(3) as workers:
        found = list(workers.map(migrate, [empty_url] * 3))

    assert sorted(found) == [head(), head(), "none"]
    database = Database.at(empty_url)
    require_current(database)
    database.close()


@pytest.mark.parametrize("statement", [8, 30, 70])
def test_a_migration_that_is_killed_halfway_left_nothing_and_runs_again(
    empty_url: str, statement: int
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _DIES, empty_url, str(statement)],
        check=False, capture_output=True, cwd=Path(__file__).parents[2], timeout=60,
    )  # fmt: skip

    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert tables(empty_url) == set()
    assert migrate(empty_url) == "none"
    assert {table.name for table in metadata.sorted_tables} <= tables(empty_url)


def test_other_processes_refuse_a_database_that_was_not_migrated(empty_url: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir(exist_ok=True)
    database = Database.at(empty_url)
    with pytest.raises(SchemaMismatch, match="is empty"):
        require_current(database)
    database.close()


@pytest.mark.parametrize("revision", ["0000", "9999"])
def test_other_processes_refuse_an_older_and_a_newer_revision(database_url: str, revision: str) -> None:
    database = Database.at(database_url)
    require_current(database)
    with database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :found"), {"found": revision})

    with pytest.raises(SchemaMismatch, match=revision):
        require_current(database)
    database.close()


def test_every_table_has_its_tenant_but_those_of_the_machinery() -> None:
    without = {table.name for table in metadata.sorted_tables if "tenant" not in table.c}

    assert without == {"documents", "lots", "operations"}
