"""What Dagster should be told about campaigns that changed: materialize or observe (E1).

Belongs here: choosing between the two by completion, saying nothing twice, at most one observation a
campaign, part and minute. Does not belong here: how a part stands (`answer.standing`), or how Dagster is told
(the caller hands in `tell`).

Safe beside another teller, and after one that was killed: see `resources.database.marks`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.domain.follow_ons import Topic
from pipeline.steps.answer.standing import NO_TERMS, Part, Standing, Terms, standings
from resources.database.database import Database, Transaction
from resources.database.marks import (
    Mark,
    claim,
    due_marks,
    record_partitions,
    settle,
    told_of,
    without_partition,
)
from resources.database.transitions import message, post

SECOND = 1_000_000
#: Observations of one campaign's part lie at least this far apart. After this long a claim that was never
#: settled was left by a teller that died.
MINUTE = 60 * SECOND
#: Campaigns that one telling takes on.
CAMPAIGNS = 200
PARTITIONS = 10_000


class Say(enum.StrEnum):
    MATERIALIZED = "materialized"  #: complete: the partition turns green
    OBSERVED = "observed"  #: how far it is


@dataclass(frozen=True, slots=True)
class Saying:
    """One event for one partition of one asset."""

    say: Say
    standing: Standing


@dataclass(frozen=True, slots=True)
class Said:
    """What was said last about one part; not `sure` until the event is stored."""

    say: str
    fingerprint: str
    at: int
    sure: bool


@dataclass(frozen=True, slots=True)
class _Telling:
    """One campaign's part in a telling."""

    mark: Mark
    sayings: tuple[Saying, ...]
    claimed: dict[str, Any]
    told: dict[str, Any]
    later_at: int | None


Tell = Callable[[Sequence[Saying]], None]


def mark_partitions(
    database: Database,
    tell: Tell,
    *,
    campaigns: Collection[str] | None = None,
    overdue_seconds: int = 0,
    limit: int = CAMPAIGNS,
    terms: Terms = NO_TERMS,
) -> int:
    """Tell what changed about *campaigns* (None: all whose change is *overdue_seconds* old).

    *tell* stores the events and returns only once they are stored. Returns the number of events. *terms* of
    the providers say what happens next to an attempt that ended.
    """
    tellings = _prepare(database, campaigns, overdue_seconds, limit, terms)
    ours = database.run(lambda tx: [one for one in tellings if claim(tx, one.mark, one.claimed)])
    sayings = [saying for one in ours for saying in one.sayings]
    if sayings:
        tell(sayings)
    database.run(lambda tx: [_settle(tx, one) for one in ours])
    return len(sayings)


def add_partitions(database: Database, add: Callable[[Sequence[str]], None]) -> int:
    """Hand the keys of campaigns that Dagster does not know to *add*, and remember them; returns how many."""
    with database.reading() as connection:
        missing = without_partition(connection, PARTITIONS)
    if missing:
        add([campaign for campaign, _ in missing])
        database.run(lambda tx: record_partitions(tx, missing))
    return len(missing)


def _prepare(
    database: Database,
    campaigns: Collection[str] | None,
    overdue_seconds: int,
    limit: int,
    terms: Terms,
) -> list[_Telling]:
    with database.reading() as connection:
        now = database.clock(connection)
        marks = due_marks(connection, now - overdue_seconds * SECOND, limit=limit, campaigns=campaigns)
        standing = standings(connection, [mark.campaign for mark in marks], now, terms)
    return [_telling(mark, standing.get(mark.campaign, ()), now) for mark in marks]


def _telling(mark: Mark, standing: Sequence[Standing], now: int) -> _Telling:
    sayings: list[Saying] = []
    claimed, told = dict(mark.told), dict(mark.told)
    later: list[int] = []
    for one in standing:
        said = Said(**mark.told[one.part]) if one.part in mark.told else None
        say = Say.MATERIALIZED if one.is_complete else Say.OBSERVED
        due_at = when(said, say, one.fingerprint, now)
        if due_at is None:
            continue
        if due_at > now:
            later.append(due_at)
            continue
        sayings.append(Saying(say, one))
        new = Said(say, one.fingerprint, now, sure=False)
        claimed[one.part] = asdict(new)
        told[one.part] = asdict(new) | {"sure": True}
    return _Telling(mark, tuple(sayings), claimed, told, min(later, default=None))


def when(said: Said | None, say: Say, fingerprint: str, now: int) -> int | None:
    """When to say it: now, at a later time, or None when it was said already."""
    if said is None:
        return now
    if not said.sure:  # somebody is at it, or died at it
        return max(now, said.at + MINUTE)
    if (said.say, said.fingerprint) == (say, fingerprint):
        return None
    return now if say is Say.MATERIALIZED else max(now, said.at + MINUTE)


def _settle(tx: Transaction, one: _Telling) -> bool:
    post(tx, [_complete(tx, one, saying.standing) for saying in one.sayings if _is_end(saying)])
    return settle(tx, one.mark, one.claimed, one.told, later_at=one.later_at)


def _is_end(saying: Saying) -> bool:
    return saying.say is Say.MATERIALIZED and saying.standing.part is Part.TAG_INDEX


def _complete(tx: Transaction, one: _Telling, standing: Standing) -> dict[str, Any]:
    """The receipt learns the outcome, whatever it is: also when some of its wishes failed (I1)."""
    revision = f"{standing.campaign}/r{standing.revision}"
    return message(tx, Topic.CAMPAIGN_COMPLETE, one.mark.tenant, revision, standing.fingerprint)


def is_green(database: Database, campaign: str) -> bool:
    """Whether Dagster was told last that every part of *campaign* is complete."""
    with database.reading() as connection:
        told = told_of(connection, campaign)
    said = [Said(**told[part]) for part in Part if part in told]
    return len(said) == len(Part) and all(one.sure and one.say == Say.MATERIALIZED for one in said)
