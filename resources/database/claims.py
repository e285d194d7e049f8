"""Claims: who works on what, until when, under which fencing token (L7).

Belongs here: taking, renewing and giving back leases. Does not belong here: claims of what is to be sent,
which lanes limit (`lane_claims`); what is done with a claimed item.

A claim raises the lease token. Every later write of the old holder compares the old one and changes
nothing. A lease of longer than the longest one is an accident of clocks and is not honoured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import ENDED_STATES, AttemptState, Submission
from resources.database.database import Transaction
from resources.database.pauses import pausing
from resources.database.schema import attempts

SECOND = 1_000_000
LEASE_SECONDS = 60
#: A lease that reaches further into the future than this was taken under a wrong clock.
LONGEST_LEASE_SECONDS = 600
#: Items that one claim takes at most.
GROUP = 50

_STORED, _INDEXED = str(AttemptState.STORED), str(AttemptState.INDEXED)
_DERIVED = attempts.c.derived_version.is_not(None)
_GENERATING = attempts.c.state == str(AttemptState.GENERATING)
_LOST = sa.and_(
    attempts.c.state == str(AttemptState.SUBMITTING),
    attempts.c.submission == str(Submission.UNKNOWN),
)

#: What is sent: what never was, and what was proven not taken.
TO_SEND: tuple[sa.ColumnElement[bool], ...] = (
    attempts.c.state == str(AttemptState.QUEUED),
    sa.and_(
        attempts.c.state == str(AttemptState.SUBMITTING),
        attempts.c.submission == str(Submission.NOT_SENT),
    ),
)

#: Which attempts a stage works on, once they are due.
WORK_OF: dict[Stage, sa.ColumnElement[bool]] = {
    Stage.RETRIEVE: attempts.c.state == str(AttemptState.RETRIEVING),
    Stage.DERIVE: sa.and_(attempts.c.state == _STORED, ~_DERIVED),
    Stage.PUBLISH: sa.or_(sa.and_(attempts.c.state == _STORED, _DERIVED), attempts.c.state == _INDEXED),
    Stage.SUBMIT: sa.or_(*TO_SEND),
}

#: What waits for the retry rule, once it is due: the first thing that a submit lot does.
FOR_RETRY = sa.or_(
    attempts.c.state.in_(sorted(str(state) for state in ENDED_STATES)),
    sa.and_(_GENERATING, attempts.c.overdue_at.is_not(None)),
)


def work_of(stage: Stage) -> sa.ColumnElement[bool]:
    """What *stage* works on and no pause holds."""
    return sa.and_(WORK_OF[stage], ~_paused(stage))


def claim_stage(
    tx: Transaction, stage: Stage, owner: str, limit: int = GROUP, campaign: str | None = None
) -> Sequence[sa.Row[Any]]:
    """Lease up to *limit* due attempts of *stage*, longest due first; rows as they are after the claim."""
    work = sa.and_(work_of(stage), _of(campaign))
    return _lease(tx, attempts.c.next_action_at, work, owner, limit)


def claim_for_retry(tx: Transaction, owner: str, limit: int = GROUP) -> Sequence[sa.Row[Any]]:
    """Lease ended and overdue attempts that wait for the retry rule."""
    return _lease(tx, attempts.c.next_action_at, FOR_RETRY, owner, limit)


def claim_polls(tx: Transaction, provider: str, owner: str, limit: int) -> Sequence[sa.Row[Any]]:
    """Lease attempts of *provider* whose remote job is due for a look."""
    work = sa.and_(attempts.c.provider == provider, _GENERATING, ~_paused("poll"))
    return _lease(tx, attempts.c.next_poll_at, work, owner, limit)


def claim_unknown(tx: Transaction, provider: str, owner: str, limit: int) -> Sequence[sa.Row[Any]]:
    """Lease attempts whose submission is unknown, whose sender is gone and which are due for a look."""
    work = sa.and_(attempts.c.provider == provider, _LOST, ~_paused("poll"))
    return _lease(tx, attempts.c.next_poll_at, work, owner, limit)


def _of(campaign: str | None) -> sa.ColumnElement[bool]:
    """Attempts of one campaign, or of all."""
    return sa.true() if campaign is None else attempts.c.campaign == campaign


def _lease(
    tx: Transaction,
    due: sa.Column[int],
    work: sa.ColumnElement[bool],
    owner: str,
    limit: int,
) -> Sequence[sa.Row[Any]]:
    free = sa.and_(work, _is_free(tx, due))
    chosen = sa.select(attempts.c.id).where(free).order_by(due).limit(limit)
    return _lease_ids(tx, chosen.with_for_update(skip_locked=True), owner)


def _is_free(tx: Transaction, due: sa.Column[int]) -> sa.ColumnElement[bool]:
    """Due by *due*, and its lease is over or was never a sane one."""
    longest = tx.now + LONGEST_LEASE_SECONDS * SECOND
    return sa.and_(due <= tx.now, sa.or_(attempts.c.lease_until < tx.now, attempts.c.lease_until > longest))


def _lease_ids(tx: Transaction, chosen: sa.Select[tuple[str]], owner: str) -> Sequence[sa.Row[Any]]:
    """Lease the rows that *chosen* found and locked, by their key alone.

    Asking for their state again would prove nothing, and lead a planner through the whole queue to find them.
    PostgreSQL may run a plain subquery once for each row it looks at, and SKIP LOCKED then chooses anew each
    time, beyond any limit; a materialized one is run once.
    """
    once = chosen.cte("chosen").prefix_with("MATERIALIZED", dialect="postgresql")
    return tx.connection.execute(
        sa.update(attempts)
        .where(attempts.c.id.in_(sa.select(once.c.id)))
        .values(
            lease_owner=owner,
            lease_token=attempts.c.lease_token + 1,
            lease_until=tx.now + LEASE_SECONDS * SECOND,
        )
        .returning(attempts)
    ).all()


def _paused(stage: str) -> sa.ColumnElement[bool]:
    return pausing(stage, attempts.c.provider, attempts.c.tenant)


def renew(tx: Transaction, table: sa.Table, leases: Sequence[tuple[str, int]]) -> int:
    """Hold leases (id, token) for another while; returns how many are still ours.

    What was given back, by a worker that goes on about something else, is nobody's and stays so.
    """
    held = sa.and_(sa.tuple_(table.c.id, table.c.lease_token).in_(leases), table.c.lease_until > 0)
    return tx.connection.execute(
        sa.update(table).where(held).values(lease_until=tx.now + LEASE_SECONDS * SECOND)
    ).rowcount


def give_back(
    tx: Transaction, table: sa.Table, leases: Sequence[tuple[str, int]], *, due_at: int | None = None
) -> None:
    """End leases that are still ours; *due_at* postpones the work, else it is due as it was."""
    values: dict[str, Any] = {"lease_until": 0, "lease_owner": None}
    if due_at is not None:
        values["next_action_at"] = due_at
    held = sa.tuple_(table.c.id, table.c.lease_token).in_(leases)
    tx.connection.execute(sa.update(table).where(held).values(**values))
