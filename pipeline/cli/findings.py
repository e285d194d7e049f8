"""What one check of `reelwright doctor` says."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.StrEnum):
    OK = "ok"
    WARN = "warn"  #: It works, and something will bite later, or a wall is missing.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    level: Level
    detail: str
    remedy: str = ""
