"""Claims of what is to be sent: within the caps of its lanes, and shared fairly between tenants (G10, L7).

Belongs here: choosing, leasing and counting in, as one claim. Does not belong here: the counters (`lanes`),
how places are shared (`pipeline.domain.fairness`), or claims that no lane limits (`claims`).

Counter rows say how many of each tenant are in flight; a claim locks the provider's gate and takes from the
tenants served longest ago. An attempt that already holds its place (it was claimed before and never ended)
takes no second one. No queue is ever sorted: a tenant has two index seeks, one for each state that is sent
from.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from pipeline.domain.fairness import share
from resources.database.claims import GROUP, LEASE_SECONDS, LONGEST_LEASE_SECONDS, SECOND, TO_SEND
from resources.database.database import Transaction
from resources.database.frozen import Frozen, freeze, given
from resources.database.lanes import EVERYONE, count_in, open_lanes
from resources.database.schema import attempts, lanes

#: A claim looks at this many tenants at a time, least served first.
TENANTS_A_LOOK = 10
_LEASED = {
    "lease_owner": given("owner"),
    "lease_token": attempts.c.lease_token + 1,
    "lease_until": given("until"),
    "lane_held": sa.literal_column("1"),
}


def claim_submissions(
    tx: Transaction, provider: str, owner: str, limit: int = GROUP, campaign: str | None = None
) -> Sequence[sa.Row[Any]]:
    """Lease up to *limit* due attempts to send, within the provider's and tenants' caps, fairly shared."""
    open_now = open_lanes(tx, provider)
    taken: list[sa.Row[Any]] = []
    for start in range(0, len(open_now.tenants), TENANTS_A_LOOK):
        room = min(limit, open_now.free) - len(taken)
        if room <= 0:
            break
        tenants = open_now.tenants[start : start + TENANTS_A_LOOK]
        quotas = share(room, {lane.tenant: lane.free for lane in tenants})
        taken += _take(tx, quotas, provider=provider, owner=owner, campaign=campaign)
    return taken


def _take(tx: Transaction, quotas: Mapping[str, int], **asked: Any) -> Sequence[sa.Row[Any]]:
    """Lease what is due longest of each tenant, up to its quota, and count it in."""
    dialect, is_of_one = tx.connection.dialect.name, asked["campaign"] is not None
    times = {"now": tx.now, "longest": tx.now + LONGEST_LEASE_SECONDS * SECOND}
    values = asked | times | {"until": tx.now + LEASE_SECONDS * SECOND}
    values["room"] = max(quotas.values())
    if dialect == "postgresql":
        each = {"tenants": list(quotas), "rooms": list(quotas.values())}
        return _at_once(is_of_one).rows(tx.connection, **values, **each)
    tenants = [*quotas, *[None] * (TENANTS_A_LOOK - len(quotas))]  # a short look asks for nobody at its end
    places = {f"tenant_{place}": tenant for place, tenant in enumerate(tenants)}
    waiting = _within(quotas, _seeks(is_of_one).rows(tx.connection, **values, **places))
    taken = _lease(tx, waiting, **values)
    inside = {row.id for row in waiting if row.lane_held}
    count_in(tx, asked["provider"], [row.tenant for row in taken if row.id not in inside])
    return taken


@lru_cache(maxsize=2)
def _at_once(is_of_one: bool) -> Frozen:
    """PostgreSQL: seeks, leases and counters in one round trip.

    A row that somebody changed after it was chosen has another token or entity version, and is left. LIMIT
    takes no columns: as many are looked at of each tenant as the largest quota says.
    """
    texts, numbers = postgresql.ARRAY(sa.Text), postgresql.ARRAY(sa.BigInteger)
    asked = (
        sa.func.unnest(sa.cast(given("tenants"), texts), sa.cast(given("rooms"), numbers))
        .table_valued("tenant", "room")
        .render_derived(name="asked")
    )
    due = _longest_due(is_of_one).lateral("due")
    chosen = sa.select(due).select_from(asked).join(due, due.c.place <= asked.c.room).cte("chosen")
    as_chosen = (attempts.c[name] == chosen.c[name] for name in ("id", "lease_token", "entity_version"))
    leased = (
        sa.update(attempts)
        .values(**_LEASED)
        .where(*as_chosen)
        .returning(*attempts.c, chosen.c.lane_held.label("held_before"))
        .cte("leased")
    )
    new = sa.select(leased.c.tenant, sa.func.count().label("places")).where(leased.c.held_before == 0)
    of_each = new.group_by(sa.func.rollup(leased.c.tenant)).subquery("of_each")
    counted = (
        sa.update(lanes)
        .values(in_flight=lanes.c.in_flight + of_each.c.places, served_at=given("now"))
        .where(lanes.c.provider == given("provider"))
        .where(lanes.c.tenant == sa.func.coalesce(of_each.c.tenant, EVERYONE))
        .cte("counted")
    )
    return freeze("postgresql", sa.select(*(leased.c[column.name] for column in attempts.c)).add_cte(counted))


def _longest_due(is_of_one: bool) -> sa.Select[Any]:
    """PostgreSQL: up to `room` due and free attempts of `asked.tenant`, in their order."""
    both = sa.union_all(*_arms(sa.literal_column("asked.tenant"), is_of_one)).subquery()
    place = sa.func.row_number().over(order_by=both.c.next_action_at).label("place")
    return sa.select(both, place)


@lru_cache(maxsize=2)
def _seeks(is_of_one: bool) -> Frozen:
    """SQLite, which has no LATERAL and plans a seek in no time: two of them for each tenant of a look."""
    arms = (_arms(given(f"tenant_{place}"), is_of_one) for place in range(TENANTS_A_LOOK))
    return freeze("sqlite", sa.union_all(*itertools.chain.from_iterable(arms)))


def _within(quotas: Mapping[str, int], found: Sequence[sa.Row[Any]]) -> Sequence[sa.Row[Any]]:
    """What is due longest of each tenant, up to its quota."""
    left = dict(quotas)
    chosen = []
    for row in sorted(found, key=lambda row: row.next_action_at):
        if left[row.tenant] > 0:
            left[row.tenant] -= 1
            chosen.append(row)
    return chosen


def _arms(tenant: sa.ColumnElement[str], is_of_one: bool) -> Sequence[sa.Select[Any]]:
    """A seek of each state that is sent from, as selects that a union takes."""
    return [sa.select(_seek(tenant, kind, is_of_one).subquery()) for kind in TO_SEND]


def _seek(tenant: sa.ColumnElement[str], kind: sa.ColumnElement[bool], is_of_one: bool) -> sa.Select[Any]:
    found = attempts.c
    is_free = sa.or_(found.lease_until < given("now"), found.lease_until > given("longest"))
    wanted = sa.select(
        found.id, found.tenant, found.lease_token, found.entity_version, found.lane_held, found.next_action_at
    ).where(
        found.provider == given("provider"),
        found.tenant == tenant,
        kind,
        found.next_action_at <= given("now"),
        is_free,
    )
    if is_of_one:
        wanted = wanted.where(found.campaign == given("campaign"))
    return wanted.order_by(found.next_action_at).limit(given("room"))


def _lease(
    tx: Transaction, waiting: Sequence[sa.Row[Any]], *, owner: str, until: int, **_: Any
) -> Sequence[sa.Row[Any]]:
    """SQLite: lease what was chosen in this very transaction, which nobody else can write beside."""
    ids = json.dumps([row.id for row in waiting])
    return _by_id().rows(tx.connection, ids=ids, owner=owner, until=until) if waiting else []


@lru_cache(maxsize=1)
def _by_id() -> Frozen:
    chosen = sa.select(sa.func.json_each(given("ids")).table_valued("value").c.value)
    return freeze(
        "sqlite", sa.update(attempts).values(**_LEASED).where(attempts.c.id.in_(chosen)).returning(attempts)
    )
