"""Claims: who works on what, until when, under which fencing token (L7), and no more than a lane takes (G10).

Belongs here: taking, renewing and giving back leases; choosing fairly between tenants. Does not belong
here: what is done with a claimed item.

A claim raises the lease token. Every later write of the old holder compares the old one and changes
nothing. A lease of longer than the longest one is an accident of clocks and is not honoured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from pipeline.domain.fairness import share
from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import ENDED_STATES, AttemptState, Submission
from resources.database.database import Transaction
from resources.database.frozen import Frozen, freeze, given
from resources.database.lanes import count_in, open_lanes
from resources.database.schema import attempts, pauses

SECOND = 1_000_000
LEASE_SECONDS = 60
#: A lease that reaches further into the future than this was taken under a wrong clock.
LONGEST_LEASE_SECONDS = 600
#: Items that one claim takes at most.
GROUP = 50
#: A claim looks at this many tenants at a time, least served first.
TENANTS_A_LOOK = 10

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


def claim_submissions(
    tx: Transaction, provider: str, owner: str, limit: int = GROUP, campaign: str | None = None
) -> Sequence[sa.Row[Any]]:
    """Lease up to *limit* attempts to send, within the provider's and tenants' caps, fairly shared.

    Counter rows (`lanes`) say how many of each tenant are in flight; the claim locks the provider's
    gate, takes from the tenants served longest ago, and counts what it took. An attempt that already
    holds its place (it was claimed before and never ended) takes no second one.
    """
    lanes = open_lanes(tx, provider)
    waiting: list[sa.Row[Any]] = []
    for start in range(0, len(lanes.tenants), TENANTS_A_LOOK):
        room = min(limit, lanes.free) - len(waiting)
        if room <= 0:
            break
        tenants = lanes.tenants[start : start + TENANTS_A_LOOK]
        quotas = share(room, {lane.tenant: lane.free for lane in tenants})
        waiting += _waiting_of(tx, provider, quotas, campaign)
    if not waiting:
        return []
    taken = _lease_waiting(tx, waiting, owner)
    inside = {row.id for row in waiting if row.lane_held}
    count_in(tx, provider, [row.tenant for row in taken if row.id not in inside])
    return taken


def _of(campaign: str | None) -> sa.ColumnElement[bool]:
    """Attempts of one campaign, or of all."""
    return sa.true() if campaign is None else attempts.c.campaign == campaign


def _waiting_of(
    tx: Transaction, provider: str, quotas: Mapping[str, int], campaign: str | None
) -> Sequence[sa.Row[Any]]:
    """What is due longest of each tenant, up to its quota."""
    dialect = tx.connection.dialect.name
    found = _seeks(dialect, campaign is not None).rows(
        tx.connection,
        provider=provider,
        campaign=campaign,
        now=tx.now,
        longest=tx.now + LONGEST_LEASE_SECONDS * SECOND,
        room=max(quotas.values()),
        **_asked(dialect, list(quotas)),
    )
    left = dict(quotas)
    waiting = []
    for row in sorted(found, key=lambda row: (row.next_action_at, row.id)):
        if left[row.tenant] > 0:
            left[row.tenant] -= 1
            waiting.append(row)
    return waiting


def _asked(dialect: str, tenants: Sequence[str]) -> Mapping[str, Any]:
    """SQLite: a look at fewer tenants than it can hold asks for nobody in the other places."""
    if dialect == "postgresql":
        return {"asked": list(tenants)}
    padded = [*tenants, *[None] * (TENANTS_A_LOOK - len(tenants))]
    return {f"asked_{place}": tenant for place, tenant in enumerate(padded)}


@lru_cache(maxsize=4)
def _seeks(dialect: str, of_campaign: bool) -> Frozen:
    """Two index seeks a tenant, one for each state that is sent from, so that no queue is ever sorted.

    PostgreSQL plans them once for all tenants; SQLite has no LATERAL, and plans a seek in no time.
    """
    if dialect == "postgresql":
        names = sa.func.unnest(sa.cast(given("asked"), postgresql.ARRAY(sa.Text)))
        asked = names.table_valued("tenant", name="asked").render_derived()
        of_one = sa.union_all(
            *(_seek(asked.c.tenant, kind, of_campaign).correlate(asked) for kind in TO_SEND)
        )
        found = of_one.lateral("found")
        return freeze(dialect, sa.select(found).select_from(asked).join(found, sa.true()))
    seeks = [
        _seek(given(f"asked_{place}"), kind, of_campaign)
        for place in range(TENANTS_A_LOOK)
        for kind in TO_SEND
    ]
    return freeze(dialect, sa.union_all(*(sa.select(seek.subquery()) for seek in seeks)))


def _seek(
    tenant: sa.ColumnElement[str], kind: sa.ColumnElement[bool], of_campaign: bool
) -> sa.Select[tuple[Any, ...]]:
    found = attempts.c
    due = sa.and_(
        found.next_action_at <= given("now"),
        sa.or_(found.lease_until < given("now"), found.lease_until > given("longest")),
    )
    wanted = sa.select(
        found.id, found.tenant, found.lease_token, found.entity_version, found.lane_held, found.next_action_at
    ).where(found.provider == given("provider"), found.tenant == tenant, kind, due)
    if of_campaign:
        wanted = wanted.where(found.campaign == given("campaign"))
    return wanted.where(~_paused(Stage.SUBMIT)).order_by(found.next_action_at).limit(given("room"))


def _lease_waiting(tx: Transaction, waiting: Sequence[sa.Row[Any]], owner: str) -> Sequence[sa.Row[Any]]:
    """Lease what is still as it was when it was chosen, and give it a place in the lanes."""
    rows = [(row.id, row.lease_token, row.entity_version) for row in waiting]
    values = {"owner": owner, "until": tx.now + LEASE_SECONDS * SECOND, "rows": json.dumps(rows)}
    return tx.connection.execute(_LEASE_WAITING[tx.connection.dialect.name], values).all()


_LEASE_WAITING = {
    dialect: sa.text(
        f"WITH waiting AS ({chosen}) "  # noqa: S608 - our own two texts
        "UPDATE attempts SET lease_owner = :owner, lease_token = attempts.lease_token + 1, "
        "lease_until = :until, lane_held = 1 FROM waiting WHERE attempts.id = waiting.id "
        "AND attempts.lease_token = waiting.token AND attempts.entity_version = waiting.entity "
        f"RETURNING {', '.join(f'attempts.{column.name}' for column in attempts.c)}"
    )
    for dialect, chosen in {
        "sqlite": "SELECT json_extract(value,'$[0]') AS id, json_extract(value,'$[1]') AS token, "
        "json_extract(value,'$[2]') AS entity FROM json_each(:rows)",
        "postgresql": "SELECT value->>0 AS id, CAST(value->>1 AS bigint) AS token, "
        "CAST(value->>2 AS bigint) AS entity FROM json_array_elements(CAST(:rows AS json))",
    }.items()
}


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
    return sa.exists().where(
        pauses.c.resumed_at.is_(None),
        pauses.c.stage.in_([str(stage), "*"]),
        pauses.c.provider.in_([attempts.c.provider, "*"]),
        pauses.c.tenant.in_([attempts.c.tenant, "*"]),
    )


def renew(tx: Transaction, table: sa.Table, leases: Sequence[tuple[str, int]]) -> int:
    """Hold leases (id, token) for another while; returns how many are still ours."""
    held = sa.tuple_(table.c.id, table.c.lease_token).in_(leases)
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
