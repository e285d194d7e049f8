"""Aggregates over the rows, each one statement whatever the number of campaigns (E8).

Belongs here: counting, and which index or scan a count takes. Does not belong here: what a count is called,
or how it is shown (`pipeline.steps.answer.measure`).

Counters are sums over append-only rows, so that they rise until retention takes old rows away; nothing is
counted a second time anywhere, and a process that lived for a second counts like any other. Current states
come from their indexes; the whole audit, usage and object tables are read once each (10,000 renditions are
100,000 audit rows).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState, ObjectState, SourceSetState, State, Submission
from resources.database.lots import SECOND, STARTED_SECONDS, UNSTARTED_SECONDS
from resources.database.schema import (
    attempts,
    audit,
    budgets,
    counters,
    decisions,
    lanes,
    lots,
    objects,
    outbox,
    publications,
    renditions,
    revisions,
    usage_facts,
)

#: States in which something still has to happen. `stored` rests when its attempt is deselected (L4).
UNFINISHED: dict[str, tuple[State, ...]] = {
    "revision": (SourceSetState.UPLOADED, SourceSetState.MODERATING),
    "attempt": (
        AttemptState.QUEUED,
        AttemptState.SUBMITTING,
        AttemptState.GENERATING,
        AttemptState.RETRIEVING,
        AttemptState.STORED,
    ),
    "object": (ObjectState.MARKED, ObjectState.PURGING),
}
_TABLES = {"revision": revisions, "attempt": attempts, "object": objects}

#: An end that only names the number of tries; what the last one found stands in its detail.
TRIES_USED_UP = "fetch_tries_used_up"

#: What a statement brought, its columns named in each docstring.
Rows = Sequence[Any]


def moves(connection: sa.Connection, reasons: Collection[str]) -> Rows:
    """How often each move was made, and each fact noted for one of *reasons*: one look at the audit.

    A slot's moves are not among them: its states are the names of publications (see `pointer_moves`).

    Rows of `kind`, `from_state`, `to_state` (None for a fact), `reason` (None unless one of *reasons*),
    `number`.
    """
    why = _reason(reasons)
    return connection.execute(
        sa.select(
            audit.c.subject_kind.label("kind"),
            audit.c.from_state,
            audit.c.to_state,
            why.label("reason"),
            sa.func.count().label("number"),
        )
        .where(
            audit.c.subject_kind.in_(list(_TABLES)), sa.or_(audit.c.to_state.is_not(None), why.is_not(None))
        )
        .group_by(audit.c.subject_kind, audit.c.from_state, audit.c.to_state, why)
    ).all()


def _reason(reasons: Collection[str]) -> sa.ColumnElement[Any]:
    named: list[tuple[Any, Any]] = [
        (audit.c.reason == reason, sa.literal_column(f"'{reason}'")) for reason in sorted(reasons)
    ]
    last: list[tuple[Any, Any]] = [
        (
            sa.and_(audit.c.reason == TRIES_USED_UP, audit.c.detail.cast(sa.Text).like(f'%in {reason}"%')),
            sa.literal_column(f"'{reason}'"),
        )
        for reason in sorted(reasons)
    ]
    return sa.case(*named, *last)


def unfinished(connection: sa.Connection, kind: str) -> Rows:
    """Rows of `state`, `number`, and `since`: when the one that is longest in it came there.

    A move's time stands in the audit, found by the unique index of its chain.
    """
    table = _TABLES[kind]
    waits: sa.ColumnElement[bool] = table.c.state.in_([str(state) for state in UNFINISHED[kind]])
    if kind == "attempt":
        rests = sa.and_(table.c.state == str(AttemptState.STORED), table.c.deselected_at.is_not(None))
        waits = sa.and_(waits, ~rests)
    moved = sa.and_(
        audit.c.subject_kind == kind,
        audit.c.subject_id == table.c.id,
        audit.c.version == table.c.version,
    )
    since = sa.func.min(sa.func.coalesce(audit.c.at, table.c.created_at)).label("since")
    return connection.execute(
        sa.select(table.c.state, sa.func.count().label("number"), since)
        .select_from(table.outerjoin(audit, moved))
        .where(waits)
        .group_by(table.c.state)
    ).all()


def attempts_by_standing(connection: sa.Connection, now: int) -> Rows:
    """Rows of `state`, `parked_reason`, `is_overdue`, `is_unresolved`, `is_done` (its remote job ended),
    `number` and `polls`."""
    is_overdue = sa.and_(attempts.c.overdue_at.is_not(None), attempts.c.state == str(AttemptState.GENERATING))
    is_unresolved = sa.and_(
        attempts.c.state == str(AttemptState.SUBMITTING),
        attempts.c.submission == str(Submission.UNKNOWN),
        attempts.c.lease_until <= now,
    )
    is_done = sa.and_(attempts.c.handle.is_not(None), attempts.c.state.not_in(_BEFORE_OUTPUT))
    named = [
        attempts.c.state,
        attempts.c.parked_reason,
        sa.case((is_overdue, 1), else_=0).label("is_overdue"),
        sa.case((is_unresolved, 1), else_=0).label("is_unresolved"),
        sa.case((is_done, 1), else_=0).label("is_done"),
    ]
    counted = sa.select(*named, attempts.c.poll_count).subquery()
    columns = [counted.c[column.name] for column in named]
    return connection.execute(
        sa.select(
            *columns, sa.func.count().label("number"), sa.func.sum(counted.c.poll_count).label("polls")
        ).group_by(*columns)
    ).all()


_BEFORE_OUTPUT = [str(one) for one in (AttemptState.QUEUED, AttemptState.SUBMITTING, AttemptState.GENERATING)]


def attempts_per_rendition(connection: sa.Connection) -> Rows:
    """Rows of `attempts_made` and `number` of renditions with so many."""
    made = renditions.c.attempts_made
    return connection.execute(sa.select(made, sa.func.count().label("number")).group_by(made)).all()


def renditions_by_tenant(connection: sa.Connection) -> Rows:
    """Rows of `tenant` and `number`, largest first."""
    number = sa.func.count().label("number")
    wanted = sa.select(renditions.c.tenant, number).group_by(renditions.c.tenant)
    return connection.execute(wanted.order_by(number.desc(), renditions.c.tenant)).all()


def usage(connection: sa.Connection) -> Rows:
    """Rows of `meter`, `tenant`, `spend`, `quantity`."""
    by = (usage_facts.c.meter, usage_facts.c.tenant, usage_facts.c.spend)
    quantity = sa.func.sum(usage_facts.c.quantity).label("quantity")
    return connection.execute(sa.select(*by, quantity).group_by(*by)).all()


def owned(connection: sa.Connection) -> Rows:
    """Rows of `kind`, `state`, `number` and `size_bytes` of all objects that are not purged."""
    by = (objects.c.kind, objects.c.state)
    return connection.execute(
        sa.select(*by, sa.func.count().label("number"), sa.func.sum(objects.c.size_bytes).label("size_bytes"))
        .where(objects.c.state != str(ObjectState.PURGED))
        .group_by(*by)
    ).all()


def pointer_moves(connection: sa.Connection) -> Rows:
    """Rows of `move` and `number`: what slots were made to show, ever."""
    move = publications.c.move
    return connection.execute(sa.select(move, sa.func.count().label("number")).group_by(move)).all()


def counted_events(connection: sa.Connection) -> Rows:
    """Rows of `name` and `value`, over all tenants."""
    value = sa.func.sum(counters.c.value).label("value")
    return connection.execute(sa.select(counters.c.name, value).group_by(counters.c.name)).all()


def decided(connection: sa.Connection) -> Rows:
    """Rows of `kind`, `verdict`, `number`."""
    by = (decisions.c.kind, decisions.c.verdict)
    return connection.execute(sa.select(*by, sa.func.count().label("number")).group_by(*by)).all()


def approved_source_sets(connection: sa.Connection) -> int:
    """Approved is an end: the state says it for good."""
    approved = revisions.c.state == str(SourceSetState.APPROVED)
    return connection.scalar(sa.select(sa.func.count()).select_from(revisions).where(approved)) or 0


def waiting_messages(connection: sa.Connection) -> Any:
    """`number` and `since` of undelivered outbox messages, from their own small index."""
    waits = sa.and_(outbox.c.delivered_at.is_(None), outbox.c.dead_at.is_(None))
    wanted = sa.select(sa.func.count().label("number"), sa.func.min(outbox.c.created_at).label("since"))
    return connection.execute(wanted.where(waits)).one()


def dead_messages(connection: sa.Connection) -> int:
    dead = sa.select(sa.func.count()).select_from(outbox).where(outbox.c.dead_at.is_not(None))
    return connection.scalar(dead) or 0


def lane_rows(connection: sa.Connection) -> Rows:
    return connection.execute(sa.select(lanes).order_by(lanes.c.provider, lanes.c.tenant)).all()


def budget_sums(connection: sa.Connection) -> Rows:
    """Rows of `currency`, `cap`, `held`, `settled` in micro-units, over all campaigns."""
    sums = [sa.func.sum(budgets.c[name]).label(name) for name in ("cap", "held", "settled")]
    return connection.execute(sa.select(budgets.c.currency, *sums).group_by(budgets.c.currency)).all()


def lots_by_standing(connection: sa.Connection, now: int) -> Rows:
    """Rows of `stage`, `standing` (ended, lost, running, waiting) and `number`.

    Lost: its run did not begin, or did not end, in the time after which it holds up nothing any more.
    """
    began = lots.c.started_at.is_not(None)
    since = sa.func.coalesce(lots.c.started_at, lots.c.requested_at)
    patience = sa.case((began, STARTED_SECONDS * SECOND), else_=UNSTARTED_SECONDS * SECOND)
    standing = sa.case(
        (lots.c.ended_at.is_not(None), sa.literal_column("'ended'")),
        (since <= now - patience, sa.literal_column("'lost'")),
        (began, sa.literal_column("'running'")),
        else_=sa.literal_column("'waiting'"),
    )
    found = sa.select(lots.c.stage, standing.label("standing")).subquery()
    by = (found.c.stage, found.c.standing)
    return connection.execute(sa.select(*by, sa.func.count().label("number")).group_by(*by)).all()


def indexing_delays(connection: sa.Connection, newest: int) -> Sequence[int]:
    """Microseconds from `stored` to `indexed` of the *newest* attempts that were indexed.

    The newest ones are found from the audit's end; `stored` is the move before, by the chain's index.
    """
    indexed = (
        sa.select(audit.c.subject_id, audit.c.version, audit.c.at)
        .where(audit.c.subject_kind == "attempt", audit.c.to_state == str(AttemptState.INDEXED))
        .order_by(audit.c.id.desc())
        .limit(newest)
        .subquery()
    )
    stored = audit.alias("stored")
    return connection.scalars(
        sa.select(indexed.c.at - stored.c.at).join(
            stored,
            sa.and_(
                stored.c.subject_kind == "attempt",
                stored.c.subject_id == indexed.c.subject_id,
                stored.c.version == indexed.c.version - 1,
            ),
        )
    ).all()
