"""The durable record of jobs: SQLite, one writer, every move one guarded update.

Belongs here: the table, its moves, look-ups by id, key and reference, the listing. Does not belong here:
rendering, progress (which only the running process knows), HTTP.

A job is `queued` the moment its POST is answered and survives any kill. One that was `running` in a process
that died is queued again under the same id. Keys are kept as long as the store, well past the 24 hours that
the API promises.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.domain.errors import SchemaMismatch
from resources.local_renderer.jobs import MOVES, Job, Status
from resources.local_renderer.refusals import Refused
from resources.local_renderer.store_folder import Kept
from resources.local_renderer.wanted import Wanted, as_json, fingerprint, from_json

_VERSION = 1
PAGE = 100
#: A job in whose rendering so many renderers died is taken to be what kills them.
MAX_CRASHES = 50

_SCHEMA = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    reference TEXT NOT NULL,
    wanted TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    crashes INTEGER NOT NULL DEFAULT 0,
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    error_code TEXT, error_message TEXT,
    size_bytes INTEGER, sha256 TEXT, deleted_at INTEGER,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    CHECK ((status = 'failed') = (error_code IS NOT NULL)),
    CHECK ((status = 'succeeded') = (sha256 IS NOT NULL))
) STRICT;
CREATE INDEX jobs_by_reference ON jobs (reference);
CREATE INDEX jobs_due ON jobs (number) WHERE status IN ('queued', 'running');
"""


@dataclass(frozen=True, slots=True)
class Taken:
    job: Job
    is_new: bool


class JobStore:
    """Every method is one transaction on the one connection; call it from one thread."""

    def __init__(self, path: Path, queue_cap: int) -> None:
        self._queue_cap = queue_cap
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA fullfsync = ON")
        self._open_schema()

    def close(self) -> None:
        self._db.close()

    def take(self, key: str, wanted: Wanted, now: int) -> Taken:
        """Accept a job, or give back the one this key made. Raises `Refused`: other body, full queue."""
        with _Transaction(self._db):
            row = self._db.execute("SELECT * FROM jobs WHERE idempotency_key = ?", (key,)).fetchone()
            if row is not None:
                return Taken(_known(row, wanted), is_new=False)
            if self._count_due() >= self._queue_cap:
                raise Refused(
                    "queue_full", f"{self._queue_cap} jobs are waiting or running; send it again later"
                )
            row = self._db.execute(
                "INSERT INTO jobs (id, idempotency_key, fingerprint, reference, wanted, status,"
                " created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'queued', ?, ?) RETURNING *",
                (uuid.uuid4().hex, key, fingerprint(wanted), wanted.reference, _dump(wanted), now, now),
            ).fetchone()
            return Taken(_job(row), is_new=True)

    def known(self, key: str, wanted: Wanted) -> Job | None:
        """The job this key made, when it made one. Raises `Refused` when it was for another body."""
        row = self._db.execute("SELECT * FROM jobs WHERE idempotency_key = ?", (key,)).fetchone()
        return None if row is None else _known(row, wanted)

    def get(self, job_id: str) -> Job | None:
        row = self._db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        return None if row is None else _job(row)

    def by_reference(self, reference: str) -> list[Job]:
        rows = self._db.execute("SELECT * FROM jobs WHERE reference = ? ORDER BY number", (reference,))
        return [_job(row) for row in rows]

    def listing(self, since: int, after: int) -> list[Job]:
        """One page in order of acceptance: made at or after `since`, numbered above `after`."""
        rows = self._db.execute(
            "SELECT * FROM jobs WHERE number > ? AND created_at >= ? ORDER BY number LIMIT ?",
            (after, since, PAGE),
        )
        return [_job(row) for row in rows]

    def start_next(self, now: int) -> Job | None:
        """The oldest queued job, now running; None when nothing waits."""
        row = self._db.execute(
            "UPDATE jobs SET status = 'running', updated_at = ? WHERE number ="
            " (SELECT min(number) FROM jobs WHERE status = 'queued') AND status = 'queued' RETURNING *",
            (now,),
        ).fetchone()
        return None if row is None else _job(row)

    def succeed(self, job_id: str, now: int, kept: Kept) -> bool:
        """False when it is no longer running: nothing was changed."""
        return self._move(job_id, Status.SUCCEEDED, now, size_bytes=kept.size_bytes, sha256=kept.sha256)

    def fail(self, job_id: str, now: int, code: str, message: str) -> bool:
        return self._move(job_id, Status.FAILED, now, error_code=code, error_message=message)

    def cancelled(self, job_id: str, now: int) -> bool:
        return self._move(job_id, Status.CANCELLED, now)

    def queue_again(self, job_id: str, now: int) -> bool:
        """Nothing is wrong with the job: the process is stopping, or the disk is full."""
        return self._move(job_id, Status.QUEUED, now)

    def want_cancel(self, job_id: str, now: int) -> bool:
        """Queued: cancelled at once. Running: noted. False when it had ended."""
        row = self._db.execute(
            "UPDATE jobs SET cancel_wanted = 1, updated_at = ?,"
            " status = CASE status WHEN 'queued' THEN 'cancelled' ELSE status END"
            " WHERE id = ? AND status IN ('queued', 'running') RETURNING id",
            (now, job_id),
        ).fetchone()
        return row is not None

    def mark_deleted(self, job_id: str, now: int) -> None:
        self._db.execute(
            "UPDATE jobs SET deleted_at = ?, updated_at = ?"
            " WHERE id = ? AND sha256 IS NOT NULL AND deleted_at IS NULL",
            (now, now, job_id),
        )

    def recover(self, now: int) -> None:
        """At start: what a dead process left running ends as its client wished, or is queued again."""
        with _Transaction(self._db):
            self._db.execute(
                "UPDATE jobs SET status = 'cancelled', updated_at = ?"
                " WHERE status = 'running' AND cancel_wanted = 1",
                (now,),
            )
            self._db.execute(
                "UPDATE jobs SET status = 'failed', error_code = 'gave_up', updated_at = ?,"
                " error_message = 'the renderer ended each time it rendered this' "
                "WHERE status = 'running' AND crashes >= ?",
                (now, MAX_CRASHES),
            )
            self._db.execute(
                "UPDATE jobs SET status = 'queued', crashes = crashes + 1, updated_at = ?"
                " WHERE status = 'running'",
                (now,),
            )

    def outputs(self) -> frozenset[str]:
        """Ids of the jobs whose output must be in its place."""
        rows = self._db.execute("SELECT id FROM jobs WHERE status = 'succeeded' AND deleted_at IS NULL")
        return frozenset(row["id"] for row in rows)

    def assets_in_use(self) -> frozenset[str]:
        rows = self._db.execute("SELECT wanted FROM jobs WHERE status IN ('queued', 'running')")
        return frozenset(image for row in rows for image in json.loads(row["wanted"])["images"])

    def _count_due(self) -> int:
        row = self._db.execute("SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')").fetchone()
        return int(row[0])

    def _move(self, job_id: str, target: Status, now: int, **facts: int | str) -> bool:
        sources = [source.value for source, targets in MOVES.items() if target in targets]
        columns = "".join(f", {name} = ?" for name in facts)
        row = self._db.execute(
            f"UPDATE jobs SET status = ?, updated_at = ?{columns}"  # noqa: S608 (column names are ours)
            f" WHERE id = ? AND status IN ({', '.join('?' * len(sources))}) RETURNING id",
            (target.value, now, *facts.values(), job_id, *sources),
        ).fetchone()
        return row is not None

    def _open_schema(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif found != _VERSION:
            raise SchemaMismatch(
                f"the renderer's job store has schema {found}; this release reads {_VERSION}"
            )


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _known(row: sqlite3.Row, wanted: Wanted) -> Job:
    if row["fingerprint"] != fingerprint(wanted):
        raise Refused("key_reuse", "this Idempotency-Key was used for a request with another body")
    return _job(row)


def _dump(wanted: Wanted) -> str:
    return json.dumps(as_json(wanted), ensure_ascii=False)


def _job(row: sqlite3.Row) -> Job:
    values: dict[str, Any] = dict(row)
    code = values["error_code"]
    return Job(
        number=values["number"],
        id=values["id"],
        reference=values["reference"],
        wanted=from_json(json.loads(values["wanted"])),
        status=Status(values["status"]),
        crashes=values["crashes"],
        cancel_wanted=bool(values["cancel_wanted"]),
        error=None if code is None else (code, values["error_message"]),
        size_bytes=values["size_bytes"],
        sha256=values["sha256"],
        deleted_at=values["deleted_at"],
        created_at=values["created_at"],
        updated_at=values["updated_at"],
    )
