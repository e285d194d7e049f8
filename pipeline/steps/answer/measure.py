"""How the whole installation stands, in numbers: one measurement from the database (E8).

Belongs here: turning aggregates into the catalogue's samples, zeros for what is known and absent, and the
bound on tenants. Does not belong here: the queries (`resources.database.measures`), the names (`metrics`).

Everything is read from rows, in some eighteen statements whatever the number of campaigns, so that a lot run
that lived for seconds counts like a daemon that lives for weeks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import Parked
from pipeline.domain.units import utc
from pipeline.steps.answer import metrics as names
from pipeline.steps.answer.metrics import Distribution, Metric, Metrics, Number, Sample
from resources.database import measures
from resources.database.database import Database
from resources.database.lanes import EVERYONE

#: Tenants that have labels of their own, those with most renditions. No slug begins as the rest's name does.
TOP_TENANTS = 20
OTHER = "_other"
#: Attempts whose way from stored to indexed is looked at, newest first.
DELAYS = 1_000
ATTEMPT_BOUNDS = (1, 2, 3, 5, 10)
PERCENTILES = (50, 95)
LOT_STANDINGS = ("waiting", "running", "ended", "lost")
#: Reason codes of a body, from a provider or in our store, that is not the one that was announced.
CHECKSUM_REASONS = frozenset(
    {"wrong_hash", "wrong_size", "short_body", "checksum_mismatch", "key_holds_other_bytes"}
)

_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Look:
    """One connection, one time, and the tenants that have a label of their own."""

    connection: sa.Connection
    now: int
    tenants: frozenset[str]

    def tenant(self, name: str) -> str:
        return name if name in self.tenants else OTHER

    def age_seconds(self, since: int | None) -> float:
        """Never below zero: a row may be newer than the time that was read before it."""
        return 0.0 if since is None else max(0, self.now - since) / _MICROS


_Found = Iterator[tuple[Metric, Iterable[Sample]]]


def measure(database: Database, top_tenants: int = TOP_TENANTS) -> Metrics:
    """Every metric of the catalogue that has something to say, as of one time."""
    with database.reading() as connection:
        largest = measures.renditions_by_tenant(connection)[:top_tenants]
        now = database.clock(connection)
        look = _Look(connection, now, frozenset(row.tenant for row in largest))
        found = {metric: tuple(samples) for part in _PARTS for metric, samples in part(look)}
    return Metrics(utc(now), {metric: found[metric] for metric in names.CATALOGUE if found.get(metric)})


def _moves(look: _Look) -> _Found:
    moved: Counter[tuple[str, ...]] = Counter()
    failed = _counter({(reason,): 0 for reason in sorted(CHECKSUM_REASONS)})
    for row in measures.moves(look.connection, CHECKSUM_REASONS):
        if row.to_state is not None:
            moved[row.kind, row.from_state or "", row.to_state] += row.number
        if row.reason is not None:
            failed[row.reason,] += row.number
    yield names.TRANSITIONS, _sorted(moved)
    yield names.CHECKSUM_FAILURES, _sorted(failed)


def _pointers(look: _Look) -> _Found:
    rows = measures.pointer_moves(look.connection)
    yield names.PUBLICATION_MOVES, _sorted({(row.move,): row.number for row in rows})


def _unfinished(look: _Look) -> _Found:
    counts: dict[tuple[str, ...], Number] = {}
    ages: dict[tuple[str, ...], Number] = {}
    for kind, states in measures.UNFINISHED.items():
        found = {row.state: row for row in measures.unfinished(look.connection, kind)}
        for state in map(str, states):
            row = found.get(state)
            counts[kind, state] = row.number if row else 0
            ages[kind, state] = look.age_seconds(row.since if row else None)
    yield names.UNFINISHED, _samples(counts)
    yield names.UNFINISHED_AGE, _samples(ages)


def _attempts(look: _Look) -> _Found:
    rows = measures.attempts_by_standing(look.connection, look.now)
    parked = _counter({(str(reason),): 0 for reason in Parked if reason is not Parked.PAUSED})
    for row in rows:
        if row.parked_reason is not None:
            parked[row.parked_reason,] += row.number
    yield names.PARKED, _sorted(parked)
    yield names.UNRESOLVED, _one(sum(row.number for row in rows if row.is_unresolved))
    yield names.OVERDUE, _one(sum(row.number for row in rows if row.is_overdue))
    done = [row for row in rows if row.is_done]
    polls = Distribution(int(sum(row.polls for row in done)), sum(row.number for row in done))
    yield names.POLLS_PER_JOB, _one(polls)


def _renditions(look: _Look) -> _Found:
    rows = measures.attempts_per_rendition(look.connection)
    buckets = tuple(
        (bound, sum(row.number for row in rows if row.attempts_made <= bound)) for bound in ATTEMPT_BOUNDS
    )
    total = sum(row.attempts_made * row.number for row in rows)
    yield names.RENDITION_ATTEMPTS, _one(Distribution(total, sum(row.number for row in rows), buckets))


def _usage(look: _Look) -> _Found:
    meters: dict[str, Counter[tuple[str, ...]]] = {}
    for row in measures.usage(look.connection):
        meters.setdefault(row.meter, Counter())[look.tenant(row.tenant), row.spend] += int(row.quantity)
    starts = meters.get("generation_starts", Counter())
    yield names.STARTS, _sorted(starts)
    yield names.UNCONFIRMED_STARTS, _sorted(meters.get("starts_unconfirmed", {}))
    yield names.RETRIEVED, _sorted(_by_tenant(meters.get("retrieved_bytes", {})))
    yield names.REPEATED, _sorted(_by_tenant(meters.get("repeated_download_bytes", {})))
    approved = measures.approved_source_sets(look.connection)
    yield names.STARTS_PER_UPLOAD, _one(Distribution(starts.total(), approved))


def _by_tenant(found: Mapping[tuple[str, ...], int]) -> Counter[tuple[str, ...]]:
    """Bytes cost the same in a test."""
    sums: Counter[tuple[str, ...]] = Counter()
    for (tenant, _spend), quantity in found.items():
        sums[tenant,] += quantity
    return sums


def _owned(look: _Look) -> _Found:
    rows = measures.owned(look.connection)
    yield names.STORED, _sorted({(row.kind, row.state): int(row.size_bytes) for row in rows})
    yield names.STORED_OBJECTS, _sorted({(row.kind, row.state): row.number for row in rows})


def _events(look: _Look) -> _Found:
    conflicts: Counter[tuple[str, ...]] = Counter()
    duplicates: Counter[tuple[str, ...]] = Counter()
    others: Counter[tuple[str, ...]] = Counter()
    for row in measures.counted_events(look.connection):
        subject, _, found = row.name.rpartition("_")
        if found in ("stale", "gone"):
            conflicts[subject, found] += int(row.value)
        elif found == "duplicate":
            duplicates[subject,] += int(row.value)
        else:
            others[row.name,] += int(row.value)
    yield names.CONFLICTS, _sorted(conflicts)
    yield names.DUPLICATES, _sorted(duplicates)
    yield names.OTHER_EVENTS, _sorted(others)


def _decisions(look: _Look) -> _Found:
    rows = measures.decided(look.connection)
    yield names.DECISIONS, _sorted({(row.kind, row.verdict): row.number for row in rows})


def _delays(look: _Look) -> _Found:
    delays = sorted(measures.indexing_delays(look.connection, DELAYS))
    if delays:
        yield (
            names.INDEXING_DELAY,
            [Sample((str(share),), percentile(delays, share) / _MICROS) for share in PERCENTILES],
        )


def percentile(ordered: Sequence[int], share: int) -> int:
    """The smallest of *ordered* that at least *share* per cent are not above (nearest rank)."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _outbox(look: _Look) -> _Found:
    waiting = measures.waiting_messages(look.connection)
    yield names.OUTBOX_WAITING, _one(waiting.number)
    yield names.OUTBOX_AGE, _one(look.age_seconds(waiting.since))
    yield names.DEAD_LETTERS, _one(measures.dead_messages(look.connection))


def _lanes(look: _Look) -> _Found:
    everyone: dict[tuple[str, ...], sa.Row[Any]] = {}
    taken: Counter[tuple[str, ...]] = Counter()
    caps: Counter[tuple[str, ...]] = Counter()
    for row in measures.lane_rows(look.connection):
        if row.tenant == EVERYONE:
            everyone[row.provider,] = row
        else:
            taken[row.provider, look.tenant(row.tenant)] += row.in_flight
            caps[row.provider, look.tenant(row.tenant)] += row.cap
    yield names.PROVIDER_IN_FLIGHT, _sorted({key: row.in_flight for key, row in everyone.items()})
    yield names.PROVIDER_CAP, _sorted({key: row.cap for key, row in everyone.items()})
    yield names.LANE_IN_FLIGHT, _sorted(taken)
    yield names.LANE_CAP, _sorted(caps)


def _budgets(look: _Look) -> _Found:
    rows = measures.budget_sums(look.connection)
    for metric, part in (
        (names.BUDGET_CAP, "cap"), (names.BUDGET_HELD, "held"), (names.BUDGET_SETTLED, "settled"),
    ):  # fmt: skip
        yield metric, _sorted({(row.currency,): _money(getattr(row, part)) for row in rows})


def _money(micros: int) -> Decimal:
    return Decimal(int(micros)) / _MICROS


def _lots(look: _Look) -> _Found:
    counts = _counter({(str(stage), standing): 0 for stage in Stage for standing in LOT_STANDINGS})
    for row in measures.lots_by_standing(look.connection, look.now):
        counts[row.stage, row.standing] += row.number
    yield names.LOTS, _samples(counts)


#: Each reads once and says what it found.
_PARTS: tuple[Callable[[_Look], _Found], ...] = (
    _moves, _pointers, _unfinished, _attempts, _renditions, _usage, _owned, _events, _decisions, _delays,
    _outbox, _lanes, _budgets, _lots,
)  # fmt: skip


def _counter(known: Mapping[tuple[str, ...], int]) -> Counter[tuple[str, ...]]:
    """What is known stands at zero before anything is found."""
    return Counter(known)


def _samples(values: Mapping[tuple[str, ...], Number]) -> list[Sample]:
    return [Sample(labels, value) for labels, value in values.items()]


def _sorted(values: Mapping[tuple[str, ...], Number]) -> list[Sample]:
    return _samples(dict(sorted(values.items())))


def _one(value: Number | Distribution) -> list[Sample]:
    return [Sample((), value)]
