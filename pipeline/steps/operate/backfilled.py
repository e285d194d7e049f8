"""What a backfill came to: counts by word, and the name of everything that it left (E3).

Belongs here: the values. Does not belong here: any backfill (`rethumbnail`, `reindex`, `republish`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from pipeline.steps.produce.lot import ItemResult

#: Words of items that a backfill left as they are; the reason says why.
SKIPPED, FAILED = "skipped", "failed"


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """One backfill; running it again takes on what is left and nothing else."""

    kind: str  #: thumbnails, index, tags
    results: tuple[ItemResult, ...] = ()
    seconds: float = 0.0
    version: str = ""  #: to which transform version things were brought

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(result.word for result in self.results).items()))

    @property
    def left(self) -> tuple[ItemResult, ...]:
        """Leased elsewhere, paused, changed meanwhile, or failed; each with its reason."""
        return tuple(result for result in self.results if result.word in (SKIPPED, FAILED))

    def and_then(self, other: BackfillReport) -> BackfillReport:
        return replace(self, results=(*self.results, *other.results), seconds=self.seconds + other.seconds)
