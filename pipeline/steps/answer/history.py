"""What happened to a campaign, a slot or one video, in order of time: every move, send, look and publication.

Belongs here: reading the record and telling it in rows. Does not belong here: how things stand
now (`status`), or what is next (`operate.recover`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.domain.units import utc
from pipeline.steps.answer.find import (
    find_campaign,
    find_rendition,
    find_slot,
    is_rendition_name,
    is_slot_name,
)
from resources.database.schema import (
    attempts,
    audit,
    decisions,
    observations,
    publications,
    renditions,
    revisions,
    sends,
    slots,
)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: to whom, what, by whom, why."""

    at: datetime
    subject: str  #: revision or attempt
    what: str
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Publication:
    """What a slot showed from one move to the next; `number` is what `rollback --to` takes."""

    slot: str
    number: int
    move: str
    rendition: str | None  #: None: it showed nothing
    object: str | None
    from_at: datetime
    until_at: datetime | None
    is_shown: bool
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class History:
    subject: str
    events: tuple[Event, ...]
    publications: tuple[Publication, ...]


def history(connection: sa.Connection, name: str) -> History:
    """The whole record of a campaign's revisions and slots, or of a slot's or rendition's attempts."""
    if is_rendition_name(name):
        found = find_rendition(connection, name)
        return _of_videos(connection, found.id, found.slot, renditions.c.id == found.id)
    if is_slot_name(name):
        slot = find_slot(connection, name).id
        return _of_videos(connection, slot, slot, renditions.c.slot == slot)
    campaign = find_campaign(connection, name).id
    ids = connection.scalars(sa.select(revisions.c.id).where(revisions.c.campaign == campaign)).all()
    shown = _publications(connection, slots.c.campaign == campaign)
    return History(campaign, _in_order(_decided(connection, "revision", ids)), shown)


def _of_videos(connection: sa.Connection, subject: str, slot: str, wanted: sa.ColumnElement[bool]) -> History:
    made = sa.select(attempts.c.id).join(renditions, renditions.c.id == attempts.c.rendition).where(wanted)
    ids = connection.scalars(made).all()
    events = [*_decided(connection, "attempt", ids), *_sent(connection, ids), *_seen(connection, ids)]
    return History(subject, _in_order(events), _publications(connection, slots.c.id == slot))


def _in_order(events: Collection[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda one: one.at))


def _decided(connection: sa.Connection, kind: str, ids: Sequence[str]) -> list[Event]:
    return [*_moved(connection, kind, ids), *_judged(connection, kind, ids)]


def _moved(connection: sa.Connection, kind: str, ids: Sequence[str]) -> Iterator[Event]:
    mine = sa.and_(audit.c.subject_kind == kind, audit.c.subject_id.in_(ids))
    for row in connection.execute(sa.select(audit).where(mine).order_by(audit.c.id)):
        if row.to_state is not None:
            what = f"{row.from_state} → {row.to_state}" if row.from_state else row.to_state
            yield Event(utc(row.at), row.subject_id, what, row.actor, row.reason)


def _judged(connection: sa.Connection, kind: str, ids: Sequence[str]) -> Iterator[Event]:
    mine = sa.and_(decisions.c.subject_kind == kind, decisions.c.subject_id.in_(ids))
    for row in connection.execute(sa.select(decisions).where(mine).order_by(decisions.c.id)):
        policy = f" (policy {row.policy_version})" if row.policy_version else ""
        what = f"{row.kind}: {row.verdict}{policy}"
        yield Event(utc(row.at), row.subject_id, what, row.actor, _why(row.reason, row.detail))


def _why(reason: str, detail: Mapping[str, Any]) -> str:
    """Each finding of the policy with the picture or locale that it is about; else the reason."""
    found = [f"{one['rule']} in {one['subject']}" for one in detail.get("findings", ())]
    return ", ".join(found) or reason


def _sent(connection: sa.Connection, ids: Sequence[str]) -> Iterator[Event]:
    mine = sends.c.attempt.in_(ids)
    for row in connection.execute(sa.select(sends).where(mine).order_by(sends.c.at)):
        what = f"send {row.n}: {row.result or 'no answer was recorded'}"
        yield Event(utc(row.answered_at or row.at), row.attempt, what, "", row.reason or "")


def _seen(connection: sa.Connection, ids: Sequence[str]) -> Iterator[Event]:
    mine = observations.c.attempt.in_(ids)
    for row in connection.execute(sa.select(observations).where(mine).order_by(observations.c.id)):
        yield Event(utc(row.at), row.attempt, f"the provider says {row.word}", "", row.reason)


def _publications(connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> tuple[Publication, ...]:
    rows = connection.execute(
        sa.select(publications, slots.c.publication)
        .join(slots, slots.c.id == publications.c.slot)
        .where(wanted)
        .order_by(publications.c.slot, publications.c.number)
    )
    return tuple(
        Publication(
            slot=row.slot,
            number=row.number,
            move=row.move,
            rendition=row.rendition,
            object=row.object,
            from_at=utc(row.from_at),
            until_at=None if row.until_at is None else utc(row.until_at),
            is_shown=row.publication == row.id,
            actor=row.actor,
            reason=row.reason,
        )
        for row in rows
    )
