"""Months of account: opened by their first posting, closed once and for good.

Belongs here: the statements, and the guard that keeps a closed month as it is. Does not belong here: what
must be true before a month is closed (`pipeline.steps.account.close_period`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.ledger import Total, TotalKey
from pipeline.domain.periods import Month
from resources.database.database import Transaction
from resources.database.schema import ledger_postings, periods, statement_lines
from resources.database.upsert import insert_for


def closed_months(connection: sa.Connection) -> dict[Month, int]:
    """Every closed month with the time at which it was closed."""
    found = connection.execute(
        sa.select(periods.c.id, periods.c.closed_at).where(periods.c.closed_at.is_not(None))
    )
    return {Month.named(row.id): row.closed_at for row in found}


def period_row(connection: sa.Connection, month: Month) -> sa.Row[Any] | None:
    return connection.execute(sa.select(periods).where(periods.c.id == str(month))).one_or_none()


def months_with_money(connection: sa.Connection) -> list[Month]:
    """Every month that has accounts, in order."""
    return [Month.named(name) for name in connection.scalars(sa.select(periods.c.id).order_by(periods.c.id))]


def hold_open(tx: Transaction, month: Month) -> None:
    """Keep *month* from being closed until this transaction ends; LostRace where it is closed already."""
    made = insert_for(tx.connection, periods).values(id=str(month), tenant="*", opened_at=tx.now)
    tx.connection.execute(made.on_conflict_do_nothing())
    wanted = sa.select(periods.c.id).where(periods.c.id == str(month), periods.c.closed_at.is_(None))
    if tx.connection.scalar(wanted.with_for_update(read=True)) is None:
        raise LostRace("period", str(month), "closed")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a month states as it is closed."""

    card: str
    currency: str
    places: int
    halves: str
    exact: Decimal
    sha256: str
    totals: Sequence[Total]
    checklist: Sequence[Mapping[str, Any]]

    @property
    def shown(self) -> int:
        """In the currency's last place."""
        return sum(self.in_last_place(total.shown) for total in self.totals)

    def in_last_place(self, amount: Decimal) -> int:
        return int(amount.scaleb(self.places))


def close(tx: Transaction, month: Month, stated: Statement, *, by: str, seen: int) -> None:
    """Close *month* with what it states; it must still hold the *seen* postings.

    Raises LostRace where it is closed already, or where a posting came after the statement was drawn up.
    """
    hold_open(tx, month)
    sums = sa.select(
        sa.func.count().label("postings"),
        sa.func.coalesce(sa.func.sum(ledger_postings.c.lines), 0).label("lines"),
        sa.func.coalesce(sa.func.sum(ledger_postings.c.amount_nano), 0).label("amount_nano"),
    ).where(ledger_postings.c.period == str(month))
    changed = tx.connection.execute(
        sa.update(periods)
        .where(periods.c.id == str(month), periods.c.closed_at.is_(None))
        .values(
            closed_at=tx.now, closed_by=by, card=stated.card, currency=stated.currency, places=stated.places,
            halves=stated.halves, exact=str(stated.exact), shown=stated.shown,
            statement_sha256=stated.sha256, checklist=list(stated.checklist),
        )
    )  # fmt: skip
    if changed.rowcount != 1:
        raise LostRace("period", str(month), "closed")
    found = tx.connection.execute(sums).one()
    if found.postings != seen:
        raise LostRace("period", str(month), f"{found.postings - seen} postings since")
    tx.connection.execute(
        sa.update(periods)
        .where(periods.c.id == str(month))
        .values(postings=found.postings, lines=int(found.lines), amount_nano=int(found.amount_nano))
    )
    if stated.totals:
        tx.connection.execute(sa.insert(statement_lines), list(_statement_rows(month, stated)))


def _statement_rows(month: Month, stated: Statement) -> Iterator[dict[str, Any]]:
    for number, total in enumerate(stated.totals, 1):
        yield {
            "period": str(month),
            "number": number,
            "tenant": total.key.tenant,
            "spend": total.key.spend,
            "campaign": total.key.campaign,
            "cost_center": total.key.cost_center,
            "meter": total.key.meter,
            "corrects": total.key.corrects,
            "units": str(total.units),
            "exact": str(total.exact),
            "shown": stated.in_last_place(total.shown),
        }


def statement(connection: sa.Connection, month: Month, places: int) -> tuple[Total, ...]:
    """What a closed month stated, as it stated it."""
    rows = connection.execute(
        sa.select(statement_lines)
        .where(statement_lines.c.period == str(month))
        .order_by(statement_lines.c.number)
    )
    return tuple(
        Total(
            TotalKey(row.spend, row.tenant, row.campaign, row.cost_center, row.meter, row.corrects),
            Decimal(row.units),
            Decimal(row.exact),
            Decimal(row.shown).scaleb(-places),
        )
        for row in rows
    )
