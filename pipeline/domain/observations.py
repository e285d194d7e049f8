"""What a provider said about a remote job at a time: evidence, never truth by itself.

Belongs here: the values in which every adapter reports and the poll rules judge. Does not belong
here: a provider's own words (its adapter) or what follows from an observation (`polling`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.domain.outcomes import Outcome


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
    """One look at one remote job."""

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
