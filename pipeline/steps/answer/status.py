"""How every wish stands: one projected word each, why, and when to ask again (L8, B3).

Belongs here: reading facts in a batch and projecting them. Does not belong here: the rule
(`domain.lifecycle`) or the query (`resources.database.wish_facts`).

Two queries whatever the number of wishes. States and reason codes of a newer release are shown as they are
and never break a reader (L9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Publish
from pipeline.domain.completion import CompletionPolicy, Counts, WishStanding, count
from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import (
    AttemptState,
    ObjectState,
    Parked,
    Projection,
    SourceSetState,
    Submission,
    WishFacts,
    Word,
    project,
)
from pipeline.domain.units import utc
from resources.database.database import Database
from resources.database.pauses import active_pauses, is_paused
from resources.database.wish_facts import Wanted, wish_rows

__all__ = ["Wanted", "WishStatus", "completion_of", "counts", "projected", "status"]

POLLING = "poll"

#: Words of work that a pause can hold up.
_MOVING = frozenset(
    {Word.UPLOADED, Word.MODERATING, Word.QUEUED, Word.GENERATING, Word.DOWNLOADING, Word.PROCESSING}
)

#: What is parked for one of these moves by nobody but a person.
_FOR_PEOPLE = frozenset({Parked.PAUSED, Parked.UNDERIVABLE, Parked.UNINDEXABLE})

#: The stage that works on an attempt in a state; `stored` depends on its manifest.
_STAGES: Mapping[str, str] = MappingProxyType(
    {
        AttemptState.QUEUED: Stage.SUBMIT,
        AttemptState.SUBMITTING: Stage.SUBMIT,
        AttemptState.GENERATING: POLLING,
        AttemptState.RETRIEVING: Stage.RETRIEVE,
        AttemptState.INDEXED: Stage.PUBLISH,
    }
)


@dataclass(frozen=True, slots=True)
class WishStatus:
    """One wish as clients see it. `entity_version` rises with every visible change of it."""

    wish: str
    tenant: str
    campaign: str
    revision: int
    variant: str
    word: Word
    why: tuple[str, ...]
    retry_after_seconds: int | None
    entity_version: int
    slot: str
    origin: str | None  #: made or carried; None before the approval
    rendition: str | None
    take: int | None
    attempt: str | None  #: the selected one
    attempt_number: int | None
    outcome: str | None  #: how the selected attempt ended, as a code
    object_key: str | None  #: of the published video; before that of the selected attempt's
    was_ready: bool  #: it stood in its slot at some time
    completion: str  #: the campaign's policy
    delivered_at: datetime
    submitted_at: datetime | None
    ended_at: datetime | None
    published_at: datetime | None  #: only of a ready one


def status(database: Database, wanted: Wanted | None = None) -> list[WishStatus]:
    """One row a wish of each campaign's newest revision, or of what *wanted* asks for."""
    with database.reading() as connection:
        return projected(connection, wanted or Wanted(), database.clock(connection))


def projected(connection: sa.Connection, wanted: Wanted, now: int) -> list[WishStatus]:
    rows = wish_rows(connection, wanted)
    pauses = active_pauses(connection)
    return [_status(row, pauses, now) for row in rows]


def counts(statuses: Iterable[WishStatus]) -> Counts:
    """Every wish under exactly one head (B3)."""
    return count(WishStanding(one.word, one.was_ready) for one in statuses)


def completion_of(statuses: Sequence[WishStatus]) -> CompletionPolicy:
    """The policy of the campaign that all of *statuses* belong to; an unknown one means all_terminal."""
    named = statuses[0].completion if statuses else ""
    return CompletionPolicy(named) if named in set(CompletionPolicy) else CompletionPolicy.ALL_TERMINAL


def _status(row: sa.Row[Any], pauses: Sequence[sa.Row[Any]], now: int) -> WishStatus:
    found = _with_pause(_projection(row, now), row, pauses)
    is_ready = found.word is Word.READY
    return WishStatus(
        wish=row.wish,
        tenant=row.tenant,
        campaign=row.campaign,
        revision=row.revision_number,
        variant=row.variant,
        word=found.word,
        why=found.why,
        retry_after_seconds=None if _waits_for_a_person(found, row) else found.retry_after_seconds,
        entity_version=int(row.entity_version),
        slot=row.slot,
        origin=row.origin,
        rendition=row.rendition,
        take=row.take,
        attempt=row.attempt,
        attempt_number=row.attempt_number,
        outcome=row.outcome_class or row.outcome_reason,
        object_key=row.shown_key if is_ready else _owned_key(row),
        was_ready=bool(row.was_ready),
        completion=row.completion or "",
        delivered_at=utc(row.delivered_at),
        submitted_at=_time(row.submitted_at),
        ended_at=_time(row.ended_at),
        published_at=_time(row.published_at) if is_ready else None,
    )


def _waits_for_a_person(found: Projection, row: sa.Row[Any]) -> bool:
    """A hold that is open may yet come free and let others go on; what was spent never does."""
    if Parked.OVER_BUDGET in found.why and row.cap is not None:
        return bool(row.spent + row.quote > row.cap)
    return not _FOR_PEOPLE.isdisjoint(found.why)


def _owned_key(row: sa.Row[Any]) -> str | None:
    return None if row.object_state == ObjectState.PURGED else row.object_key


def _projection(row: sa.Row[Any], now: int) -> Projection:
    """L8's word; a state that this release does not know shows as work in progress, with its name."""
    strange = [f"unknown_state:{row.revision_state}"] * (row.revision_state not in set(SourceSetState))
    if row.attempt is not None:
        strange += [f"unknown_state:{row.attempt_state}"] * (row.attempt_state not in set(AttemptState))
        if strange and row.attempt_state not in set(AttemptState):
            return Projection(Word.PROCESSING, tuple(strange))
    found = project(_facts(row, now))
    parked = [row.parked_reason] * (row.parked_reason is not None and row.parked_reason not in set(Parked))
    return replace(found, why=(*found.why, *parked, *strange))


def is_withdrawn(row: sa.Row[Any]) -> bool:
    """Whether its slot was emptied by a person, and is still empty, while it waits to be shown again."""
    was_emptied = row.published_rendition is None and row.publication_moves > 0
    return bool(was_emptied and row.was_ready)


def _facts(row: sa.Row[Any], now: int) -> WishFacts:
    has_attempt = row.attempt is not None
    return WishFacts(
        source_set=_known(SourceSetState, row.revision_state, SourceSetState.MODERATING),
        has_rendition=row.rendition is not None,
        attempt=AttemptState(row.attempt_state) if has_attempt else None,
        submission=_known(Submission, row.submission, Submission.UNKNOWN)
        if has_attempt
        else Submission.NOT_SENT,
        send_is_leased=has_attempt and row.lease_until > now,
        parked=_known(Parked, row.parked_reason, None),
        is_overdue=row.overdue_at is not None,
        cancel_wanted=row.cancel_wanted_at is not None,
        another_is_out=bool(row.another_is_out),
        is_published=row.rendition is not None and row.published_rendition == row.rendition,
        is_purged=row.object_state == ObjectState.PURGED,
        is_declined=row.verdict == "decline",
        is_accepted=row.verdict == "accept",
        is_wanted=row.wanted_rendition == row.rendition,
        is_withdrawn=is_withdrawn(row),
        by_approval=row.publish == Publish.ON_APPROVAL,
    )


def _known(kind: Any, value: str | None, otherwise: Any) -> Any:
    return kind(value) if value in set(kind) else otherwise


def _with_pause(found: Projection, row: sa.Row[Any], pauses: Sequence[sa.Row[Any]]) -> Projection:
    """An active pause shows on the work that it holds up; it is derived here and stored on no row."""
    if found.word not in _MOVING or not is_paused(pauses, _stage(row), row.provider or "", row.tenant):
        return found
    return replace(found, why=(*found.why, str(Parked.PAUSED)))


def _stage(row: sa.Row[Any]) -> str:
    if row.attempt is None:
        return Stage.INGEST
    if row.attempt_state == AttemptState.STORED:
        return Stage.PUBLISH if row.derived_version is not None else Stage.DERIVE
    if row.attempt_state == AttemptState.SUBMITTING and row.submission == Submission.UNKNOWN:
        return POLLING
    return _STAGES.get(row.attempt_state, "")


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else utc(micros)
