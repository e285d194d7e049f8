"""What nobody moves any more: attempts, revisions, leases, lots, entries, messages, lanes (E6).

Belongs here: finding it, and the repairs that are no move or fact of a lifecycle. Does not belong here: what
is right for each (`pipeline.steps.operate.reconcile`), or what is due in the ordinary way (`claims`, `due`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import ENDED_STATES, AttemptState, Parked, SourceSetState, Submission
from pipeline.domain.outcomes import CONSEQUENCES
from resources.database.claims import LONGEST_LEASE_SECONDS, SECOND, TO_SEND
from resources.database.database import Transaction
from resources.database.lanes import EVERYONE
from resources.database.lots import STARTED_SECONDS, UNSTARTED_SECONDS
from resources.database.schema import (
    attempts,
    decisions,
    index_entries,
    lanes,
    lots,
    outbox,
    renditions,
    revisions,
    slots,
)

Rows = Sequence[sa.Row[Any]]
_S = AttemptState

_UNTOLD = sa.and_(outbox.c.delivered_at.is_(None), outbox.c.dead_at.is_(None))
_LOST = sa.and_(attempts.c.state == _S.SUBMITTING, attempts.c.submission == str(Submission.UNKNOWN))
#: The remote job is looked at, or looked for.
POLLED = sa.or_(attempts.c.state == _S.GENERATING, _LOST)
_RETRIABLE = [str(outcome) for outcome, row in CONSEQUENCES.items() if row.new_attempt]


def forgotten_attempts(connection: sa.Connection, now: int, *, far: int, limit: int) -> Rows:
    """Attempts with a next step that are due at no time (or later than *far*), leased by nobody and not
    about to be made due by a message. What rests, is parked or has ended for good is not among them."""
    unset = sa.or_(attempts.c.next_action_at.is_(None), attempts.c.next_action_at > far)
    unpolled = sa.or_(attempts.c.next_poll_at.is_(None), attempts.c.next_poll_at > far)
    is_wanted = sa.and_(
        renditions.c.selected_attempt == attempts.c.id, slots.c.wanted_rendition == renditions.c.id
    )
    is_hidden = slots.c.published_object.is_distinct_from(attempts.c.object)
    may_follow = sa.and_(
        attempts.c.state.in_([str(state) for state in ENDED_STATES]),
        attempts.c.outcome_class.in_(_RETRIABLE),
    )
    works = sa.or_(
        attempts.c.state == _S.RETRIEVING,
        sa.and_(is_wanted, sa.or_(*TO_SEND, attempts.c.state == _S.STORED, may_follow)),
        sa.and_(is_wanted, attempts.c.state == _S.INDEXED, is_hidden),
    )
    return connection.execute(
        sa.select(attempts, renditions.c.attempts_made)
        .join(renditions, renditions.c.id == attempts.c.rendition)
        .join(slots, slots.c.id == renditions.c.slot)
        .where(
            sa.or_(sa.and_(POLLED, unpolled), sa.and_(works, unset)),
            attempts.c.parked_reason.is_(None),
            _is_free(attempts, now),
            ~sa.exists().where(outbox.c.subject_id == attempts.c.id, _UNTOLD),
        )
        .order_by(attempts.c.id)
        .limit(limit)
    ).all()


def forgotten_revisions(connection: sa.Connection, now: int, *, far: int, limit: int) -> Rows:
    """Source sets in `moderating` that are due at no time although their round was never judged."""
    was_judged = sa.exists().where(
        decisions.c.kind == "moderation",
        decisions.c.subject_kind == "revision",
        decisions.c.subject_id == revisions.c.id,
        decisions.c.round == revisions.c.round,
    )
    return connection.execute(
        sa.select(revisions)
        .where(
            revisions.c.state == SourceSetState.MODERATING,
            sa.or_(revisions.c.next_action_at.is_(None), revisions.c.next_action_at > far),
            _is_free(revisions, now),
            ~was_judged,
            ~sa.exists().where(outbox.c.subject_id == revisions.c.id, _UNTOLD),
        )
        .order_by(revisions.c.id)
        .limit(limit)
    ).all()


def _is_free(table: sa.Table, now: int) -> sa.ColumnElement[bool]:
    return sa.or_(table.c.lease_until < now, table.c.lease_until > now + LONGEST_LEASE_SECONDS * SECOND)


def abandoned(connection: sa.Connection, table: sa.Table, now: int, *, before: int, limit: int) -> Rows:
    """Rows of *table* whose lease ended before *before* and was never given back, or reaches too far."""
    is_over = sa.and_(table.c.lease_until > 0, table.c.lease_until < before)
    is_absurd = table.c.lease_until > now + LONGEST_LEASE_SECONDS * SECOND
    wanted = sa.select(table).where(sa.or_(is_over, is_absurd))
    return connection.execute(wanted.order_by(table.c.id).limit(limit)).all()


def holds_place_unsent(row: sa.Row[Any]) -> bool:
    """Whether an attempt holds a place in its lanes only because it was claimed to be sent."""
    return bool(row.lane_held) and row.submission == str(Submission.NOT_SENT)


def overdue_polls(connection: sa.Connection, now: int, *, before: int, limit: int) -> Rows:
    """Remote jobs (and lost submissions) whose look was due before *before* and that nobody holds."""
    wanted = sa.select(attempts).where(
        POLLED,
        attempts.c.next_poll_at < before,
        attempts.c.parked_reason.is_distinct_from(str(Parked.AWAITING_VERDICT)),
        _is_free(attempts, now),
    )
    return connection.execute(wanted.order_by(attempts.c.next_poll_at).limit(limit)).all()


def waiting_topics(connection: sa.Connection, before: int) -> dict[str, int]:
    """Undelivered messages that were due before *before*, by topic."""
    late = sa.select(outbox.c.topic, sa.func.count()).where(_UNTOLD, outbox.c.next_try_at < before)
    found = connection.execute(late.group_by(outbox.c.topic)).all()
    return {row[0]: int(row[1]) for row in found}


def dead_letters(connection: sa.Connection, limit: int) -> Rows:
    wanted = sa.select(outbox).where(outbox.c.dead_at.is_not(None)).order_by(outbox.c.id).limit(limit)
    return connection.execute(wanted).all()


def unended_lots(connection: sa.Connection, now: int) -> Rows:
    """Lots that were requested or begun so long ago that their run cannot come or live any more."""
    unborn = sa.and_(lots.c.started_at.is_(None), lots.c.requested_at < now - 2 * UNSTARTED_SECONDS * SECOND)
    dead = lots.c.started_at < now - 2 * STARTED_SECONDS * SECOND
    wanted = sa.select(lots).where(lots.c.ended_at.is_(None), sa.or_(unborn, dead))
    return connection.execute(wanted.order_by(lots.c.stage, lots.c.number)).all()


def silent_entries(connection: sa.Connection, limit: int) -> Rows:
    """Entries that lag behind, are due at no time, and that the index never refused."""
    wanted = sa.select(index_entries).where(
        index_entries.c.synced_version < index_entries.c.version,
        index_entries.c.next_action_at.is_(None),
        index_entries.c.refused_reason.is_(None),
    )
    return connection.execute(wanted.order_by(index_entries.c.id).limit(limit)).all()


def refused_entries(connection: sa.Connection, limit: int) -> Rows:
    wanted = sa.select(index_entries).where(index_entries.c.refused_reason.is_not(None))
    return connection.execute(wanted.order_by(index_entries.c.id).limit(limit)).all()


def make_entry_due(tx: Transaction, entry: sa.Row[Any]) -> bool:
    """The index is told this entry again, whatever was believed that it says; False when it changed."""
    changed = tx.connection.execute(
        sa.update(index_entries)
        .where(index_entries.c.id == entry.id, index_entries.c.version == entry.version)
        .values(synced_version=0, next_action_at=tx.now, tries=0)
    )
    return changed.rowcount == 1


@dataclass(frozen=True, slots=True)
class Drift:
    """A counter that was not what it counts; `tenant` may be everyone's `*`."""

    tenant: str
    counted: int
    found: int


@dataclass(frozen=True, slots=True)
class Recount:
    """What was set right in the lanes of one provider; attempts by id."""

    drifts: tuple[Drift, ...]
    given: tuple[str, ...]  #: in flight, and held no place
    taken: tuple[str, ...]  #: held a place, and were neither in flight nor claimed to be sent


def lane_providers(connection: sa.Connection) -> list[str]:
    return list(connection.scalars(sa.select(lanes.c.provider).distinct().order_by(lanes.c.provider)))


def recount_lanes(tx: Transaction, provider: str) -> Recount:
    """Give places to what is in flight without one, take them from what holds one for nothing, and set the
    counters to what they count.

    Everyone's row is the gate that claims and ends pass too, so nothing is counted while it changes; rows
    that somebody is changing now are left to them, as waiting for them would be a deadlock.
    """
    counted = _locked_lanes(tx, provider)
    given = _set_places(tx, provider, _in_flight(), 1)
    claimed = sa.and_(
        sa.or_(*TO_SEND), attempts.c.submission == str(Submission.NOT_SENT), attempts.c.lease_until > 0
    )
    taken = _set_places(tx, provider, sa.and_(~_in_flight(), ~claimed), 0)
    held = _held_places(tx, provider)
    drifts = [
        Drift(tenant, places, held.get(tenant, 0))
        for tenant, places in sorted(counted.items())
        if places != held.get(tenant, 0)
    ]
    for one in drifts:
        lane = sa.and_(lanes.c.provider == provider, lanes.c.tenant == one.tenant)
        tx.connection.execute(sa.update(lanes).where(lane).values(in_flight=one.found))
    return Recount(tuple(drifts), given, taken)


def _locked_lanes(tx: Transaction, provider: str) -> dict[str, int]:
    everyone = sa.select(lanes).where(lanes.c.provider == provider, lanes.c.tenant == EVERYONE)
    others = sa.select(lanes).where(lanes.c.provider == provider, lanes.c.tenant != EVERYONE)
    found = [
        *tx.connection.execute(everyone.with_for_update()),
        *tx.connection.execute(others.order_by(lanes.c.tenant).with_for_update()),
    ]
    return {row.tenant: row.in_flight for row in found}


def _in_flight() -> sa.ColumnElement[bool]:
    return sa.and_(
        attempts.c.state.in_([str(_S.SUBMITTING), str(_S.GENERATING)]),
        attempts.c.submission.in_([str(Submission.UNKNOWN), str(Submission.ACCEPTED)]),
    )


def _set_places(tx: Transaction, provider: str, which: sa.ColumnElement[bool], held: int) -> tuple[str, ...]:
    wrong = (
        sa.select(attempts.c.id)
        .where(attempts.c.provider == provider, attempts.c.lane_held != held, which)
        .with_for_update(skip_locked=True)
    )
    ids = tx.connection.scalars(wrong).all()
    if ids:
        tx.connection.execute(sa.update(attempts).where(attempts.c.id.in_(ids)).values(lane_held=held))
    return tuple(ids)


def _held_places(tx: Transaction, provider: str) -> dict[str, int]:
    rows = tx.connection.execute(
        sa.select(attempts.c.tenant, sa.func.count())
        .where(attempts.c.provider == provider, attempts.c.lane_held == 1)
        .group_by(attempts.c.tenant)
    )
    held = {tenant: int(number) for tenant, number in rows}
    return held | {EVERYONE: sum(held.values())}
