"""PostgreSQL goes away at any point of a move: it is made once, whatever was cut or killed (L10)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from pipeline.domain.errors import DatabaseUnavailable
from pipeline.domain.lifecycle import AttemptState, Move
from resources.database import database as database_module
from resources.database import schema
from resources.database.counters import count_up, counted
from resources.database.database import Database, Transaction
from resources.database.migrate import migrate
from resources.database.transitions import Transition, Verdict, apply
from tests.database import rows
from tests.database.faults import lost_commit
from tests.postgres import Server, running_postgres

_S = AttemptState
ROAD = (_S.QUEUED, _S.SUBMITTING, _S.GENERATING, _S.RETRIEVING, _S.STORED, _S.INDEXED)
MOVES = tuple(Move(*pair) for pair in pairwise(ROAD))
POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
TENANT = "northwind"
WORKERS, ATTEMPTS_EACH, RESTARTS = 4, 8, 4


def advance(database: Database, attempt: str, move: Move) -> None:
    """One guarded move, and beside it what no guard protects: a counter."""
    row = rows.read(database, schema.attempts, attempt)
    if row.state != move.source:
        return

    def work(tx: Transaction) -> None:
        if apply(tx, [Transition("attempt", row, move, "walker", "on")]) == [Verdict.APPLIED]:
            count_up(tx, "walked", TENANT)

    database.run(work)


def walked(database: Database) -> int:
    with database.reading() as connection:
        return counted(connection, "walked")


def versions(database: Database) -> dict[str, list[int]]:
    """The versions in the audit of each attempt, in their order."""
    found: dict[str, list[int]] = {}
    for link in sorted(rows.rows(database, schema.audit), key=lambda link: link.id):
        found.setdefault(link.subject_id, []).append(link.version)
    return found


@contextmanager
def cut_at(engine: sa.Engine, number: int, when: str) -> Iterator[Counter[str]]:
    """The server ends the connection around the *number*th statement of writers, counted from 1."""
    seen: Counter[str] = Counter()
    killer = sa.create_engine(engine.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def cut(connection: sa.Connection, *_: Any) -> None:
        if connection.get_execution_options().get("reelwright_read_only"):
            return
        seen["statements"] += 1
        if seen["statements"] == number:
            seen["cuts"] += 1
            with killer.connect() as other:
                pid = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
                other.exec_driver_sql(f"SELECT pg_terminate_backend({pid}, 5000)")

    event.listen(engine, f"{when}_cursor_execute", cut)
    try:
        yield seen
    finally:
        event.remove(engine, f"{when}_cursor_execute", cut)


@POSTGRESQL
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_that_ends_at_any_statement_neither_loses_nor_doubles_a_move(
    database: Database, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PAUSE_SECONDS", 0.0)
    home = rows.campaign(database)
    number, cuts = 0, 0
    while True:
        number += 1
        attempt = rows.attempt(database, home, rows.rendition(database, home, f"r-{number}"))
        with cut_at(database.engine, number, when) as seen:
            for move in MOVES:
                advance(database, attempt, move)
        cuts += seen["cuts"]
        assert versions(database)[attempt] == [1, 2, 3, 4, 5], f"cut at statement {number}"
        if not seen["cuts"]:
            break

    assert cuts == number - 1 >= 3 * len(MOVES)
    assert walked(database) == number * len(MOVES)


@pytest.fixture
def own_server() -> Iterator[Server]:
    with running_postgres() as server:
        yield server


def test_a_server_that_is_killed_and_started_again_neither_loses_nor_doubles_a_move(
    own_server: Server,
) -> None:
    migrate(own_server.url())
    database = Database.at(own_server.url())
    home = rows.campaign(database)
    attempts = [
        rows.attempt(database, home, rows.rendition(database, home, f"r-{n}"))
        for n in range(WORKERS * ATTEMPTS_EACH)
    ]
    trouble: Counter[str] = Counter()
    event.listen(database.engine, "handle_error", lambda _: trouble.update(["errors"]))
    with ThreadPoolExecutor(WORKERS) as pool:
        walking = [pool.submit(_walk, database, attempts[n::WORKERS]) for n in range(WORKERS)]
        _restart_until(own_server, lambda: all(one.done() for one in walking))
        for one in walking:
            one.result()

    assert trouble["errors"] > 0
    assert versions(database) == {attempt: [1, 2, 3, 4, 5] for attempt in attempts}
    assert {row.state for row in rows.rows(database, schema.attempts)} == {str(_S.INDEXED)}
    assert walked(database) == len(attempts) * len(MOVES)
    database.close()


def _walk(database: Database, attempts: list[str]) -> None:
    """As lots do: what did not answer is looked at again, and goes on from what the rows say."""
    for attempt in attempts:
        for move in MOVES:
            while True:
                try:
                    advance(database, attempt, move)
                except DatabaseUnavailable:
                    time.sleep(0.1)
                else:
                    break
            time.sleep(0.02)


def _restart_until(server: Server, is_over: Callable[[], bool]) -> None:
    for _ in range(RESTARTS):
        time.sleep(0.3)
        server.stop("immediate")
        server.start()
    end = time.monotonic() + 120
    while not is_over() and time.monotonic() < end:
        time.sleep(0.1)


@POSTGRESQL
def test_a_commit_in_doubt_is_looked_up_until_the_server_is_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a transaction is tried: to give up would be to guess."""
    monkeypatch.setattr(database_module, "PAUSE_SECONDS", 0.01)
    before = Database.reading
    looks: list[int] = []

    @contextmanager
    def away(self: Database) -> Iterator[sa.Connection]:
        looks.append(1)
        if len(looks) <= 5 * database_module.TRIES:
            raise DatabaseUnavailable("database: it is starting")
        with before(self) as connection:
            yield connection

    monkeypatch.setattr(Database, "reading", away)
    with lost_commit(database.engine, applied=True):
        database.run(lambda tx: count_up(tx, "walked", TENANT))
    monkeypatch.undo()

    assert len(looks) > 5 * database_module.TRIES
    assert walked(database) == 1


@POSTGRESQL
def test_a_server_that_does_not_come_back_leaves_the_commit_named_as_in_doubt(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(database_module, "IN_DOUBT_SECONDS", 0.1)

    def gone(_: Database) -> Any:
        raise DatabaseUnavailable("database: it does not answer")

    with monkeypatch.context() as away:
        away.setattr(Database, "reading", gone)
        with (
            lost_commit(database.engine, applied=True),
            pytest.raises(DatabaseUnavailable, match="whether the last COMMIT took effect is not known"),
        ):
            database.run(lambda tx: count_up(tx, "walked", TENANT))

    assert walked(database) == 1


@POSTGRESQL
@pytest.mark.parametrize(
    ("bound", "statement", "said"),
    [
        ("statement_timeout", "SELECT pg_sleep(10)", "took too long"),
        ("lock_timeout", "SELECT pg_advisory_xact_lock(7)", "somebody else holds"),
        ("idle_in_transaction_session_timeout", "SELECT 1", "does not answer"),
    ],
)
def test_each_time_out_ends_what_hangs_and_is_named(
    database: Database, bound: str, statement: str, said: str
) -> None:
    other = sa.create_engine(database.engine.url, poolclass=sa.NullPool)
    with other.connect() as holder, holder.begin():
        holder.exec_driver_sql("SELECT pg_advisory_xact_lock(7)")
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match=said):
            _hang(database, bound, statement)

    assert time.monotonic() - began < 5


def _hang(database: Database, bound: str, statement: str) -> None:
    with database.reading() as connection:
        connection.exec_driver_sql(f"SET LOCAL {bound} = 100")
        connection.exec_driver_sql(statement)
        time.sleep(0.4)
        connection.exec_driver_sql("SELECT 1")
