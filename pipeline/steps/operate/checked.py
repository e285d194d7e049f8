"""What a check says: its name, how bad it is, how many, and the first rows by name (E5).

Belongs here: the values. Does not belong here: any look, or which look belongs to which check (`checks`).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.StrEnum):
    """How bad a row is; a check is as bad as its worst row."""

    ERROR = "error"  #: A promise is broken: it turns red, and somebody is told.
    WARN = "warn"  #: It waits too long, or a person must decide: it turns yellow.


@dataclass(frozen=True, slots=True)
class Offence:
    """What a look found: a row and its reason, before it is named for people."""

    subject: str
    reason: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look came to; `number` counts offences beyond those that are kept."""

    offences: tuple[Offence, ...]
    number: int
    at: str = "every row"  #: what was looked at, in words


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One offending row as a person needs it. Money in micro-units."""

    subject: str
    campaign: str
    reason: str
    next_action: str
    cost_at_risk: int
    currency: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check. `rows` are at most twenty, the worst first; `count` is of all of them."""

    name: str
    severity: Severity
    count: int
    rows: tuple[CheckRow, ...]
    says: str  #: what holds while it passes
    remedy: str
    looked_at: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return self.count == 0
