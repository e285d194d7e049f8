"""A job as the store holds it: its states, which may follow which, its facts.

Belongs here: values. Does not belong here: SQL (job_store), JSON for clients (server).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from resources.local_renderer.wanted import Wanted


class Status(enum.StrEnum):
    QUEUED = "queued"  #: taken, not started
    RUNNING = "running"  #: a child renders it
    SUCCEEDED = "succeeded"  #: the output is proven and durable
    FAILED = "failed"  #: it cannot be made; `error` says why
    CANCELLED = "cancelled"  #: ended on the client's wish, without output


#: status -> what may follow; running goes back to queued when its process ended first
MOVES: Mapping[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.QUEUED, Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One row. Times are UTC microseconds."""

    number: int  #: order of acceptance, the listing's cursor
    id: str
    reference: str
    wanted: Wanted
    status: Status
    crashes: int  #: how often a renderer died while it rendered this
    cancel_wanted: bool
    error: tuple[str, str] | None  #: code, message
    size_bytes: int | None
    sha256: str | None
    deleted_at: int | None  #: when the client had its output deleted
    created_at: int
    updated_at: int

    @property
    def has_ended(self) -> bool:
        return not MOVES[self.status]
