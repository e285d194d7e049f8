"""Rate a month: its units by the card that holds, laid beside what stands, the differences posted (F4).

Belongs here: from units to drafts of lines, and why they are posted. Does not belong here: arithmetic of
prices (`pipeline.domain.rating`), statements (`resources.database.ledger`).

A whole month is rated every time, as tiers are cumulative over it; of each day only what differs is posted.
So a second rating posts nothing, a rebuilt ledger is the same ledger, and a killed one goes on where it
stopped: a day is posted whole or not at all. While a month runs, every new gigabyte would move all the lines
before it by its tier, and every end of an attempt its lines to another fate; such differences alone wait for
the settling before the close (`settle`), and until then a month's money is provisional in that, too.

Differences of a closed month are posted in the next one that is open, as corrections that name it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import partial

import sqlalchemy as sa

from pipeline.domain.ledger import Fate, Measured
from pipeline.domain.periods import Month, posting_month
from pipeline.domain.rating import (
    EXACT,
    FreeOfCharge,
    Price,
    PriceCard,
    PriceCards,
    TierShares,
    Unrated,
    as_quantity,
    exact_sum,
    grains,
    plain,
    price_for,
    units_in,
)
from pipeline.domain.units import utc
from resources.database.database import Database
from resources.database.ledger import Draft, Posted, Posting, Priced, Sum, post, posted
from resources.database.measured import UsedDay, months_read_late, used_on
from resources.database.periods import closed_months

FIRST, LATE, CARD, TIERS = "facts", "late facts", "another card", "tiers and fates settled"
NOT_CHARGED = "not-charged"


@dataclass(frozen=True, slots=True)
class RatedDay:
    """What a rating posted of one charge day."""

    day: date
    posting: str
    period: Month
    cause: str
    lines: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Rated:
    """What a rating of a month came to."""

    month: Month
    period: Month  #: where its differences stand
    days: tuple[RatedDay, ...]

    @property
    def lines(self) -> int:
        return sum(one.lines for one in self.days)

    @property
    def amount(self) -> Decimal:
        return exact_sum(one.amount for one in self.days)


def rate(database: Database, cards: PriceCards, month: Month, *, actor: str, settle: bool = False) -> Rated:
    """Rate *month* and post the differences. With *settle* also those that only tiers moved.

    Raises LostRace where somebody else rated the same day meanwhile; nothing of that day was posted.
    """
    now = database.now()
    with database.reading() as connection:
        closed = closed_months(connection)
    days = [day for day in month.days if day <= utc(now).date()]
    rating = _Rating(database, cards, month, days)
    settle = settle or month in closed
    done = []
    for day in days:
        posting = rating.posting_of(day, posting_month(month, closed), is_closed=month in closed, actor=actor)
        if posting is None or (posting.cause.startswith(TIERS) and not settle):
            continue
        name = database.run(partial(post, posting=posting))
        amount = exact_sum(line.amount for line in posting.lines if line.amount is not None)
        done.append(RatedDay(day, name, posting.period, posting.cause, len(posting.lines), amount))
    return Rated(month, posting_month(month, closed), tuple(done))


def months_to_rate(database: Database, day: date) -> list[Month]:
    """The month of *day*, the one before while it is in grace, and closed ones for which a log came late."""
    with database.reading() as connection:
        closed = closed_months(connection)
        late = months_read_late(connection, closed)
    month = Month.of(day)
    return sorted({month, *(one for one in (month.previous,) if one not in closed), *late})


@dataclass
class _Rating:
    """One month as it is used and priced: totals of every price first, then its days in order."""

    database: Database
    cards: PriceCards
    month: Month
    days: Sequence[date]
    shares: dict[tuple[str, str, str], TierShares] = field(default_factory=dict)
    decided: dict[tuple[object, ...], Price | Unrated | FreeOfCharge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        totals: dict[tuple[str, str, str], int] = defaultdict(int)
        prices: dict[tuple[str, str, str], Price] = {}
        for day in self.days:
            card = self.cards.on(day)
            for measured, units in self._used(day).units.items():
                price = self._price(card, measured)
                if isinstance(price, Price) and card is not None:
                    scope = _scope(card, price)
                    totals[scope] += self._grains(price, units)
                    prices[scope] = price
        for scope, total in totals.items():
            price = prices[scope]
            self.shares[scope] = TierShares(price.tiers, total, rounds_up=price.rounds_up)

    def posting_of(self, day: date, period: Month, *, is_closed: bool, actor: str) -> Posting | None:
        """The differences between what *day* costs and what stands; None where there are none.

        A closed month's lines keep the fate with which they were closed: what became of an attempt later is
        no news about that month's money.
        """
        with self.database.reading() as connection:
            used, stands = used_on(connection, day), posted(connection, day, by_fate=not is_closed)
        card = self.cards.on(day)
        wanted = self._wanted(card, used, by_fate=not is_closed)
        drafts = list(_differences(wanted, stands.sums, used))
        if not drafts:
            return None
        return Posting(
            charge_day=day,
            after=stands.number,
            period=period,
            corrects=self.month if is_closed else None,
            cause=_cause(card, wanted, stands, is_closed=is_closed),
            card=card,
            lines=drafts,
            actor=actor,
        )

    def _used(self, day: date) -> UsedDay:
        with self.database.reading() as connection:
            return used_on(connection, day)

    def _price(self, card: PriceCard | None, measured: Measured) -> Price | Unrated | FreeOfCharge:
        if card is None:
            return Unrated(f"no price card holds on {measured.day}")
        asked = (
            card.version,
            measured.day,
            measured.meter,
            measured.provider,
            measured.model,
            measured.region,
        )
        if asked not in self.decided:
            self.decided[asked] = price_for(card, *asked[1:])
        return self.decided[asked]

    def _grains(self, price: Price, units: Decimal) -> int:
        return grains(units, units_in(price.unit, price.month_rule, self.month))

    def _wanted(self, card: PriceCard | None, used: UsedDay, *, by_fate: bool) -> dict[Priced, Sum]:
        wanted: dict[Priced, Sum] = {}
        for measured, units in used.units.items():
            fate = used.fate(measured) if by_fate else None
            price = self._price(card, measured)
            version = card.version if card else ""
            if isinstance(price, Unrated):
                wanted[Priced(measured, fate, version, "", 0, "", None, price.reason)] = Sum(units)
            elif isinstance(price, FreeOfCharge):
                key = Priced(measured, fate, version, NOT_CHARGED, 0, "", Decimal(0), price.reason)
                wanted[key] = Sum(units, units)
            elif card is not None:
                wanted |= self._in_tiers(card, price, measured, fate, units)
        return wanted

    def _in_tiers(
        self, card: PriceCard, price: Price, measured: Measured, fate: Fate | None, units: Decimal
    ) -> dict[Priced, Sum]:
        """One line a tier; its units are those of its quantity, and the last takes what is left of them."""
        shares = self.shares[_scope(card, price)].share(self._grains(price, units))
        tiers = [number for number, share in enumerate(shares) if share] or [0]
        divisor = units_in(price.unit, price.month_rule, self.month)
        found, left = {}, units
        for number in tiers:
            quantity = as_quantity(shares[number])
            part = left if number == tiers[-1] else EXACT.multiply(quantity, Decimal(divisor))
            left = EXACT.subtract(left, part)
            key = Priced(
                measured, fate, card.version, price.sku, number + 1, str(price.unit),
                price.tiers[number].price, "",
            )  # fmt: skip
            found[key] = Sum(plain(part), quantity)
        return found


def _scope(card: PriceCard, price: Price) -> tuple[str, str, str]:
    """Over what tiers are cumulative: one price of one card, in its region, over the month."""
    return (card.version, price.sku, str(price.effective_from or ""))


def _differences(
    wanted: Mapping[Priced, Sum], stands: Mapping[Priced, Sum], used: UsedDay
) -> Iterator[Draft]:
    for priced in sorted(wanted.keys() | stands.keys(), key=_order):
        change = wanted.get(priced, Sum()).less(stands.get(priced, Sum()))
        if change:
            fate = used.fate(priced.measured) if priced.fate is None else priced.fate
            has_price = priced.unit_price is not None
            yield Draft(priced, fate, change.units, change.quantity if has_price else None)


def _order(priced: Priced) -> tuple[object, ...]:
    return (priced.measured, priced.card, priced.sku, priced.tier, str(priced.fate), priced.reason)


def _cause(card: PriceCard | None, wanted: Mapping[Priced, Sum], stands: Posted, *, is_closed: bool) -> str:
    """Why there is a difference, in words that a correction is read by."""
    if not stands.sums:
        return LATE if is_closed or stands.number else FIRST
    before = {priced.card for priced in stands.sums}
    version = card.version if card else ""
    if before != {version} and wanted:
        return f"{CARD}: {version or 'none'} instead of {', '.join(sorted(before - {version})) or 'none'}"
    return LATE if _units(wanted) != _units(stands.sums) else TIERS


def _units(sums: Mapping[Priced, Sum]) -> dict[Measured, Decimal]:
    found: dict[Measured, Decimal] = defaultdict(Decimal)
    for priced, one in sums.items():
        found[priced.measured] = EXACT.add(found[priced.measured], one.units)
    return {measured: units for measured, units in found.items() if units}


def charge_of(connection: sa.Connection, day: date) -> dict[str, Decimal]:
    """Units of a charge day by meter, as the ledger has them over all postings."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for priced, one in posted(connection, day, by_fate=False).sums.items():
        meter = priced.measured.meter
        found[meter] = EXACT.add(found[meter], one.units)
    return {meter: plain(units) for meter, units in sorted(found.items()) if units}
