"""L10: a failed COMMIT is not a failed transaction: its operation id is looked up before anything again."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import DatabaseUnavailable
from pipeline.domain.lifecycle import AttemptState, Move
from resources.database import database as database_module
from resources.database import schema
from resources.database.counters import count_up, counted
from resources.database.database import Database, Transaction, is_transient
from resources.database.transitions import Transition, apply_one
from tests.database import rows
from tests.database.faults import cut_before_commit, lost_commit

CLAIM = Move(AttemptState.QUEUED, AttemptState.SUBMITTING)
POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def queued(database: Database) -> str:
    home = rows.campaign(database)
    return rows.attempt(database, home, rows.rendition(database, home))


def move(database: Database, subject: str) -> Transition:
    row = rows.read(database, schema.attempts, subject)
    return Transition("attempt", row, CLAIM, "submitter", "claimed")


def count_once(tx: Transaction) -> str:
    count_up(tx, "tried", "northwind")
    return tx.operation_id


def tried(database: Database) -> int:
    with database.reading() as connection:
        return counted(connection, "tried")


def test_a_move_whose_commit_was_applied_and_unanswered_is_made_once(database: Database, queued: str) -> None:
    wanted = move(database, queued)
    with lost_commit(database.engine, applied=True) as broken:
        database.run(lambda tx: apply_one(tx, wanted))

    assert broken.times == 1
    assert rows.read(database, schema.attempts, queued).version == 1
    assert len(rows.rows(database, schema.audit)) == 1


def test_a_move_whose_commit_never_came_is_made_again(database: Database, queued: str) -> None:
    wanted = move(database, queued)
    with lost_commit(database.engine, applied=False) as broken:
        database.run(lambda tx: apply_one(tx, wanted))

    assert broken.times == 1
    assert rows.read(database, schema.attempts, queued).state == "submitting"
    assert len(rows.rows(database, schema.audit)) == 1


@pytest.mark.parametrize("applied", [True, False])
def test_work_without_an_audit_row_is_done_once_too(database: Database, applied: bool) -> None:
    before = len(rows.rows(database, schema.operations))
    with lost_commit(database.engine, applied=applied) as broken:
        operation = database.run(count_once)

    assert (broken.times, tried(database)) == (1, 1)
    operations = rows.rows(database, schema.operations)
    assert len(operations) == before + 1
    assert operation in {row.id for row in operations}


def test_a_commit_that_lands_after_it_was_looked_for_refuses_its_repetition(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server took it, was slow, and made it durable between the look-up and the next try."""
    operations: list[str] = []

    def work(tx: Transaction) -> str:
        operations.append(tx.operation_id)
        return count_once(tx)

    def lands(_seconds: float) -> None:
        mark = sa.insert(schema.operations).values(id=operations[0], at=1)
        with database.engine.begin() as late:
            late.execute(mark)
            count_up(Transaction(late, operations[0], 1), "tried", "northwind")

    monkeypatch.setattr(database_module.time, "sleep", lands)
    with lost_commit(database.engine, applied=False):
        assert database.run(work) == operations[0]

    assert len(operations) == tried(database) == 1


def test_a_database_that_never_commits_is_unavailable_and_nothing_is_left(
    database: Database, queued: str
) -> None:
    wanted = move(database, queued)
    with lost_commit(database.engine, applied=False, times=99), pytest.raises(DatabaseUnavailable):
        database.run(lambda tx: apply_one(tx, wanted))

    assert rows.read(database, schema.attempts, queued).state == "queued"
    assert rows.rows(database, schema.audit) == []


@POSTGRESQL
def test_a_connection_that_is_cut_before_commit_is_replaced(database: Database, queued: str) -> None:
    wanted = move(database, queued)
    with cut_before_commit(database.engine) as broken:
        database.run(lambda tx: apply_one(tx, wanted))

    assert broken.times == 1
    assert rows.read(database, schema.attempts, queued).version == 1
    assert len(rows.rows(database, schema.audit)) == 1


@POSTGRESQL
def test_connections_that_are_cut_between_works_cost_nothing(database: Database) -> None:
    database.run(count_once)
    other = sa.create_engine(database.engine.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with other.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    database.run(count_once)

    assert tried(database) == 2


def test_an_error_of_the_work_itself_is_raised_and_leaves_nothing(database: Database) -> None:
    def work(tx: Transaction) -> None:
        count_up(tx, "tried", "northwind")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        database.run(work)

    assert tried(database) == 0


def test_a_broken_constraint_is_never_tried_again(database: Database) -> None:
    calls = []

    def work(tx: Transaction) -> None:
        calls.append(tx.operation_id)
        for _ in range(2):
            tx.connection.execute(sa.insert(schema.operations).values(id="same", at=0))

    with pytest.raises(sa.exc.IntegrityError):
        database.run(work)

    assert len(calls) == 1


def test_readers_are_told_by_name_that_the_database_is_gone(database: Database) -> None:
    gone = sa.exc.OperationalError("SELECT 1", {}, Exception("database is locked"))

    with pytest.raises(DatabaseUnavailable), database.reading():
        raise gone


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("database is locked", True),
        ("database or disk is full", True),
        ("disk I/O error", True),
        ("no such table: attempts", False),
        ("near SELECT: syntax error", False),
    ],
)
def test_only_what_may_pass_is_tried_again(words: str, expected: bool) -> None:
    assert is_transient(sa.exc.OperationalError("x", {}, Exception(words))) is expected


def test_a_missing_table_is_an_error_of_ours_and_no_outage(database: Database) -> None:
    with pytest.raises(sa.exc.DBAPIError), database.reading() as connection:
        connection.exec_driver_sql("SELECT 1 FROM no_such_table")


def test_every_try_runs_under_one_operation_id(database: Database) -> None:
    seen: list[str] = []

    def work(tx: Transaction) -> None:
        seen.append(tx.operation_id)
        count_up(tx, "tried", "northwind")

    with lost_commit(database.engine, applied=False, times=2):
        database.run(work)

    assert len(seen) == 3
    assert len(set(seen)) == 1
