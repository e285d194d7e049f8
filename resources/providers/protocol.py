"""What every provider adapter promises (G1): plain values in, evidence out, nothing decided.

Belongs here: the values that cross the border and the protocol itself. Does not belong here: retry
rules, budgets, states (pipeline.domain) or any provider's words (its own file).

An adapter never repeats a POST, never follows a redirect with credentials to another host, and never
raises for what a provider answered: an answer it cannot read is an observation of class `unknown`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from pipeline.domain.outcomes import Outcome, Reconciliation
from resources.http.client import HttpClient


@dataclass(frozen=True, slots=True)
class ProviderTerms:
    """What the provider list says of one provider; secrets are read from the environment by connect."""

    name: str
    adapter: str  #: entry-point name in the group `reelwright.providers`
    base_url: str
    secret: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()  #: hosts that its output URLs may name (R4)
    allow_private_origin: bool = False  #: only the local renderer's exact host and port
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputImage:
    """One upright, cleaned picture as it is sent on; `path` is a private local file."""

    sha256: str
    media_type: str
    path: Path


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt as the provider sees it. `reference` and `idempotency_key` never change for an attempt."""

    reference: str
    idempotency_key: str
    model: str
    settings: Mapping[str, Any]
    images: tuple[InputImage, ...]
    copy: str
    locale: str  #: canonical BCP 47
    width: int
    height: int
    duration_seconds: int


@dataclass(frozen=True, slots=True)
class Accepted:
    handle: str  #: opaque to the rest


@dataclass(frozen=True, slots=True)
class Refused:
    """Refused for good: the same request will be refused again."""

    outcome: Outcome
    reason: str  #: the provider's code, kept as evidence, at most 200 characters


@dataclass(frozen=True, slots=True)
class NotSent:
    """Proof that nothing was taken: the connection never opened, or an answer the adapter lists as proof."""

    reason: str
    outcome: Outcome = Outcome.NETWORK
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SubmissionUnknown:
    """A send may have been taken; nothing proves either way."""

    reason: str


SubmitAnswer = Accepted | Refused | NotSent | SubmissionUnknown


class Standing(enum.StrEnum):
    """What one observation says about the remote job."""

    WAITING = "waiting"  #: taken, not started
    RUNNING = "running"  #: being made
    OUTPUT = "output"  #: the provider says there is output
    ENDED = "ended"  #: it ended without output; `outcome` says how
    NOT_FOUND = "not_found"  #: the provider does not know the handle (now)
    UNREADABLE = "unreadable"  #: an answer that could not be understood, or an unknown word
    UNREACHABLE = "unreachable"  #: no usable answer at all: network, 5xx, 429


@dataclass(frozen=True, slots=True)
class UrlOutput:
    """A place to fetch from. `headers` (credentials) go to this URL's own host only."""

    url: str = field(repr=False)
    expires_at: datetime | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    size_bytes: int | None = None  #: as the provider states it
    sha256: str | None = None  #: as the provider states it


@dataclass(frozen=True, slots=True)
class InlineOutput:
    """Bytes that came inside the answer."""

    content: bytes = field(repr=False)


Output = UrlOutput | InlineOutput


@dataclass(frozen=True, slots=True)
class Observation:
    """What a provider said about a remote job at a time; evidence, never truth by itself."""

    handle: str
    standing: Standing
    word: str = ""  #: the provider's own word, kept as evidence, at most 100 characters
    outcome: Outcome | None = None
    reason: str = ""  #: the provider's code, at most 200 characters
    outputs: tuple[Output, ...] = ()
    billed_units: int | None = None  #: as the provider states it, in its own unit
    billed: bool | None = None  #: the provider's own statement about the bill, when it makes one
    retry_after_seconds: float | None = None
    reference: str = ""  #: our reference as the provider gives it back, when it does


@dataclass(frozen=True, slots=True)
class Found:
    """A remote job that carries our reference (by look-up, listing or callback)."""

    handle: str
    reference: str


@dataclass(frozen=True, slots=True)
class LookUpAnswer:
    """`complete` is False when the answer may not show everything yet or could not be read."""

    found: tuple[Found, ...]
    complete: bool


class Provider(Protocol):
    """One remote provider. Construct with its terms; every call gets the client to use."""

    reconciliation: Reconciliation
    key_window_seconds: int  #: K: how long the provider remembers a key; 0 for others
    lookup_lag_seconds: int  #: L and W: how long until look-up or listing surely shows a job
    not_found_window_seconds: int  #: 404 this soon after submit says nothing (G6)

    def __init__(self, terms: ProviderTerms) -> None: ...

    async def submit(self, client: HttpClient, job: Job) -> SubmitAnswer:
        """Stage the inputs (idempotent by hash), then send exactly one POST."""
        ...

    async def look_up(self, client: HttpClient, handles: Sequence[str]) -> Sequence[Observation]:
        """One observation a handle, in order, never raising for what was answered."""
        ...

    async def find(self, client: HttpClient, references: Sequence[str], *, since: datetime) -> LookUpAnswer:
        """K, L: jobs by our reference. W: what the listing since then names. N: nothing, incomplete."""
        ...

    async def cancel(self, client: HttpClient, handle: str) -> bool:
        """Ask to cancel; True when the provider took the wish. The end follows only from its report."""
        ...

    async def purge(self, client: HttpClient, handle: str) -> bool:
        """Ask to delete the output there; True when it is gone."""
        ...
