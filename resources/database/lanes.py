"""Lanes: how many remote jobs are in flight, per provider and per tenant there (G10).

One counter row a provider and tenant, and one (`*`) a provider over all tenants. An attempt enters when it
is claimed for its first send and leaves when its remote job ended or it gave up before a send;
`attempts.lane_held` says which ones are inside, so that the counters can be proven.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import AttemptState, Submission
from resources.database.database import Transaction
from resources.database.frozen import Frozen, freeze, given
from resources.database.pauses import pausing
from resources.database.schema import attempts, campaigns, lanes
from resources.database.upsert import insert_for

EVERYONE = "*"
_FREE = (lanes.c.cap - lanes.c.in_flight).label("free")


@dataclass(frozen=True, slots=True)
class Lane:
    tenant: str
    free: int


@dataclass(frozen=True, slots=True)
class Lanes:
    """A provider's lanes, locked for this transaction; tenants with room, unpaused, longest waiting first."""

    free: int
    tenants: tuple[Lane, ...]


def set_caps(tx: Transaction, provider: str, *, cap: int, tenant_cap: int) -> None:
    """Make or update the counter rows of *provider* for every tenant; counts stay as they are."""
    tenants = tx.connection.scalars(sa.select(campaigns.c.tenant).distinct())
    wanted = dict.fromkeys(tenants, tenant_cap) | {EVERYONE: cap}
    insert = insert_for(tx.connection, lanes)
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["provider", "tenant"],
            set_={"cap": insert.excluded.cap},
            where=lanes.c.cap != insert.excluded.cap,
        ),
        [
            {"provider": provider, "tenant": tenant, "cap": places, "in_flight": 0, "served_at": 0}
            for tenant, places in sorted(wanted.items())
        ],
    )


def open_lanes(tx: Transaction, provider: str) -> Lanes:
    """Lock and read the counters of *provider*. Everyone's row is the gate: it is always locked first."""
    dialect = tx.connection.dialect.name
    everyone = _gate(dialect).rows(tx.connection, provider=provider)
    if not everyone:
        return Lanes(0, ())
    rows = _with_room(dialect).rows(tx.connection, provider=provider)
    return Lanes(max(0, everyone[0].free), tuple(Lane(row.tenant, row.free) for row in rows))


@lru_cache(maxsize=2)
def _gate(dialect: str) -> Frozen:
    row = sa.select(_FREE).where(lanes.c.provider == given("provider"), lanes.c.tenant == EVERYONE)
    return freeze(dialect, row.with_for_update())


@lru_cache(maxsize=2)
def _with_room(dialect: str) -> Frozen:
    rows = sa.select(lanes.c.tenant, _FREE).where(
        lanes.c.provider == given("provider"),
        lanes.c.tenant != EVERYONE,
        _FREE > 0,
        ~pausing(Stage.SUBMIT, lanes.c.provider, lanes.c.tenant),
    )
    return freeze(dialect, rows.order_by(lanes.c.served_at, lanes.c.tenant))


def count_in(tx: Transaction, provider: str, tenants: Sequence[str]) -> None:
    """Count in what was claimed of *tenants*, once for each name; `open_lanes` has locked the gate."""
    if tenants:
        number = Counter(tenants)
        _add(tx, provider, {EVERYONE: number.total(), **number}, served_at=tx.now)


def free_abandoned(tx: Transaction, provider: str) -> int:
    """Free the places of claimers that died before they sent anything; how many there were.

    A lane that is full of them would take nobody in, not even those attempts themselves. Their leases are
    over, and the token rises: a claimer that was only frozen finds that it has the attempt no more.
    """
    freed = tx.connection.execute(
        sa.update(attempts)
        .where(
            attempts.c.provider == provider,
            attempts.c.state.in_([str(AttemptState.QUEUED), str(AttemptState.SUBMITTING)]),
            attempts.c.submission == str(Submission.NOT_SENT),
            attempts.c.lane_held == 1,
            attempts.c.lease_until < tx.now,
        )
        .values(lane_held=0, lease_owner=None, lease_until=0, lease_token=attempts.c.lease_token + 1)
        .returning(attempts.c.tenant)
    ).all()
    _count_out(tx, provider, Counter(row.tenant for row in freed))
    return len(freed)


def leave(tx: Transaction, ended: Sequence[sa.Row[Any]]) -> None:
    """Count attempts out, once each: only those that still hold a place.

    Call it in the transaction that ends the remote job, after the guarded update held.
    """
    left = tx.connection.execute(
        sa.update(attempts)
        .where(attempts.c.id.in_([row.id for row in ended]), attempts.c.lane_held == 1)
        .values(lane_held=0)
        .returning(attempts.c.provider, attempts.c.tenant)
    ).all()
    for provider in sorted({row.provider for row in left}):
        _count_out(tx, provider, Counter(row.tenant for row in left if row.provider == provider))


def _count_out(tx: Transaction, provider: str, number: Counter[str]) -> None:
    """Everyone's row first: it is the gate."""
    if number:
        _add(tx, provider, {EVERYONE: -number.total()})
        _add(tx, provider, {tenant: -places for tenant, places in number.items()})


def _add(tx: Transaction, provider: str, changes: Mapping[str, int], *, served_at: int | None = None) -> None:
    """Change counters in one statement, in no order of locks: everyone's, the gate, is ours before."""
    values = {"provider": provider, "served_at": served_at, "rows": json.dumps(list(changes.items()))}
    tx.connection.execute(_ADD[tx.connection.dialect.name], values)


_ADD = {
    dialect: sa.text(
        f"WITH changes AS MATERIALIZED ({changes}) UPDATE lanes "  # noqa: S608 - our own two texts
        "SET in_flight = lanes.in_flight + changes.places, "
        "served_at = COALESCE(CAST(:served_at AS bigint), lanes.served_at) FROM changes "
        "WHERE lanes.provider = :provider AND lanes.tenant = changes.tenant"
    )
    for dialect, changes in {
        "sqlite": "SELECT json_extract(value,'$[0]') AS tenant, json_extract(value,'$[1]') AS places "
        "FROM json_each(:rows)",
        "postgresql": "SELECT value->>0 AS tenant, CAST(value->>1 AS bigint) AS places "
        "FROM json_array_elements(CAST(:rows AS json))",
    }.items()
}
