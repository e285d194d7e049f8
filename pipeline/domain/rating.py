"""Units to money: cards, prices, tiers, rounding, in exact arithmetic (F4).

Belongs here: the rules, over plain values. Does not belong here: how a card is written
(`pipeline.documents.price_card`), or which units there are.

**Quantity.** A meter's units divided by the price's unit, to 18 places, half to even, each entry by itself:
byte-seconds to GiB-months do not end in decimals. The product is exact and never rounded. An entry's quantity
does not depend on others, so that one more entry does not move all the others by a last digit.

**Tiers** are cumulative over a price, a region and a month, whoever used them, and are shared pro rata in
whole numbers: order of arrival decides nothing, and parts add up to tiers and to entries, both exactly.

**Rounding** to the places of money happens once, where a line is stated: every amount is cut, and what is
missing to the rounded sum goes to the largest remainders.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from pipeline.domain.periods import Month

#: Places of a quantity; a grain is its last one.
PLACES = 18
GRAINS: int = 10**PLACES
#: Digits that no sum or product of money here can pass: nothing is rounded by the way.
EXACT = Context(prec=120, rounding=ROUND_HALF_EVEN)
ANY = "*"


class Halves(enum.StrEnum):
    """Which way a half goes."""

    EVEN = "half_even"
    UP = "half_up"


_ROUNDING = {Halves.EVEN: ROUND_HALF_EVEN, Halves.UP: ROUND_HALF_UP}


class Unit(enum.StrEnum):
    """What a price is for, in the spelling that FOCUS takes."""

    GB_MONTHS = "GB-Months"
    GIB_MONTHS = "GiB-Months"
    GB_HOURS = "GB-Hours"
    GIB_HOURS = "GiB-Hours"
    GB = "GB"
    GIB = "GiB"
    SECONDS = "Seconds"
    REQUESTS = "Requests"
    REQUESTS_1000 = "1000 Requests"
    REQUESTS_10000 = "10000 Requests"
    REQUESTS_1000000 = "1000000 Requests"
    CREDITS = "Credits"
    STARTS = "Starts"


class MonthRule(enum.StrEnum):
    """How many hours the month of a GB-month has."""

    CALENDAR = "calendar"
    DAYS_30 = "days_30"
    HOURS_730 = "hours_730"


_BYTES = {"GB": 10**9, "GiB": 2**30}
_PLAIN = {
    Unit.SECONDS: 1,
    Unit.REQUESTS: 1,
    Unit.REQUESTS_1000: 1_000,
    Unit.REQUESTS_10000: 10_000,
    Unit.REQUESTS_1000000: 1_000_000,
    Unit.CREDITS: 1,
    Unit.STARTS: 1,
}


def units_in(unit: Unit, rule: MonthRule, month: Month) -> int:
    """How many units of its meter (bytes, byte-seconds, requests …) one of *unit* is in *month*."""
    if unit in _PLAIN:
        return _PLAIN[unit]
    size, _, span = unit.value.partition("-")
    seconds = {"": 1, "Hours": 3_600, "Months": _month_seconds(rule, month)}[span]
    return _BYTES[size] * seconds


def _month_seconds(rule: MonthRule, month: Month) -> int:
    return {
        MonthRule.CALENDAR: month.seconds,
        MonthRule.DAYS_30: 30 * 86_400,
        MonthRule.HOURS_730: 730 * 3_600,
    }[rule]


@dataclass(frozen=True, slots=True)
class Tier:
    """From `start` units on, up to `end` (None: without end), each unit costs `price`."""

    start: Decimal
    end: Decimal | None
    price: Decimal  #: in the card's currency, converted where the provider bills in another


@dataclass(frozen=True, slots=True)
class Price:
    """What some meters cost with a provider and model, in a price region. `*` stands for any."""

    sku: str
    meters: tuple[str, ...]
    provider: str
    model: str
    region: str
    unit: Unit
    month_rule: MonthRule
    rounds_up: bool  #: the month's total is billed in whole units
    tiers: tuple[Tier, ...]
    effective_from: date | None = None
    retires_on: date | None = None  #: from this day on it prices nothing: the model is gone
    source: str = ""
    retrieved_on: date | None = None

    def fits(self, meter: str, provider: str, model: str, region: str) -> bool:
        wanted = ((self.provider, provider), (self.model, model), (self.region, region))
        return meter in self.meters and all(mine in (ANY, other) for mine, other in wanted)

    @property
    def precision(self) -> int:
        """How many of provider, model and region it names: the most exact price of a meter holds."""
        return sum(one != ANY for one in (self.provider, self.model, self.region))


@dataclass(frozen=True, slots=True)
class PriceCard:
    """One version of what things cost, from a day on until another."""

    version: str
    currency: str
    effective_from: date
    retires_on: date | None
    prices: tuple[Price, ...]
    not_charged: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  #: meter to reason
    regions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  #: prefix to region
    is_sample: bool = False
    places: int = 2
    halves: Halves = Halves.EVEN
    unattributed_limit: Decimal = Decimal("0.01")
    approvers: frozenset[str] = frozenset()
    source: str = ""

    def holds_on(self, day: date) -> bool:
        return self.effective_from <= day and (self.retires_on is None or day < self.retires_on)

    def region_of(self, place: str) -> str:
        """The price region of a place as a log names it; the longest prefix that is listed decides."""
        found = [prefix for prefix in self.regions if place.startswith(prefix)]
        return self.regions[max(found, key=len)] if found else place


@dataclass(frozen=True, slots=True)
class PriceCards:
    """Every card, in order of time; at most one holds on a day."""

    cards: tuple[PriceCard, ...] = ()

    def on(self, day: date) -> PriceCard | None:
        return next((card for card in self.cards if card.holds_on(day)), None)


@dataclass(frozen=True, slots=True)
class Unrated:
    """Why something has no price."""

    reason: str


@dataclass(frozen=True, slots=True)
class FreeOfCharge:
    """The card says that a meter costs nothing, and why."""

    reason: str


Decided = Price | Unrated | FreeOfCharge


def price_for(card: PriceCard, day: date, meter: str, provider: str, model: str, place: str) -> Decided:
    """The price that holds, or why there is none.

    A price that names more holds over one that names less, even when it is retired: the general price of a
    provider does not bring back a model that is gone.
    """
    if meter in card.not_charged:
        return FreeOfCharge(card.not_charged[meter])
    region = card.region_of(place)
    fitting = [one for one in card.prices if one.fits(meter, provider, model, region)]
    if not fitting:
        known = any(meter in one.meters for one in card.prices)
        where = " ".join(filter(None, (provider, model, region))) or "anything"
        return Unrated(
            f"the card prices {meter} for others than {where}" if known else f"no price of {meter}"
        )
    begun = [one for one in fitting if one.effective_from is None or one.effective_from <= day]
    if not begun:
        return Unrated(f"{fitting[0].sku} begins on {fitting[0].effective_from}")
    exact = max(one.precision for one in begun)
    named = [one for one in begun if one.precision == exact]
    live = [one for one in named if one.retires_on is None or day < one.retires_on]
    if not live:
        return Unrated(f"{named[0].sku} retired on {named[0].retires_on}")
    return max(live, key=lambda one: (one.effective_from or card.effective_from, one.sku))


def grains(units: Decimal | int, divisor: int) -> int:
    """*units* of a meter as a quantity, in grains; half to even."""
    above, below = Decimal(units).as_integer_ratio()
    whole, rest = divmod(above * GRAINS, below * divisor)
    twice = 2 * rest - below * divisor
    return whole + (twice > 0 or (twice == 0 and whole % 2 == 1))


def as_quantity(count: int) -> Decimal:
    """Grains as a decimal number of units."""
    return Decimal(count).scaleb(-PLACES, EXACT)


def times(quantity: Decimal, price: Decimal) -> Decimal:
    """The exact product, without trailing zeros."""
    return plain(EXACT.multiply(quantity, price))


def plain(value: Decimal) -> Decimal:
    """Equal numbers look equal: no trailing zeros, no exponent above zero, one zero."""
    if not value:
        return Decimal(0)
    normal = value.normalize(EXACT)
    return normal.quantize(Decimal(1), context=EXACT) if normal.as_tuple().exponent > 0 else normal  # type: ignore[operator]


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, with every digit."""
    with localcontext(EXACT):
        return plain(sum(amounts, Decimal(0)))


def tier_grains(tiers: Sequence[Tier], total: int) -> list[int]:
    """How much of *total* grains lies in each tier."""
    found = []
    for tier in tiers:
        start = _tier_edge(tier.start)
        end = total if tier.end is None else min(total, _tier_edge(tier.end))
        found.append(max(0, end - start))
    return found


def _tier_edge(value: Decimal) -> int:
    return int(Fraction(value) * GRAINS)


class TierShares:
    """Shares one price's tiers among entries that come in a fixed order, one at a time.

    Each tier takes its part of what the tiers before left of an entry, by floors of cumulative products:
    never negative, never more than the entry, and over all entries exactly the tier.
    """

    def __init__(self, tiers: Sequence[Tier], total: int, *, rounds_up: bool = False) -> None:
        self._total = total
        self._billed = -(-total // GRAINS) * GRAINS if rounds_up else total
        self._sizes = tier_grains(tiers, self._billed)
        self._seen = 0
        self._left = [0] * len(self._sizes)

    def share(self, entry: int) -> list[int]:
        """The entry's grains in each tier."""
        rest = self._rounded(entry)
        pool = self._billed
        found = []
        last = len(self._sizes) - 1
        for tier, size in enumerate(self._sizes):
            before, after = self._left[tier], self._left[tier] + rest
            is_rest = tier == last or pool <= 0 or size == pool
            part = rest if is_rest else after * size // pool - before * size // pool
            found.append(part)
            self._left[tier] = after
            rest, pool = rest - part, pool - size
        return found

    def _rounded(self, entry: int) -> int:
        if self._billed == self._total or self._total <= 0:
            return entry
        before, self._seen = self._seen, self._seen + entry
        return self._seen * self._billed // self._total - before * self._billed // self._total


def share_tiers(
    tiers: Sequence[Tier], entries: Mapping[Any, int], *, rounds_up: bool = False
) -> Mapping[Any, list[int]]:
    """Every entry's grains in each tier, whatever order they come in: they are taken in order of keys."""
    shares = TierShares(tiers, sum(entries.values()), rounds_up=rounds_up)
    return {key: shares.share(entries[key]) for key in sorted(entries)}


def split(amount: Decimal, weights: Sequence[Decimal], places: int, halves: Halves) -> list[Decimal]:
    """*amount* by weight, in parts of *places* that add up to it."""
    total = sum(map(Fraction, weights))
    return _largest_remainder([Fraction(amount) * Fraction(one) / total for one in weights], places, halves)


def stated(amounts: Sequence[Decimal], places: int, halves: Halves) -> list[Decimal]:
    """Exact amounts as they are shown: each a whole number of the last place, together their rounded sum."""
    return _largest_remainder([Fraction(one) for one in amounts], places, halves)


def _largest_remainder(exact: Sequence[Fraction], places: int, halves: Halves) -> list[Decimal]:
    scaled = [one * 10**places for one in exact]
    total = _round(sum(scaled, Fraction(0)), halves)
    floors = [one.numerator // one.denominator for one in scaled]
    order = sorted(range(len(scaled)), key=lambda number: (floors[number] - scaled[number], number))
    for number in order[: total - sum(floors)]:
        floors[number] += 1
    return [Decimal(one).scaleb(-places) for one in floors]


def _round(value: Fraction, halves: Halves) -> int:
    if halves is Halves.EVEN:
        return round(value)
    whole, rest = divmod(abs(value), 1)
    return int(whole + (rest >= Fraction(1, 2))) * (-1 if value < 0 else 1)


def rounded(value: Decimal, places: int, halves: Halves) -> Decimal:
    """One amount by itself."""
    return value.quantize(Decimal(1).scaleb(-places), rounding=_ROUNDING[halves], context=EXACT)


class Measure(enum.StrEnum):
    """What a meter counts, and so what it can be priced by."""

    BYTE_SECONDS = "byte-seconds"
    BYTES = "bytes"
    SECONDS = "seconds"
    REQUESTS = "requests"
    STARTS = "starts"
    CREDITS = "the provider's own units"


#: Every meter that is priced or said to be free: what is measured under another name stays unpriced.
METERS: Mapping[str, Measure] = MappingProxyType(
    {
        "source_byte_seconds": Measure.BYTE_SECONDS,
        "rendition_byte_seconds": Measure.BYTE_SECONDS,
        "derivative_byte_seconds": Measure.BYTE_SECONDS,
        "temporary_byte_seconds": Measure.BYTE_SECONDS,
        "generation_starts": Measure.STARTS,
        "starts_unconfirmed": Measure.STARTS,
        "generated_seconds": Measure.SECONDS,
        "provider_units": Measure.CREDITS,
        "status_requests": Measure.REQUESTS,
        "retrieved_bytes": Measure.BYTES,
        "repeated_download_bytes": Measure.BYTES,
        "delivered_bytes": Measure.BYTES,
        "delivery_requests": Measure.REQUESTS,
        "cache_hits": Measure.REQUESTS,
        "cache_refreshes": Measure.REQUESTS,
        "cache_shield_hits": Measure.REQUESTS,
        "cache_misses": Measure.REQUESTS,
        "storage_requests_a": Measure.REQUESTS,
        "storage_requests_b": Measure.REQUESTS,
    }
)
UNITS: Mapping[Measure, tuple[Unit, ...]] = MappingProxyType(
    {
        Measure.BYTE_SECONDS: (Unit.GB_MONTHS, Unit.GIB_MONTHS, Unit.GB_HOURS, Unit.GIB_HOURS),
        Measure.BYTES: (Unit.GB, Unit.GIB),
        Measure.SECONDS: (Unit.SECONDS,),
        Measure.REQUESTS: (
            Unit.REQUESTS, Unit.REQUESTS_1000, Unit.REQUESTS_10000, Unit.REQUESTS_1000000,
        ),
        Measure.STARTS: (Unit.STARTS,),
        Measure.CREDITS: (Unit.CREDITS,),
    }
)  # fmt: skip
