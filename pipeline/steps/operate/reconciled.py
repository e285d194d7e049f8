"""What a reconciliation found and did, row by row (E6).

Belongs here: the values. Does not belong here: looking or mending (`reconcile` and the modules of its table).
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from resources.adapters import Adapters

#: Who did it, in the audit.
ACTOR = "reconciler"
SECOND = 1_000_000
#: What is due for longer than this is not merely in a queue: several ticks of every sensor went by.
SETTLED = 900 * SECOND
#: No wait that the house gives is longer than this; a later time was written under a wrong clock.
FAR = 86_400 * SECOND
#: Rows of one item that one reconciliation takes on; the next one goes on.
ROWS = 500


class Done(enum.StrEnum):
    MENDED = "mended"  #: a legal step forward was made
    WAITS = "waits"  #: it is due, and somebody else's turn: the reason says whose
    LISTED = "listed"  #: a person or retention decides
    OVERTAKEN = "overtaken"  #: somebody else moved it meanwhile
    FAILED = "failed"  #: the look or the repair did not come about; the next reconciliation tries again


class Item(enum.StrEnum):
    """What is looked for, in this order: what one frees, the next one finds."""

    MESSAGES = "undelivered_messages"
    LEASES = "leases_long_over"
    LOTS = "lots_without_a_run"
    LANES = "lanes_drifted"
    POLLS = "overdue_polls"
    STATES = "stale_states"
    ENTRIES = "index_entries_behind"
    PICTURES = "ready_without_pictures"
    JOBS = "unknown_remote_jobs"
    TEMPORARY = "old_temporary_objects"
    SPOOL = "spool_left_over"
    VERSIONS = "inactive_transform_versions"
    UNUSED = "objects_without_use"
    SINCE_JOBS = "jobs_since_the_dump"
    SINCE_OBJECTS = "objects_since_the_dump"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was not as it should be. `version` is what was observed of the row, where it has one."""

    item: Item
    done: Done
    subject: str
    why: str
    before: str
    after: str = ""
    campaign: str = ""
    version: int | None = None


#: (adapters, now in UTC microseconds) -> what was found, each after it was dealt with.
Look = Callable[[Adapters, int], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    at: int  #: UTC microseconds
    findings: tuple[Finding, ...]
    seconds: float = 0.0

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Numbers by item and what was done; every item is there: none found is an answer too."""
        found: dict[str, Counter[str]] = {str(item): Counter() for item in Item}
        for one in self.findings:
            found[one.item][str(one.done)] += 1
        return MappingProxyType({item: dict(sorted(numbers.items())) for item, numbers in found.items()})

    def those(self, done: Done) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.done is done)

    @property
    def mended(self) -> tuple[Finding, ...]:
        return self.those(Done.MENDED)
