"""Whether a campaign's revision is done, and how it stands (B3, E1).

Belongs here: counting projected words and the two completion policies. Does not belong here: the words
themselves (`lifecycle`), or who materializes what.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from pipeline.domain.lifecycle import Word


class CompletionPolicy(enum.StrEnum):
    ALL_TERMINAL = "all_terminal"  #: No wish is active, waiting or unresolved.
    ALL_USABLE = "all_usable"  #: Every wish is ready.


class Standing(enum.StrEnum):
    """Which of the four separate counts a wish falls under."""

    ACTIVE = "active"  #: It moves, or waits for a person, a budget or a source.
    USABLE = "usable"  #: Ready now or once.
    UNSUCCESSFUL = "unsuccessful"  #: It ended and was never usable.
    UNRESOLVED = "unresolved"  #: Its submission's outcome is unknown until a verdict.


_ACTIVE, _ENDED = Standing.ACTIVE, Standing.UNSUCCESSFUL

#: The standing of a wish that was never ready, by its word.
STANDINGS: Mapping[Word, Standing] = MappingProxyType(
    {
        Word.UPLOADED: _ACTIVE,
        Word.MODERATING: _ACTIVE,
        Word.QUEUED: _ACTIVE,
        Word.GENERATING: _ACTIVE,
        Word.DOWNLOADING: _ACTIVE,
        Word.PROCESSING: _ACTIVE,
        Word.AWAITING_ACCEPTANCE: _ACTIVE,
        Word.UNRESOLVED: Standing.UNRESOLVED,
        Word.READY: Standing.USABLE,
        Word.REJECTED: _ENDED,
        Word.WITHDRAWN: _ENDED,
        Word.FAILED: _ENDED,
        Word.CANCELLED: _ENDED,
        Word.DECLINED: _ENDED,
        Word.SUPERSEDED: _ENDED,
        Word.EXPIRED: _ENDED,
    }
)


@dataclass(frozen=True, slots=True)
class WishStanding:
    """What completion needs to know of one wish."""

    word: Word
    was_ready: bool = False  #: its rendition stood in its slot at some time


@dataclass(frozen=True, slots=True)
class Counts:
    """Every wish of a revision under exactly one head; nothing is left out."""

    active: int = 0
    usable: int = 0
    unsuccessful: int = 0
    unresolved: int = 0
    ready: int = 0  #: of the usable ones, those that stand in their slot now

    @property
    def total(self) -> int:
        return self.active + self.usable + self.unsuccessful + self.unresolved

    @property
    def success_rate(self) -> Fraction | None:
        """Usable of all that is not active; unknowns count against it, and None says there is no base."""
        base = self.total - self.active
        return Fraction(self.usable, base) if base else None


def standing_of(wish: WishStanding) -> Standing:
    """One that was ready and ended stays usable; one that works again is active."""
    standing = STANDINGS[wish.word]
    return Standing.USABLE if wish.was_ready and standing is _ENDED else standing


def count(wishes: Iterable[WishStanding]) -> Counts:
    heads: Counter[str] = Counter()
    for wish in wishes:
        heads[standing_of(wish)] += 1
        heads["ready"] += wish.word is Word.READY
    return Counts(**heads)


def is_complete(policy: CompletionPolicy, counts: Counts) -> bool:
    """Whether the partition may turn green; a revision without wishes never does."""
    if counts.total == 0:
        return False
    if policy is CompletionPolicy.ALL_USABLE:
        return counts.ready == counts.total
    return counts.active == 0 and counts.unresolved == 0
