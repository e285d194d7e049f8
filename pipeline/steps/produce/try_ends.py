"""How one try to retrieve an output ended: values between the try (`retrieve`) and its rows (`retrieved`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.steps.produce.verify import Verified


@dataclass(frozen=True, slots=True)
class Owned:
    """Verified bytes lie under the key; `downloaded_bytes` is None when they were there already."""

    verified: Verified
    downloaded_bytes: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Never to be fetched again: a rule refused a whole body, or the key holds bytes that do not verify."""

    reason: str
    problem: str
    downloaded_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """A try was spent; another fetch may bring what this one did not."""

    reason: str
    wait_seconds: float | None = None  #: as the server asks
    refused_sha256: str | None = None  #: of a body that came whole by its length and did not verify
    downloaded_bytes: int | None = None
    brought_nothing: bool = False  #: proven: not a byte of a body came


@dataclass(frozen=True, slots=True)
class Waits:
    """Our own disk or store is in the way; no try is spent."""

    reason: str
    downloaded_bytes: int | None = None


End = Owned | Refused | Again | Waits


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One attempt as it was when its try ended, and how it ended. `is_counted`: the row counts this try."""

    row: sa.Row[Any]
    key: str
    end: End
    is_counted: bool
    purges_before: int = 0  #: of its key, before anything was put there
