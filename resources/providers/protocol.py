"""What every provider adapter promises (G1): plain values in, evidence out, nothing decided.

Belongs here: the values that cross the border and the protocol itself. Does not belong here: retry
rules, budgets, states (pipeline.domain) or any provider's words (its own file).

An adapter never repeats a POST, never follows a redirect with credentials to another host, and never
raises for what a provider answered: an answer it cannot read is an observation of class `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from pipeline.domain.observations import InlineOutput, Observation, Output, Standing, UrlOutput
from pipeline.domain.outcomes import Outcome, Reconciliation
from pipeline.domain.provider_terms import ProviderTerms
from resources.http.client import HttpClient

#: What crosses the border, rules' values included, so that an adapter needs one import.
__all__ = [
    "Accepted",
    "Found",
    "InlineOutput",
    "InputImage",
    "Job",
    "LookUpAnswer",
    "NotSent",
    "Observation",
    "Outcome",
    "Output",
    "Provider",
    "ProviderTerms",
    "Reconciliation",
    "Refused",
    "Standing",
    "SubmissionUnknown",
    "SubmitAnswer",
    "UrlOutput",
]


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
        """K, L: jobs by our reference. W: what the listing since then names. N: nothing, incomplete.

        What the provider shows now: "not there" proves something only when the send lies further back
        than `lookup_lag_seconds` and the answer is complete.
        """
        ...

    async def cancel(self, client: HttpClient, handle: str) -> bool:
        """Ask to cancel; True when the provider took the wish. The end follows only from its report."""
        ...

    async def purge(self, client: HttpClient, handle: str) -> bool:
        """Ask to delete the output there; True when it is gone."""
        ...
