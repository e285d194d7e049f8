"""What is measured: every metric's name, kind, unit, labels and meaning, in one table (E8).

Belongs here: the catalogue, and the frozen values that a measurement is made of. Does not belong here: the
numbers (`measure`), or how they are written (`exposition`).

Labels are bounded: states, stages, reason codes, providers of the list, currencies, and tenants only as the
largest few with the rest as `_other`. No campaign, rendition or object is ever a label.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

PREFIX = "reelwright_"

Number = int | float | Decimal


class MetricKind(enum.StrEnum):
    GAUGE = "gauge"  #: Holds now; rises and falls.
    COUNTER = "counter"  #: Only rises, until retention takes old rows away.
    HISTOGRAM = "histogram"  #: How many are at most so large; with sum and count.
    SUMMARY = "summary"  #: Sum and count alone: their quotient is the mean.


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the catalogue. `unit` is in words; the name ends in it where Prometheus asks so."""

    name: str
    kind: MetricKind
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Sum and count of single values; `buckets` are cumulative: upper bound, how many are at most that."""

    total: Number
    count: int
    buckets: tuple[tuple[int, int], ...] = ()

    @property
    def mean(self) -> float | None:
        """None, not zero, where nothing was counted."""
        return None if self.count == 0 else float(self.total) / self.count


@dataclass(frozen=True, slots=True)
class Sample:
    """One value under the values of its metric's labels, in their order."""

    labels: tuple[str, ...]
    value: Number | Distribution


@dataclass(frozen=True, slots=True)
class Metrics:
    """One measurement. A metric without samples has nothing to say yet, and is not in `samples`."""

    at: datetime
    samples: Mapping[Metric, tuple[Sample, ...]]


_G, _C, _H, _S = MetricKind.GAUGE, MetricKind.COUNTER, MetricKind.HISTOGRAM, MetricKind.SUMMARY


def _metric(name: str, kind: MetricKind, unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(PREFIX + name, kind, unit, meaning, labels)


TRANSITIONS = _metric(
    "transitions_total", _C, "moves",
    "Moves of source sets (kind revision), attempts and objects; `from` is empty at the beginning.",
    "kind", "from", "to",
)  # fmt: skip
PUBLICATION_MOVES = _metric(
    "publication_moves_total", _C, "moves",
    "Moves of what a slot shows: publish, roll_back, retag, withdraw.", "move",
)  # fmt: skip
UNFINISHED = _metric(
    "unfinished", _G, "subjects",
    "Source sets, attempts and objects that stand in each state which is no end. A stored attempt that was"
    " deselected rests and is not among them.",
    "kind", "state",
)  # fmt: skip
UNFINISHED_AGE = _metric(
    "unfinished_oldest_age_seconds", _G, "seconds",
    "How long the one that came first into such a state has been in it; 0 where there is none.",
    "kind", "state",
)  # fmt: skip
CONFLICTS = _metric(
    "compare_and_set_conflicts_total", _C, "updates",
    "Guarded updates that changed nothing because somebody else was first (stale) or the row is gone.",
    "subject", "found",
)  # fmt: skip
DUPLICATES = _metric(
    "duplicate_commands_total", _C, "updates",
    "Guarded updates that changed nothing because the row was already where they lead.", "subject",
)  # fmt: skip
OTHER_EVENTS = _metric(
    "counted_events_total", _C, "events",
    "Everything else that is only counted, e.g. observation_unchanged: a poll that said nothing new.", "name",
)  # fmt: skip
RENDITION_ATTEMPTS = _metric("rendition_attempts", _H, "attempts", "Attempts made of each rendition so far.")
STARTS = _metric(
    "generation_starts_total", _C, "starts",
    "Remote jobs that a provider is known to have taken; `spend` tells live from test.", "tenant", "spend",
)  # fmt: skip
UNCONFIRMED_STARTS = _metric(
    "generation_starts_unconfirmed", _G, "starts",
    "Sends whose answer was lost and that are not cleared up: each may be a start that costs.",
    "tenant", "spend",
)  # fmt: skip
STARTS_PER_UPLOAD = _metric(
    "accepted_upload_generation_starts", _S, "starts",
    "Generation starts (sum) and approved source sets (count): their quotient is starts per accepted upload.",
)  # fmt: skip
POLLS_PER_JOB = _metric(
    "completed_job_polls", _S, "status requests",
    "Status requests (sum) of remote jobs that ended (count): their quotient is polls per completed job.",
)  # fmt: skip
RETRIEVED = _metric(
    "retrieved_bytes_total", _C, "bytes", "Bytes of outputs that were downloaded whole.", "tenant"
)
REPEATED = _metric(
    "repeated_download_bytes_total", _C, "bytes",
    "Of the retrieved bytes those that an earlier fetch of the same output may have brought before.",
    "tenant",
)  # fmt: skip
STORED = _metric(
    "stored_bytes", _G, "bytes", "Bytes of objects that are owned and not purged.", "kind", "state"
)
STORED_OBJECTS = _metric(
    "stored_objects", _G, "objects", "Objects that are owned and not purged.", "kind", "state"
)
CHECKSUM_FAILURES = _metric(
    "checksum_failures_total", _C, "bodies",
    "Bodies that were not what their hash or length says, from a provider or in the store.", "reason",
)  # fmt: skip
INDEXING_DELAY = _metric(
    "stored_to_indexed_seconds", _G, "seconds",
    "Time from stored to indexed, at the 50th and 95th percentile of the newest 1,000 indexed attempts.",
    "percentile",
)  # fmt: skip
DECISIONS = _metric(
    "decisions_total", _C, "decisions",
    "Decisions by kind (moderation, acceptance, verdict, write_off, …) and outcome.", "kind", "verdict",
)  # fmt: skip
OUTBOX_WAITING = _metric("outbox_undelivered", _G, "messages", "Outbox messages that are not delivered yet.")
OUTBOX_AGE = _metric(
    "outbox_oldest_age_seconds", _G, "seconds", "Age of the oldest of them; 0 where there is none."
)
DEAD_LETTERS = _metric(
    "outbox_dead_letters", _G, "messages", "Outbox messages that nobody can deliver; each wants a look."
)
PROVIDER_IN_FLIGHT = _metric(
    "provider_in_flight", _G, "remote jobs", "Remote jobs in flight at a provider.", "provider"
)
PROVIDER_CAP = _metric(
    "provider_in_flight_cap", _G, "remote jobs", "How many may be in flight there.", "provider"
)
LANE_IN_FLIGHT = _metric(
    "lane_in_flight", _G, "remote jobs",
    "Remote jobs in flight of one tenant at a provider.", "provider", "tenant",
)  # fmt: skip
LANE_CAP = _metric(
    "lane_in_flight_cap", _G, "remote jobs",
    "How many a tenant may have in flight there; for `_other`, of all those together.", "provider", "tenant",
)  # fmt: skip
BUDGET_CAP = _metric(
    "budget_cap", _G, "units of the currency", "Caps of all campaigns' budgets together.", "currency"
)
BUDGET_HELD = _metric(
    "budget_held", _G, "units of the currency", "Held for attempts whose cost is not known yet.", "currency"
)
BUDGET_SETTLED = _metric(
    "budget_settled", _G, "units of the currency", "Settled as cost, certain or possible.", "currency"
)
LOTS = _metric(
    "lots", _G, "lots",
    "Lots by stage: waiting for their run, running, ended, or lost (no run began or ended in time).",
    "stage", "standing",
)  # fmt: skip
PARKED = _metric(
    "parked_attempts", _G, "attempts", "Attempts that wait although nothing is wrong with them.", "reason"
)
UNRESOLVED = _metric(
    "unresolved_submissions", _G, "attempts",
    "Attempts whose answer to a send was lost, with nobody working on it: each may cost.",
)  # fmt: skip
OVERDUE = _metric("overdue_attempts", _G, "attempts", "Attempts past their deadline and still out.")

#: In the order in which they are written and documented.
CATALOGUE: tuple[Metric, ...] = (
    TRANSITIONS, PUBLICATION_MOVES, UNFINISHED, UNFINISHED_AGE, PARKED, UNRESOLVED, OVERDUE,
    CONFLICTS, DUPLICATES, OTHER_EVENTS,
    RENDITION_ATTEMPTS, STARTS, UNCONFIRMED_STARTS, STARTS_PER_UPLOAD, POLLS_PER_JOB,
    RETRIEVED, REPEATED, STORED, STORED_OBJECTS, CHECKSUM_FAILURES, INDEXING_DELAY, DECISIONS,
    OUTBOX_WAITING, OUTBOX_AGE, DEAD_LETTERS,
    PROVIDER_IN_FLIGHT, PROVIDER_CAP, LANE_IN_FLIGHT, LANE_CAP,
    BUDGET_CAP, BUDGET_HELD, BUDGET_SETTLED, LOTS,
)  # fmt: skip
