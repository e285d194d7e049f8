"""E7: from every earlier revision, with data, nothing is lost; the release before works on the new schema."""

from __future__ import annotations

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from pipeline.domain.errors import DatabaseUnavailable, SchemaMismatch
from resources.database import engine as engine_module
from resources.database import migrate as migrate_module
from resources.database.database import Database
from resources.database.migrate import MIGRATION_LOCK, MIGRATIONS, head, migrate, require_current
from resources.database.schema import metadata
from tests.database import sound
from tests.database.history import (
    bring_to,
    contents,
    engine_of,
    fill,
    insert,
    only,
    revisions,
    tables_of,
)
from tests.database.test_migrations import OPTIONS

REVISIONS = revisions()
POSTGRESQL = pytest.mark.parametrize("empty_url", ["postgresql"], indirect=True)

#: What a step of the chain may do after the first release; `{}` stands for a name.
ADDITIVE = tuple(
    re.compile(pattern.replace("{}", r"[\w\"]+"), re.IGNORECASE)
    for pattern in (
        r"CREATE (VIRTUAL )?TABLE (IF NOT EXISTS )?{} .*",
        r"CREATE INDEX {} ON .*",
        r"ALTER TABLE {} ADD COLUMN {} (?!.*NOT NULL).*",
        r"ALTER TABLE {} ADD COLUMN {} .*DEFAULT.*",
        r"COMMENT ON .*",
        r"(SELECT|PRAGMA|INSERT INTO|UPDATE|SHOW|SET LOCAL) .*",  # data is looked at by itself
    )
)
_NEW_TABLE = re.compile(r"CREATE TABLE ([\w\"]+)", re.IGNORECASE)
_UNIQUE = re.compile(r"CREATE UNIQUE INDEX [\w\"]+ ON ([\w\"]+)", re.IGNORECASE)


def not_additive(statements: list[str]) -> list[str]:
    """Statements after which an older release might be refused, or read something else."""
    new = {found[1] for one in statements if (found := _NEW_TABLE.match(one))}
    return [
        one
        for one in statements
        if not any(pattern.fullmatch(one) for pattern in ADDITIVE)
        and not ((unique := _UNIQUE.match(one)) and unique[1] in new)
    ]


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_upgrade_from_every_revision_loses_nothing(empty_url: str, revision: str) -> None:
    bring_to(empty_url, revision)
    fill(empty_url)
    before = contents(empty_url)

    assert migrate(empty_url) == revision
    assert all(before.values()), "a table was not filled"
    assert only(contents(empty_url), before) == before
    with engine_of(empty_url) as engine, engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), metadata)
    assert found == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_an_older_release_reads_and_writes_is_there_in_the_head(empty_url: str, revision: str) -> None:
    bring_to(empty_url, revision)
    fill(empty_url)
    rows, old = contents(empty_url), _columns(empty_url)
    _empty(empty_url)
    migrate(empty_url)
    new = _columns(empty_url)

    assert {place: new.get(place) for place in old} == old
    with engine_of(empty_url) as engine, engine.connect() as connection, connection.begin():
        insert(connection, rows)  # as the older release does: it names no column that came later
    assert only(contents(empty_url), rows) == rows


def _columns(url: str) -> dict[str, tuple[str, bool]]:
    """Type and nullability of every column."""
    with engine_of(url) as engine, engine.connect() as connection:
        return {
            f"{table.name}.{column.name}": (str(column.type), bool(column.nullable))
            for table in tables_of(connection)
            for column in table.columns
        }


def _empty(url: str) -> None:
    with engine_of(url) as engine, engine.connect() as connection, connection.begin():
        for table in reversed(tables_of(connection)):
            connection.execute(sa.delete(table))


def test_every_step_after_the_first_only_adds(empty_url: str) -> None:
    bring_to(empty_url, REVISIONS[0])
    steps = {revision: not_additive(bring_to(empty_url, revision)) for revision in REVISIONS[1:]}

    assert {revision: bad for revision, bad in steps.items() if bad} == {}


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE attempts DROP COLUMN handle",
        "ALTER TABLE attempts RENAME COLUMN handle TO job",
        "ALTER TABLE attempts ALTER COLUMN handle SET NOT NULL",
        "ALTER TABLE attempts ADD COLUMN more TEXT NOT NULL",
        "ALTER TABLE attempts ADD CONSTRAINT ck_x CHECK (version > 0)",
        "CREATE UNIQUE INDEX uq_x ON attempts (handle)",
        "DROP TABLE lots",
        "DROP INDEX ix_observations_attempt",
        "DELETE FROM lots",
    ],
)
def test_a_step_that_takes_something_away_is_noticed(statement: str) -> None:
    assert not_additive([statement]) == [statement]
    assert not_additive(["CREATE TABLE x (id TEXT)", "CREATE UNIQUE INDEX uq ON x (id)"]) == []
    assert not_additive(["ALTER TABLE x ADD COLUMN y BIGINT DEFAULT 0 NOT NULL"]) == []


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """This release with one more step in its chain; undone, it is this release again."""
    folder = tmp_path / "next" / "migrations"
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9000_next.py").write_text(
        f"""import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9000", "{head()}", None, None

def upgrade():
    op.add_column("attempts", sa.Column("mood", sa.Text(), nullable=True))
    op.add_column("lots", sa.Column("weight", sa.BigInteger(), server_default="7", nullable=False))
    op.create_table("moods", sa.Column("id", sa.Text(), primary_key=True))
"""
    )
    monkeypatch.setattr(migrate_module, "MIGRATIONS", folder)
    return monkeypatch


def test_the_release_before_works_on_the_new_schema_and_leaves_it_as_it_is(
    empty_url: str, next_release: pytest.MonkeyPatch
) -> None:
    migrate(empty_url)
    next_release.undo()
    before = _columns(empty_url)

    older = Database.at(empty_url)
    assert require_current(older) == "9000"
    sound.write(older)
    older.close()
    assert migrate(empty_url) == "9000"
    assert _columns(empty_url) == before
    assert {row["id"] for row in contents(empty_url)["attempts"]} == {
        sound.SHOWN, sound.RUNNING, sound.QUEUED,
    }  # fmt: skip


def test_a_step_that_says_that_nobody_before_it_may_go_on_is_believed(
    empty_url: str, next_release: pytest.MonkeyPatch
) -> None:
    next_release.setattr(migrate_module, "OLDEST_READER", "9000")
    migrate(empty_url)
    next_release.undo()

    older = Database.at(empty_url)
    with pytest.raises(SchemaMismatch, match="9000") as refused:
        require_current(older)
    older.close()
    assert "release that set it up" in refused.value.remedy
    with pytest.raises(SchemaMismatch, match="9000"):
        migrate(empty_url)


@POSTGRESQL
def test_a_second_migration_waits_however_long_the_first_one_takes(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "LOCK_TIMEOUT_MS", 100)
    monkeypatch.setattr(engine_module, "STATEMENT_TIMEOUT_MS", 200)
    engine = sa.create_engine(empty_url, poolclass=sa.NullPool)
    with ThreadPoolExecutor(1) as other, engine.connect() as connection, connection.begin():
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        second = other.submit(migrate, empty_url)
        time.sleep(1)
        is_waiting = not second.done()
        connection.rollback()
        found = second.result(30)

    assert is_waiting
    assert found == "none"


@POSTGRESQL
def test_a_table_that_somebody_holds_is_named_and_nothing_is_left(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, next_release: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate_module, "TABLE_WAIT_MS", 100)
    bring_to(empty_url, REVISIONS[-1])
    engine = sa.create_engine(empty_url, poolclass=sa.NullPool)
    with engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("LOCK TABLE attempts IN ACCESS SHARE MODE")
        with pytest.raises(DatabaseUnavailable, match="somebody else holds"):
            migrate(empty_url)

    assert "attempts.mood" not in _columns(empty_url)
    assert migrate(empty_url) == REVISIONS[-1]
    assert "attempts.mood" in _columns(empty_url)
