"""Jobs as the journal tells them: accepted once, durable, their progress a matter of the clock.

Belongs here: what a reconciliation class remembers and names. Does not belong here: HTTP (`server`).
"""

from __future__ import annotations

import enum
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.domain.outcomes import Reconciliation
from tests.faults.renderer.clips import Shape, shape_of
from tests.faults.renderer.journal import Journal


class KeyReuse(Exception):
    """The key stands for another request."""


class Word(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class RemoteJob:
    id: str
    key: str
    body: dict[str, Any]
    accepted_at: float  #: epoch seconds, so that it goes on after a restart
    is_unlisted: bool
    shape: Shape
    is_cancelled: bool = False
    output_is_deleted: bool = False

    @property
    def reference(self) -> str:
        return str(self.body["reference"])

    def word(self, now: float, work_seconds: float) -> Word:
        if self.is_cancelled:
            return Word.CANCELLED
        elapsed = now - self.accepted_at
        if elapsed >= work_seconds:
            return Word.SUCCEEDED
        return Word.QUEUED if elapsed < work_seconds / 4 else Word.RUNNING


class Jobs:
    def __init__(self, store: Path, mode: Reconciliation) -> None:
        self._journal = Journal(store)
        self._mode = mode
        self.by_id: dict[str, RemoteJob] = {}
        self._by_key: dict[str, RemoteJob] = {}
        self._by_reference: dict[str, list[RemoteJob]] = {}
        self.assets: set[str] = set()
        for entry in self._journal.entries:
            self._replay(entry)

    def _replay(self, entry: dict[str, Any]) -> None:
        match entry["event"]:
            case "accepted":
                self._add(entry)
            case "cancelled":
                self.by_id[entry["id"]].is_cancelled = True
            case "deleted":
                self.by_id[entry["id"]].output_is_deleted = True
            case "asset":
                self.assets.add(entry["sha256"])

    def _add(self, entry: dict[str, Any]) -> RemoteJob:
        body = entry["body"]
        job = RemoteJob(entry["id"], entry["key"], body, entry["at"], entry["unlisted"], shape_of(body))
        self.by_id[job.id] = job
        self._by_key.setdefault(job.key, job)
        self._by_reference.setdefault(job.reference, []).append(job)
        return job

    async def accept(self, key: str, body: dict[str, Any], *, unlisted: bool) -> tuple[RemoteJob, bool]:
        """The job and whether it is new. Class K knows a key again; every other class takes it anew."""
        known = self._by_key.get(key) if self._mode is Reconciliation.KEY else None
        if known is not None:
            if known.body != body:
                raise KeyReuse
            return known, False
        entry = {"event": "accepted", "id": uuid.uuid4().hex, "key": key, "body": body, "at": time.time()}
        entry["unlisted"] = unlisted
        job = self._add(entry)
        await self._journal.append(entry)
        return job, True

    async def record(self, event: str, **values: Any) -> None:
        entry = {"event": event, **values}
        self._replay(entry)
        await self._journal.append(entry)

    def with_reference(self, reference: str, *, before: float) -> list[RemoteJob]:
        return [job for job in self._by_reference.get(reference, []) if _is_shown(job, before)]

    def since(self, at: float, *, before: float) -> list[RemoteJob]:
        return [job for job in self.by_id.values() if job.accepted_at >= at and _is_shown(job, before)]


def _is_shown(job: RemoteJob, before: float) -> bool:
    return job.accepted_at <= before and not job.is_unlisted
