"""A provider in memory, of any class, that says whatever a test wants: late, twice, in the wrong order.

Belongs here: jobs, what is said of them, what became of sends. Does not belong here: real HTTP
(`tests.faults.renderer`).

Its own clock never goes back, as that of another company's machine does not follow ours.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from resources.providers.protocol import (
    Accepted,
    Found,
    InlineOutput,
    Job,
    LookUpAnswer,
    NotSent,
    Observation,
    Outcome,
    Reconciliation,
    Refused,
    Standing,
    SubmissionUnknown,
    SubmitAnswer,
)

LAG_SECONDS = 20
KEY_WINDOW_SECONDS = 1_000_000


class Fate(enum.StrEnum):
    """What becomes of the next send."""

    ACCEPTED = "accepted"
    LOST = "lost"  #: taken, and the answer never comes
    SWALLOWED = "swallowed"  #: not taken, and no answer either
    CRASHED = "crashed"  #: taken, and our own adapter falls over the answer
    NOT_SENT = "not_sent"
    REFUSED = "refused"


_Says = tuple[Standing, Outcome | None]

#: What may be said of a job, beside outputs.
SAYINGS: Mapping[str, _Says] = MappingProxyType(
    {
        "waiting": (Standing.WAITING, None),
        "running": (Standing.RUNNING, None),
        "fault": (Standing.ENDED, Outcome.PROVIDER_FAULT),
        "rejected": (Standing.ENDED, Outcome.OUTPUT_REJECTED),
        "cancelled": (Standing.ENDED, Outcome.CANCELLED_BY_US),
        "given_up": (Standing.ENDED, Outcome.CANCELLED_BY_PROVIDER),
        "expired": (Standing.ENDED, Outcome.RESULT_EXPIRED),
        "done_without_output": (Standing.OUTPUT, None),
        "not_found": (Standing.NOT_FOUND, None),
        "unreadable": (Standing.UNREADABLE, Outcome.UNKNOWN),
        "unreachable": (Standing.UNREACHABLE, Outcome.NETWORK),
    }
)


@dataclass
class RemoteJob:
    handle: str
    reference: str
    key: str
    made_at: float
    says: str = "running"


@dataclass
class Remote:
    """All jobs of all providers, their clock, and the bodies of their outputs by name."""

    bodies: Mapping[str, bytes]
    seconds: float = 0.0
    jobs: dict[str, RemoteJob] = field(default_factory=dict)
    fates: list[Fate] = field(default_factory=list)
    posts: list[tuple[str, str]] = field(default_factory=list)  #: reference and key of each POST

    def starts(self) -> Counter[str]:
        """Remote jobs by attempt."""
        return Counter(job.reference for job in self.jobs.values())


@dataclass(frozen=True)
class MemoryProvider:
    """One provider of one class over a `Remote`."""

    name: str
    reconciliation: Reconciliation
    remote: Remote
    not_found_window_seconds: int = 5

    @property
    def key_window_seconds(self) -> int:
        return KEY_WINDOW_SECONDS if self.reconciliation is Reconciliation.KEY else 0

    @property
    def lookup_lag_seconds(self) -> int:
        lags = (Reconciliation.LOOKUP, Reconciliation.LISTING)
        return LAG_SECONDS if self.reconciliation in lags else 0

    async def submit(self, _client: Any, job: Job) -> SubmitAnswer:
        self.remote.posts.append((job.reference, job.idempotency_key))
        fate = self.remote.fates.pop(0) if self.remote.fates else Fate.ACCEPTED
        match fate:
            case Fate.NOT_SENT:
                return NotSent("refused_connection")
            case Fate.REFUSED:
                return Refused(Outcome.SOURCE_REJECTED, "moderation")
            case Fate.SWALLOWED:
                return SubmissionUnknown("timed_out")
        handle = self._start(job)
        if fate is Fate.CRASHED:
            raise RuntimeError("an answer that the adapter did not expect")
        return SubmissionUnknown("timed_out") if fate is Fate.LOST else Accepted(handle)

    def _start(self, job: Job) -> str:
        if self.reconciliation is Reconciliation.KEY:
            for known in self.remote.jobs.values():
                if known.key == job.idempotency_key:
                    return known.handle
        handle = f"{self.name}-{len(self.remote.jobs) + 1}"
        self.remote.jobs[handle] = RemoteJob(handle, job.reference, job.idempotency_key, self.remote.seconds)
        return handle

    async def look_up(self, _client: Any, handles: Sequence[str]) -> Sequence[Observation]:
        return [self._look(handle) for handle in handles]

    def _look(self, handle: str) -> Observation:
        job = self.remote.jobs.get(handle)
        says = job.says if job else "not_found"
        if says in self.remote.bodies:
            return Observation(
                handle, Standing.OUTPUT, word=says, outputs=(InlineOutput(self.remote.bodies[says]),)
            )
        standing, outcome = SAYINGS[says]
        return Observation(handle, standing, word=says, outcome=outcome, reason=says)

    async def find(self, _client: Any, references: Sequence[str], *, since: datetime) -> LookUpAnswer:
        """Whatever is visible by now; *since* only spares a real listing its oldest pages."""
        assert since.tzinfo is not None
        seen = [
            Found(job.handle, job.reference)
            for job in self.remote.jobs.values()
            if job.handle.startswith(f"{self.name}-") and self.remote.seconds >= job.made_at + LAG_SECONDS
        ]
        return LookUpAnswer(tuple(one for one in seen if one.reference in references), complete=True)

    async def cancel(self, _client: Any, handle: str) -> bool:
        return handle in self.remote.jobs

    async def purge(self, _client: Any, handle: str) -> bool:
        return handle in self.remote.jobs
