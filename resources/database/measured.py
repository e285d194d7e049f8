"""What was used on a UTC day, from the three places that keep it, as the ledger prices it.

Belongs here: reading byte-time, usage facts and delivery facts as one kind of row, with what became of the
attempts beneath. Does not belong here: prices.

A delivery's `model` is what its price may depend on beside the region: `cdn` where an edge filled itself,
else the scheme (http, https).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.ledger import Account, Fate, Measured
from pipeline.domain.lifecycle import AttemptState, Submission
from pipeline.domain.periods import DAY, Month, midnight
from pipeline.domain.rating import EXACT, plain
from resources.database.schema import (
    attempts,
    delivery_facts,
    delivery_files,
    renditions,
    storage_days,
    usage_facts,
)

Used = dict[Measured, Decimal]


@dataclass(frozen=True, slots=True)
class UsedDay:
    """One day's units by what was measured, in order; and the fate of every attempt beneath."""

    day: date
    units: Mapping[Measured, Decimal]
    fates: Mapping[str, Fate]

    def fate(self, measured: Measured) -> Fate:
        """Of its attempt; what was delivered or kept without one is used when a rendition explains it."""
        account = measured.account
        if account.attempt:
            return self.fates.get(account.attempt, Fate.NONE)
        return Fate.USED if account.rendition else Fate.NONE


def used_on(connection: sa.Connection, day: date) -> UsedDay:
    """Everything that was measured on *day*."""
    found: dict[Measured, Decimal] = defaultdict(Decimal)
    start = midnight(day)
    for read in (_stored, _spent, _delivered):
        for row in connection.execute(read(start)):
            measured = Measured(
                day,
                _account(row),
                row.meter,
                row.provider,
                row.model,
                row.region,
            )
            found[measured] = EXACT.add(found[measured], _units(row))
    return UsedDay(day, {one: found[one] for one in sorted(found) if found[one]}, _fates(connection, start))


def _account(row: sa.Row[Any]) -> Account:
    return Account(
        row.tenant or "", row.campaign or "", row.cost_center or "", row.rendition or "", row.attempt or "",
        row.spend or "live",
    )  # fmt: skip


def _units(row: sa.Row[Any]) -> Decimal:
    return plain(EXACT.add(Decimal(int(row.whole)), Decimal(int(row.micros)).scaleb(-6, EXACT)))


_NONE: sa.ColumnElement[Any] = sa.literal("")


def _stored(start: int) -> sa.Select[Any]:
    at = storage_days.c
    return sa.select(
        at.tenant, at.campaign, at.cost_center, at.rendition, at.attempt, at.spend, at.meter,
        _NONE.label("provider"), _NONE.label("model"), _NONE.label("region"),
        at.byte_seconds.label("whole"), at.byte_micros.label("micros"),
    ).where(at.day == start)  # fmt: skip


def _spent(start: int) -> sa.Select[Any]:
    fact, made = usage_facts.c, attempts.c
    by = (
        fact.tenant, fact.campaign, fact.cost_center, fact.rendition, fact.attempt, fact.spend, fact.meter,
        made.provider, made.model,
    )  # fmt: skip
    return (
        sa.select(
            *by[:7],
            sa.func.coalesce(made.provider, "").label("provider"),
            sa.func.coalesce(made.model, "").label("model"),
            _NONE.label("region"),
            sa.func.sum(fact.quantity).label("whole"),
            sa.literal(0).label("micros"),
        )
        .select_from(usage_facts.outerjoin(attempts, made.id == fact.attempt))
        .where(fact.at >= start, fact.at < start + DAY)
        .group_by(*by)
    )


def _delivered(start: int) -> sa.Select[Any]:
    fact = delivery_facts.c
    model = sa.case((fact.agent == "cdn", sa.literal("cdn")), else_=fact.scheme).label("model")
    by = (fact.tenant, fact.campaign, fact.cost_center, fact.rendition)
    return (
        sa.select(
            *by, _NONE.label("attempt"), fact.spend, fact.meter, fact.provider, model, fact.region,
            sa.func.sum(fact.quantity).label("whole"), sa.literal(0).label("micros"),
        )
        .where(fact.day == start)
        .group_by(*by, fact.spend, fact.meter, fact.provider, model, fact.region)
    )  # fmt: skip


def _fates(connection: sa.Connection, start: int) -> dict[str, Fate]:
    kept = sa.select(storage_days.c.attempt).where(storage_days.c.day == start)
    spent = sa.select(usage_facts.c.attempt).where(usage_facts.c.at >= start, usage_facts.c.at < start + DAY)
    named = sa.union(kept, spent).subquery()
    wanted: sa.Select[Any] = (
        sa.select(
            attempts.c.id, attempts.c.state, attempts.c.submission, attempts.c.overdue_at,
            renditions.c.selected_attempt,
        )
        .join(named, named.c.attempt == attempts.c.id)
        .join(renditions, renditions.c.id == attempts.c.rendition)
    )  # fmt: skip
    return {row.id: fate_of(row) for row in connection.execute(wanted)}


def fate_of(row: sa.Row[Any]) -> Fate:
    """What became of an attempt; the row has its rendition's `selected_attempt` beside its own columns."""
    ended = {AttemptState.FAILED: Fate.FAILED, AttemptState.CANCELLED: Fate.CANCELLED}
    state = AttemptState(row.state)
    if state in ended:
        return ended[state]
    if row.submission == str(Submission.UNKNOWN):
        return Fate.UNKNOWN
    if state in (AttemptState.STORED, AttemptState.INDEXED):
        return Fate.USED if row.selected_attempt == row.id else Fate.SUPERSEDED
    return Fate.OVERDUE if row.overdue_at is not None else Fate.IN_PROGRESS


def units_by_meter(connection: sa.Connection, day: date) -> dict[str, Decimal]:
    """A day's units by meter, added up by the database alone: what the ledger's lines must come to."""
    start = midnight(day)
    found: dict[str, Decimal] = defaultdict(Decimal)
    sums: tuple[sa.Select[Any], ...] = (
        sa.select(
            storage_days.c.meter,
            sa.func.sum(storage_days.c.byte_seconds),
            sa.func.sum(storage_days.c.byte_micros),
        )
        .where(storage_days.c.day == start)
        .group_by(storage_days.c.meter),
        sa.select(usage_facts.c.meter, sa.func.sum(usage_facts.c.quantity), sa.literal(0))
        .where(usage_facts.c.at >= start, usage_facts.c.at < start + DAY)
        .group_by(usage_facts.c.meter),
        sa.select(delivery_facts.c.meter, sa.func.sum(delivery_facts.c.quantity), sa.literal(0))
        .where(delivery_facts.c.day == start)
        .group_by(delivery_facts.c.meter),
    )
    for statement in sums:
        for meter, whole, micros in connection.execute(statement):
            units = EXACT.add(Decimal(int(whole)), Decimal(int(micros)).scaleb(-6, EXACT))
            found[meter] = EXACT.add(found[meter], units)
    return {meter: plain(units) for meter, units in sorted(found.items()) if units}


def months_read_late(connection: sa.Connection, closed_at: Mapping[Month, int]) -> list[Month]:
    """Closed months of which a delivery log was read after they were closed."""
    late = []
    for month, at in sorted(closed_at.items()):
        came = (
            sa.select(delivery_facts.c.id)
            .join(delivery_files, delivery_files.c.id == delivery_facts.c.file)
            .where(
                delivery_facts.c.day >= month.start,
                delivery_facts.c.day < month.end,
                delivery_files.c.read_at > at,
            )
            .limit(1)
        )
        if connection.scalar(came) is not None:
            late.append(month)
    return late
