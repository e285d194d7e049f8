"""Points at which a worker may die: after each durable write and around each paid request.

Belongs here: hooking them into the product from outside, in a test's child process; the product has no
kill switch. Does not belong here: what the child does (`worker`).

A point has a name and a number: `commit:12` is right after the twelfth commit that changed something, and
`any:30` after the thirtieth durable write of whatever kind. A commit that changed nothing but its own
operation id is no point: nothing is different after it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from resources.http.client import HttpClient
from resources.object_store.local import LocalStore
from resources.object_store.s3 import S3Store
from resources.tag_index.opensearch import OpenSearchTagIndex
from resources.tag_index.sql import SqlTagIndex

#: Right before a commit everything durable is as it was at the point before: only a deep sweep asks for it.
BEFORE_COMMIT = "commit.before"
_OWN_MARK = "INSERT INTO operations"
_writer: ContextVar[str] = ContextVar("writer", default="commit")


@dataclass
class Points:
    """Counts points, writes each name down, and does what was ordered at one of them."""

    log: Path
    at: str | None = None
    do: signal.Signals = signal.SIGKILL
    reached: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    @property
    def changes(self) -> int:
        """Durable writes so far; who made none in a whole round has nothing to do now."""
        return self.reached.total() - self.reached[BEFORE_COMMIT]

    def reach(self, kind: str) -> None:
        with self._lock:
            self.reached[kind] += 1
            name = f"{kind}:{self.reached[kind]}"
            os.write(self._log, f"{name}\n".encode())
            if self.at in (name, f"any:{self.changes}"):
                os.kill(os.getpid(), self.do)


def hook(points: Points) -> None:
    """Put *points* into this process, for good."""
    _hook_commits(points)
    _hook_store(points)
    _hook_index(points)
    _hook_requests(points)


def _hook_commits(points: Points) -> None:
    event.listen(sa.Engine, "begin", _forget)
    event.listen(sa.Engine, "after_cursor_execute", _note_write)
    commit: Callable[[sa.Connection], None] = sa.Connection._commit_impl

    def committed(connection: sa.Connection) -> None:
        changed = connection.info.get("changed", False)
        if changed:
            points.reach(BEFORE_COMMIT)
        commit(connection)
        if changed:
            points.reach(_writer.get())

    sa.Connection._commit_impl = committed  # type: ignore[method-assign,assignment]


def _forget(connection: sa.Connection) -> None:
    connection.info.update(changed=False, total=_total_changes(connection), marks=0)


def _note_write(
    connection: sa.Connection, cursor: Any, statement: str, _parameters: Any, _context: Any, _many: bool
) -> None:
    if statement.startswith(_OWN_MARK):
        connection.info["marks"] += 1
    elif connection.dialect.name == "postgresql":
        writes = any(word in statement for word in ("INSERT ", "UPDATE ", "DELETE "))
        reads = statement.startswith("SELECT")
        connection.info["changed"] |= writes and not reads and cursor.rowcount != 0
        return
    if connection.dialect.name == "sqlite":
        grown = _total_changes(connection) - connection.info["total"]
        connection.info["changed"] = grown > connection.info["marks"]


def _total_changes(connection: sa.Connection) -> int:
    """SQLite's count of changed rows; rows of RETURNING are counted only once they were fetched."""
    return int(getattr(connection.connection.dbapi_connection, "total_changes", 0))


def _hook_store(points: Points) -> None:
    for kind in (LocalStore, S3Store):
        _after(kind, "put_if_absent", lambda: points.reach("put"))
        _after(kind, "put_receipt", lambda: points.reach("receipt"))
        _after(kind, "delete", lambda: points.reach("delete"))
    link = LocalStore._link

    def linked(*arguments: Any) -> Any:
        points.reach("copied")  # the temporary copy is durable, its name is not
        return link(*arguments)

    LocalStore._link = staticmethod(linked)  # type: ignore[method-assign,assignment]


def _after(kind: type, name: str, then: Callable[[], None]) -> None:
    real = getattr(kind, name)

    def hooked(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        then()
        return result

    setattr(kind, name, hooked)


def _hook_index(points: Points) -> None:
    """The SQL index writes by commits of its own, which then go by its name."""
    _after(OpenSearchTagIndex, "put", lambda: points.reach("index"))
    put = SqlTagIndex.put

    def named(*arguments: Any) -> Any:
        with _as("index"):
            return put(*arguments)

    SqlTagIndex.put = named  # type: ignore[method-assign,assignment]


@contextmanager
def _as(writer: str) -> Iterator[None]:
    token = _writer.set(writer)
    try:
        yield
    finally:
        _writer.reset(token)


def _hook_requests(points: Points) -> None:
    request = HttpClient.request

    async def sent(self: HttpClient, method: str, url: str, **named: Any) -> Any:
        if method == "POST":
            points.reach("post.before")
        answer = await request(self, method, url, **named)
        if method == "POST":
            points.reach("post.after")
        return answer

    HttpClient.request = sent  # type: ignore[method-assign]
