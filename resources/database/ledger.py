"""Postings and their lines: appended under a guard, read as values.

Belongs here: the statements. Does not belong here: which lines are right (`pipeline.steps.account.rate`).

Nothing here changes or removes a row. A posting is written whole or not at all: it takes the next number of
its charge day, so that of two ratings at once the later one is refused and may look again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.ledger import Account, Fate, Line, Measured
from pipeline.domain.periods import Month, midnight
from pipeline.domain.rating import EXACT, PriceCard, plain, times
from pipeline.domain.units import utc
from resources.database.database import Transaction
from resources.database.documents import record_document
from resources.database.periods import hold_open
from resources.database.schema import ledger_lines, ledger_postings
from resources.database.upsert import insert_for

#: Rows that are fetched at once.
FETCHED = 5_000
_NANO = Decimal("0.000000001")


@dataclass(frozen=True, slots=True)
class Priced:
    """What a line is about: everything of it but how much. No `fate` where that does not tell lines apart."""

    measured: Measured
    fate: Fate | None
    card: str
    sku: str
    tier: int
    unit: str
    unit_price: Decimal | None
    reason: str


@dataclass(frozen=True, slots=True)
class Sum:
    """How much, over all postings."""

    units: Decimal = Decimal(0)
    quantity: Decimal = Decimal(0)

    def plus(self, units: Decimal, quantity: Decimal) -> Sum:
        return Sum(EXACT.add(self.units, units), EXACT.add(self.quantity, quantity))

    def less(self, other: Sum) -> Sum:
        return Sum(
            plain(EXACT.subtract(self.units, other.units)),
            plain(EXACT.subtract(self.quantity, other.quantity)),
        )

    def __bool__(self) -> bool:
        return bool(self.units or self.quantity)


@dataclass(frozen=True, slots=True)
class Posted:
    """What stands of one charge day, and how many postings it took."""

    number: int
    sums: dict[Priced, Sum]


@dataclass(frozen=True, slots=True)
class Draft:
    """A line to be written."""

    priced: Priced
    fate: Fate
    units: Decimal
    quantity: Decimal | None

    @property
    def amount(self) -> Decimal | None:
        price = self.priced.unit_price
        return None if price is None or self.quantity is None else times(self.quantity, price)


@dataclass(frozen=True, slots=True)
class Posting:
    """Everything that is written of one charge day at once."""

    charge_day: date
    after: int  #: how many postings of that day were seen
    period: Month
    corrects: Month | None
    cause: str
    card: PriceCard | None
    lines: Sequence[Draft]
    actor: str


def posted(connection: sa.Connection, day: date, *, by_fate: bool) -> Posted:
    """What stands of *day*; without *by_fate* lines that differ in nothing but that are one."""
    start = midnight(day)
    number = connection.scalar(sa.select(sa.func.count()).where(ledger_postings.c.charge_day == start))
    sums: dict[Priced, Sum] = defaultdict(Sum)
    rows = connection.execute(sa.select(ledger_lines).where(ledger_lines.c.day == start))
    for row in rows:
        priced = Priced(
            _measured(row), Fate(row.fate) if by_fate else None, row.card, row.sku, row.tier, row.unit,
            _decimal(row.unit_price), row.reason,
        )  # fmt: skip
        sums[priced] = sums[priced].plus(Decimal(row.units), _decimal(row.quantity) or Decimal(0))
    return Posted(int(number or 0), {priced: found for priced, found in sums.items() if found})


def post(tx: Transaction, posting: Posting) -> str:
    """Append *posting*; returns its id. LostRace where its period was closed or somebody posted meanwhile."""
    hold_open(tx, posting.period)
    card = posting.card
    document = record_document(tx, "price_card", card.version if card else "none", _as_document(card))
    number = posting.after + 1
    name = f"{posting.charge_day}#{number}"
    rows = [_row(name, place, draft) for place, draft in enumerate(posting.lines, 1)]
    made = insert_for(tx.connection, ledger_postings).values(
        id=name, tenant="*", charge_day=midnight(posting.charge_day), number=number,
        period=str(posting.period), corrects=str(posting.corrects or ""), cause=posting.cause,
        card=card.version if card else "", card_document=document, currency=card.currency if card else "",
        lines=len(rows), amount_nano=sum(row["amount_nano"] for row in rows), actor=posting.actor, at=tx.now,
    )  # fmt: skip
    if tx.connection.execute(made.on_conflict_do_nothing()).rowcount != 1:
        raise LostRace("posting", name, "somebody posted this day meanwhile")
    tx.connection.execute(sa.insert(ledger_lines), rows)
    return name


def _as_document(card: PriceCard | None) -> Any:
    return {} if card is None else _plain(card)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        items = [_plain(item) for item in value]
        return sorted(items) if isinstance(value, frozenset | set) else items
    return str(value) if isinstance(value, Decimal | date) else value


def _row(posting: str, number: int, draft: Draft) -> dict[str, Any]:
    priced, account = draft.priced, draft.priced.measured.account
    amount = draft.amount
    return {
        "posting": posting,
        "number": number,
        "tenant": account.tenant,
        "campaign": account.campaign,
        "cost_center": account.cost_center,
        "rendition": account.rendition,
        "attempt": account.attempt,
        "spend": account.spend,
        "day": midnight(priced.measured.day),
        "meter": priced.measured.meter,
        "provider": priced.measured.provider,
        "model": priced.measured.model,
        "region": priced.measured.region,
        "fate": str(draft.fate),
        "units": _text(draft.units),
        "card": priced.card,
        "sku": priced.sku,
        "tier": priced.tier,
        "unit": priced.unit,
        "quantity": _text(draft.quantity),
        "unit_price": _text(priced.unit_price),
        "amount": _text(amount),
        "amount_nano": 0 if amount is None else _nano(amount),
        "reason": priced.reason,
    }


def _nano(amount: Decimal) -> int:
    return int(amount.quantize(_NANO, rounding=ROUND_FLOOR, context=EXACT).scaleb(9, EXACT))


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(plain(value), "f")


def _decimal(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def _measured(row: sa.Row[Any]) -> Measured:
    account = Account(row.tenant, row.campaign, row.cost_center, row.rendition, row.attempt, row.spend)
    return Measured(utc(row.day).date(), account, row.meter, row.provider, row.model, row.region)


def _lines() -> sa.Select[Any]:
    posting = ledger_postings.c
    return sa.select(
        ledger_lines, posting.period, posting.corrects, posting.cause, posting.at, posting.currency
    ).join(ledger_postings, posting.id == ledger_lines.c.posting)


def lines_of(connection: sa.Connection, period: Month) -> Iterator[Line]:
    """Every line that stands in a month's accounts, by charge day and in the order of writing."""
    wanted = (
        _lines()
        .where(ledger_postings.c.period == str(period))
        .order_by(ledger_lines.c.day, ledger_postings.c.number, ledger_lines.c.number)
    )
    return _read(connection, wanted)


def lines_of_rendition(connection: sa.Connection, rendition: str) -> Iterator[Line]:
    """Every line that one video was ever charged with."""
    wanted = (
        _lines()
        .where(ledger_lines.c.rendition == rendition)
        .order_by(ledger_lines.c.day, ledger_postings.c.number, ledger_lines.c.number)
    )
    return _read(connection, wanted)


def _read(connection: sa.Connection, wanted: sa.Select[Any]) -> Iterator[Line]:
    for row in connection.execution_options(yield_per=FETCHED).execute(wanted):
        yield Line(
            id=f"{row.posting}/{row.number}",
            period=Month.named(row.period),
            measured=_measured(row),
            fate=Fate(row.fate),
            units=Decimal(row.units),
            card=row.card,
            sku=row.sku,
            tier=row.tier,
            unit=row.unit,
            quantity=_decimal(row.quantity),
            unit_price=_decimal(row.unit_price),
            amount=_decimal(row.amount),
            reason=row.reason,
            corrects=Month.named(row.corrects) if row.corrects else None,
            cause=row.cause,
            posted_at=utc(row.at),
        )


def postings_of(connection: sa.Connection, period: Month) -> int:
    wanted = sa.select(sa.func.count()).where(ledger_postings.c.period == str(period))
    return int(connection.scalar(wanted) or 0)


def currencies_of(connection: sa.Connection, period: Month) -> list[str]:
    """The currencies of a month's accounts; more than one means that cards disagree."""
    wanted = (
        sa.select(ledger_postings.c.currency)
        .where(ledger_postings.c.period == str(period), ledger_postings.c.currency != "")
        .distinct()
        .order_by(ledger_postings.c.currency)
    )
    return list(connection.scalars(wanted))


def rated_at(connection: sa.Connection, period: Month) -> int | None:
    """When a month's newest posting was written."""
    found: int | None = connection.scalar(
        sa.select(sa.func.max(ledger_postings.c.at)).where(ledger_postings.c.period == str(period))
    )
    return found
