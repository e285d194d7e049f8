"""What a finance report tells beside the ledger's month: earlier days, first publications, budgets, cards.

Belongs here: the statements. Does not belong here: what is made of them (`pipeline.domain.statement`).

Everything is as it stood at the end of the month, by the ledger's own periods: what is posted or changed
later must not move the report of a month that was closed. Sums over many months are made by SQL, in
billionths.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.forecast import PAST_MONTHS
from pipeline.domain.periods import Month
from pipeline.domain.statement import LIVE, BudgetFact, CardNote
from pipeline.domain.units import utc
from resources.database.schema import (
    budgets,
    campaign_settings,
    documents,
    holds,
    ledger_lines,
    ledger_postings,
    publications,
    slots,
)

#: Price card, SKU, tier and unit price, as text.
TierKey = tuple[str, str, str, str]


def daily_live(connection: sa.Connection, month: Month) -> dict[date, Decimal]:
    """Live money a charge day, corrections with it, over a year before *month* and itself."""
    first = month
    for _ in range(PAST_MONTHS + 1):
        first = first.previous
    wanted = _live_sum(ledger_lines.c.day, month).where(
        ledger_lines.c.day >= first.start, ledger_lines.c.day < month.end
    )
    return {utc(day).date(): _from_nano(nano) for day, nano in connection.execute(wanted)}


def _live_sum(by: sa.Column[Any], month: Month) -> sa.Select[Any]:
    return (
        sa.select(by, sa.func.sum(ledger_lines.c.amount_nano))
        .join(ledger_postings, ledger_postings.c.id == ledger_lines.c.posting)
        .where(ledger_lines.c.spend == LIVE, ledger_postings.c.period <= str(month))
        .group_by(by)
        .order_by(by)
    )


def _from_nano(nano: Any) -> Decimal:
    return Decimal(int(nano)).scaleb(-9)


def first_published(connection: sa.Connection, month: Month) -> dict[str, int]:
    """How many videos a slot showed for the first time in *month*, by campaign."""
    first = (
        sa.select(
            slots.c.campaign, publications.c.rendition, sa.func.min(publications.c.from_at).label("from_at")
        )
        .join(slots, slots.c.id == publications.c.slot)
        .where(publications.c.rendition.is_not(None))
        .group_by(slots.c.campaign, publications.c.rendition)
        .subquery()
    )
    wanted = (
        sa.select(first.c.campaign, sa.func.count())
        .where(first.c.from_at >= month.start, first.c.from_at < month.end)
        .group_by(first.c.campaign)
        .order_by(first.c.campaign)
    )
    return {campaign: int(count) for campaign, count in connection.execute(wanted)}


def budget_facts(connection: sa.Connection, month: Month) -> tuple[BudgetFact, ...]:
    """Budgets of every campaign that had cost anything by the end of *month*, as they stood then."""
    actual = {
        campaign: _from_nano(nano)
        for campaign, nano in connection.execute(_live_sum(ledger_lines.c.campaign, month))
    }
    caps, committed, held = _caps(connection, month), _settled(connection, month), _held(connection, month)
    wanted = sa.select(budgets.c.campaign, budgets.c.tenant, budgets.c.currency).order_by(budgets.c.campaign)
    return tuple(
        BudgetFact(
            row.tenant,
            row.campaign,
            row.currency,
            _from_micro(caps[row.campaign]),
            _from_micro(committed.get(row.campaign, 0)),
            _from_micro(held.get(row.campaign, 0)),
            actual[row.campaign],
        )
        for row in connection.execute(wanted)
        if row.campaign in actual and row.campaign in caps
    )


def _caps(connection: sa.Connection, month: Month) -> dict[str, int]:
    rows = connection.execute(
        sa.select(campaign_settings.c.campaign, campaign_settings.c.budget_cap)
        .where(campaign_settings.c.effective_from < month.end)
        .order_by(campaign_settings.c.campaign, campaign_settings.c.number)
    )
    return {row.campaign: int(row.budget_cap) for row in rows}


def _settled(connection: sa.Connection, month: Month) -> dict[str, int]:
    return _by_campaign(
        connection,
        sa.select(holds.c.campaign, sa.func.sum(holds.c.settled_amount)).where(
            holds.c.closed_at.is_not(None), holds.c.closed_at < month.end
        ),
    )


def _held(connection: sa.Connection, month: Month) -> dict[str, int]:
    return _by_campaign(
        connection,
        sa.select(holds.c.campaign, sa.func.sum(holds.c.amount)).where(
            holds.c.opened_at < month.end,
            sa.or_(holds.c.closed_at.is_(None), holds.c.closed_at >= month.end),
        ),
    )


def _by_campaign(connection: sa.Connection, wanted: sa.Select[Any]) -> dict[str, int]:
    rows = connection.execute(wanted.group_by(holds.c.campaign))
    return {campaign: int(amount) for campaign, amount in rows}


def _from_micro(micros: int) -> Decimal:
    return Decimal(micros).scaleb(-6)


def cards_of(connection: sa.Connection, month: Month) -> list[dict[str, Any]]:
    """The price cards that a month's postings name, as they were when they were used."""
    named = (
        sa.select(ledger_postings.c.card_document)
        .where(ledger_postings.c.period == str(month), ledger_postings.c.card != "")
        .distinct()
    )
    rows = connection.execute(
        sa.select(documents.c.body).where(documents.c.id.in_(named)).order_by(documents.c.version)
    )
    return [json.loads(row.body) for row in rows]


def card_notes(cards: Iterable[dict[str, Any]]) -> tuple[CardNote, ...]:
    return tuple(
        CardNote(
            card["version"],
            date.fromisoformat(card["effective_from"]),
            bool(card["is_sample"]),
            card["source"],
        )
        for card in cards
    )


def tier_sizes(cards: Iterable[dict[str, Any]]) -> dict[TierKey, Decimal | None]:
    """How much fits into each tier over a month; where a SKU has several prices of one amount, all of it."""
    found: dict[TierKey, list[Decimal | None]] = defaultdict(list)
    for card in cards:
        for price in card["prices"]:
            for number, tier in enumerate(price["tiers"], 1):
                size = None if tier["end"] is None else Decimal(tier["end"]) - Decimal(tier["start"])
                found[card["version"], price["sku"], str(number), tier["price"]].append(size)
    return {key: _together(sizes) for key, sizes in found.items()}


def _together(sizes: Iterable[Decimal | None]) -> Decimal | None:
    known = list(sizes)
    return None if None in known else sum((size for size in known if size is not None), Decimal(0))
