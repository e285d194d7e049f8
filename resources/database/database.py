"""One database: an engine, a clock, and transactions whose outcome is known.

Belongs here: running a piece of work in one transaction and finding out what became of a COMMIT that
failed (L10). Does not belong here: what the work does.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from pipeline.domain.errors import DatabaseUnavailable
from resources.database.clock import NOW, Clock, database_clock
from resources.database.engine import READ_ONLY, open_engine
from resources.database.schema import operations
from resources.database.trouble import in_doubt, unavailable

Result = TypeVar("Result")

#: A transaction that lost a deadlock or a lock wait is tried this often, this far apart.
TRIES = 5
PAUSE_SECONDS = 0.2
#: A COMMIT without an answer is looked up for this long: a server that starts again has read its log by then.
IN_DOUBT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction with the id under which its effects can be looked up, and one time for all."""

    connection: sa.Connection
    operation_id: str
    now: int


class Database:
    """Read with `reading()`, change with `run(work)`."""

    def __init__(self, engine: sa.Engine, clock: Clock = database_clock) -> None:
        self.engine = engine
        self.clock = clock

    @classmethod
    def at(cls, url: str) -> Database:
        return cls(open_engine(url))

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads; it takes no write lock and is rolled back at the end."""
        with named_trouble(), self.engine.connect().execution_options(**READ_ONLY) as connection:
            yield connection

    def now(self) -> int:
        with self.reading() as connection:
            return self.clock(connection)

    def run(self, work: Callable[[Transaction], Result]) -> Result:
        """Run *work* in one transaction and return what it returned, once it is durable.

        *work* touches nothing but the database and may run again: after a deadlock, a lost lock wait
        or a broken connection it is repeated, but only once the operation id proves that the try
        before left nothing. A COMMIT that lands later still finds its mark taken, or takes it and so
        refuses the repetition. Raises `DatabaseUnavailable` when no try succeeds, or when a COMMIT
        stays without an answer and the database does not come back to say what became of it.
        """
        operation_id = uuid.uuid4().hex
        results: list[Result] = []
        for left in reversed(range(TRIES)):
            try:
                self._try(work, operation_id, results)
            except sa.exc.DBAPIError as error:
                if results and self._happened(operation_id):
                    return results[-1]
                if is_refused(error):
                    raise unavailable(error) from error
                if not is_transient(error):
                    raise
                if not left:
                    raise unavailable(error) from error
                time.sleep(PAUSE_SECONDS)
            else:
                return results[-1]
        raise AssertionError("unreachable")

    def _try(self, work: Callable[[Transaction], Result], operation_id: str, results: list[Result]) -> None:
        with self.engine.connect() as connection, connection.begin():
            began = connection.execute(_MARK[connection.dialect.name], {"id": operation_id}).scalar_one()
            now = int(began) if self.clock is database_clock else self.clock(connection)
            results.append(work(Transaction(connection, operation_id, now)))

    def _happened(self, operation_id: str) -> bool:
        """Whether the transaction of *operation_id* is durable; waits for the database to come back.

        DatabaseUnavailable where it does not: then nobody knows, and what repeats the work must ask the rows.
        """
        mark = sa.select(operations.c.id).where(operations.c.id == operation_id)
        end = time.monotonic() + IN_DOUBT_SECONDS
        while True:
            try:
                with self.reading() as connection:
                    return connection.scalar(mark) is not None
            except DatabaseUnavailable as error:
                if time.monotonic() > end:
                    raise in_doubt(error) from error
                time.sleep(PAUSE_SECONDS)


#: A transaction begins by naming itself and reading the clock, in one round trip.
_MARK = {
    dialect: sa.text(f"INSERT INTO operations (id, at) VALUES (:id, {now}) RETURNING at")  # noqa: S608
    for dialect, now in NOW.items()
}


#: SQLSTATEs after which the same transaction may succeed: serialization, deadlock, lock and
#: statement time-outs, connection and shutdown classes.
_TRANSIENT_STATES = ("40", "55P03", "57", "08", "53")
_TRANSIENT_SQLITE = ("locked", "busy", "disk i/o error", "unable to open", "full")


def is_transient(error: sa.exc.DBAPIError) -> bool:
    """Whether the same transaction may succeed later; constraint violations never do."""
    if not isinstance(error, sa.exc.OperationalError | sa.exc.InternalError):
        return error.connection_invalidated
    state = getattr(error.orig, "pgcode", None)
    if state is not None:
        return str(state).startswith(_TRANSIENT_STATES)
    words = str(error.orig).lower()
    return (
        error.connection_invalidated
        or hasattr(error.orig, "pgcode")
        or any(word in words for word in _TRANSIENT_SQLITE)
    )


#: The role may not, or the server takes no writes: a matter of settings, whatever the statement.
_REFUSED_STATES = ("42501", "25006")


def is_refused(error: sa.exc.DBAPIError) -> bool:
    return getattr(error.orig, "pgcode", None) in _REFUSED_STATES


@contextmanager
def named_trouble() -> Iterator[None]:
    """DatabaseUnavailable, with what is wrong and its remedy, for what is no error of ours."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        if is_transient(error) or is_refused(error):
            raise unavailable(error) from error
        raise
