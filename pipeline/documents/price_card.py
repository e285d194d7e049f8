"""The price card: what each unit costs, from when, by whose word (F4).

Belongs here: its fields and what each may hold; that cards leave no day to two of them. The checked value is
`pipeline.domain.rating.PriceCard`; how it is applied is rating's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import Currency, Day, ModelName, Slug, line_of_text, spelled
from pipeline.domain.errors import BadDocument, Fault
from pipeline.domain.rating import (
    ANY,
    METERS,
    UNITS,
    Halves,
    MonthRule,
    Price,
    PriceCard,
    PriceCards,
    Tier,
    Unit,
    times,
)

DEFAULT = "price_card.yaml"
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,12})?")


def read_price_card(text: str | bytes, *, name: str) -> PriceCard:
    """The card in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(PriceCardDocument, text, name=name).card()


def default_price_card() -> PriceCard:
    """The sample that comes with Reelwright: public list prices, to be replaced by your own."""
    return read_price_card(shipped(DEFAULT), name=DEFAULT)


def together(named: Mapping[str, PriceCard]) -> PriceCards:
    """Cards by file name as one set; BadDocument for two of one version, or two that hold on the same day."""
    cards = sorted(named.items(), key=lambda pair: (pair[1].effective_from, pair[1].version))
    for number, (name, card) in enumerate(cards):
        for other_name, other in cards[:number]:
            if card.currency != other.currency:
                problem = f"is not that of {other_name} ({other.currency}); accounts are kept in one"
                raise BadDocument(name, [Fault("currency", problem, value=card.currency)])
            if card.version == other.version:
                raise BadDocument(
                    name, [Fault("version", f"is that of {other_name} too", value=card.version)]
                )
            if other.retires_on is None or card.effective_from < other.retires_on:
                problem = f"begins while {other_name} ({other.version}) still holds"
                raise BadDocument(
                    name,
                    [Fault("effective_from", problem, value=str(card.effective_from))],
                    f"write `retires_on: {card.effective_from}` into {other_name}, or remove one of the two",
                )
    return PriceCards(tuple(card for _, card in cards))


def _number(value: Any) -> Decimal:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Decimal(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and value >= 0:
        return Decimal(value)
    raise refusal("is not a number", 'text such as "0.023", at most twelve decimals, not negative')


def _share(value: Any) -> Decimal:
    number = _number(value)
    if number > 1:
        raise refusal("is more than everything", "from 0 to 1")
    return number


def _meter(text: str) -> str:
    if text not in METERS:
        raise refusal("is no meter", ", ".join(METERS))
    return text


def _contiguous(tiers: tuple[TierPart, ...]) -> tuple[TierPart, ...]:
    """Tiers begin at 0, each where the one before ends, and the last has no end."""
    reached: Decimal | None = Decimal(0)
    for number, tier in enumerate(tiers, 1):
        if reached is None:
            raise refusal(f"tier {number} follows one without end", "only the last tier has no `to`")
        if tier.start < reached:
            raise refusal(f"tier {number} overlaps the one before it ({reached})", f"from: {reached}")
        if tier.start > reached:
            raise refusal(f"tier {number} leaves a gap from {reached} to {tier.start}", f"from: {reached}")
        if tier.end is not None and tier.end <= tier.start:
            raise refusal(f"tier {number} ends before it begins", "from < to")
        reached = tier.end
    if reached is not None:
        raise refusal(f"nothing is priced from {reached} on", "a last tier without `to`")
    return tiers


def _some(value: Any) -> Any:
    """Looked at before the items are: of a list whose items are all wrong only they are told."""
    if value == []:
        raise refusal("is empty", "one item or more")
    return value


SOME = BeforeValidator(_some)
Number = Annotated[Decimal, BeforeValidator(_number)]
Share = Annotated[Decimal, BeforeValidator(_share)]
Meter = Annotated[str, AfterValidator(_meter)]
Words = Annotated[str, line_of_text(300)]
Named = Annotated[str, spelled(r"\*|[A-Za-z0-9][A-Za-z0-9._/:@-]{0,126}", "a name, or * for any")]
Region = Annotated[str, spelled(r"[a-z0-9]+(-[a-z0-9]+)*", "a-z 0-9 and dashes")]
Prefix = Annotated[str, spelled(r"[A-Za-z0-9-]{1,40}", "how a log names the place, e.g. FRA")]
Who = Annotated[str, spelled(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", "an actor's name")]


class TierPart(Document):
    start: Number = Field(alias="from")
    end: Number | None = Field(default=None, alias="to")
    price: Number


class ConversionPart(Document):
    """From the currency of some prices to the card's: a rate, of a day, by somebody's word."""

    rate: Number
    on: Day
    source: Words


class PricePart(Document):
    sku: Slug
    meters: Annotated[tuple[Meter, ...], SOME]
    provider: Named = ANY
    model: Named | ModelName = ANY
    region: Named = ANY
    unit: Unit
    month: MonthRule | None = None
    quantity: Literal["exact", "rounds_up"] = "exact"
    currency: Currency | None = None
    tiers: Annotated[tuple[TierPart, ...], SOME, AfterValidator(_contiguous)]
    effective_from: Day | None = None
    retires_on: Day | None = None
    source: Words
    retrieved_on: Day

    @model_validator(mode="after")
    def _fits(self) -> PricePart:
        for meter in self.meters:
            if self.unit not in UNITS[METERS[meter]]:
                allowed = ", ".join(UNITS[METERS[meter]])
                raise refusal(f"prices {meter}, which counts {METERS[meter]}, by {self.unit}", allowed)
        if self.effective_from and self.retires_on and self.retires_on <= self.effective_from:
            raise refusal("retires before it begins", "effective_from < retires_on")
        return self

    def price(self, month: MonthRule, rate: Decimal) -> Price:
        return Price(
            sku=self.sku,
            meters=self.meters,
            provider=self.provider,
            model=self.model,
            region=self.region,
            unit=self.unit,
            month_rule=self.month or month,
            rounds_up=self.quantity == "rounds_up",
            tiers=tuple(Tier(tier.start, tier.end, times(tier.price, rate)) for tier in self.tiers),
            effective_from=self.effective_from,
            retires_on=self.retires_on,
            source=self.source,
            retrieved_on=self.retrieved_on,
        )


class PriceCardDocument(Document):
    version: Slug
    sample: StrictBool = False
    currency: Currency
    effective_from: Day
    retires_on: Day | None = None
    source: Words  #: whose word the card as a whole is
    places: Annotated[StrictInt, Field(ge=0, le=6)] = 2
    halves: Halves = Halves.EVEN
    month: MonthRule = MonthRule.CALENDAR
    unattributed_limit: Share = Decimal("0.01")
    approvers: frozenset[Who] = frozenset()
    conversions: dict[Currency, ConversionPart] = Field(default_factory=dict)
    regions: dict[Region, Annotated[tuple[Prefix, ...], SOME]] = Field(default_factory=dict)
    not_charged: dict[Meter, Words] = Field(default_factory=dict)
    prices: Annotated[tuple[PricePart, ...], SOME]

    @model_validator(mode="after")
    def _whole(self) -> PriceCardDocument:
        if self.retires_on is not None and self.retires_on <= self.effective_from:
            raise refusal("retires_on: retires before it begins", "effective_from < retires_on")
        for number, price in enumerate(self.prices):
            if price.currency not in (None, self.currency, *self.conversions):
                problem = f"prices[{number}].currency: {price.currency} has no rate to {self.currency}"
                raise refusal(problem, f"conversions.{price.currency} with rate, on and source")
            for meter in price.meters:
                if meter in self.not_charged:
                    problem = f"prices[{number}].meters: {meter} stands under not_charged too"
                    raise refusal(problem, "one of the two")
        for one, other in _pairs(self.prices):
            if (shared := _same_place(one, other)) is not None:
                raise refusal(
                    f"{one.sku} and {other.sku} both price {shared} at one time", "one price a time"
                )
        prefixes = [prefix for places in self.regions.values() for prefix in places]
        if len(prefixes) != len(set(prefixes)):
            twice = next(prefix for prefix in prefixes if prefixes.count(prefix) > 1)
            raise refusal(f"regions: {twice} lies in two regions", "each prefix once")
        return self

    def card(self) -> PriceCard:
        """The plain value that rules see, every price in the card's currency."""
        rates = {self.currency: Decimal(1)} | {name: part.rate for name, part in self.conversions.items()}
        regions = {prefix: region for region, places in self.regions.items() for prefix in places}
        return PriceCard(
            version=self.version,
            currency=self.currency,
            effective_from=self.effective_from,
            retires_on=self.retires_on,
            prices=tuple(
                part.price(self.month, rates[part.currency or self.currency]) for part in self.prices
            ),
            not_charged=MappingProxyType(dict(self.not_charged)),
            regions=MappingProxyType(regions),
            is_sample=self.sample,
            places=self.places,
            halves=self.halves,
            unattributed_limit=self.unattributed_limit,
            approvers=self.approvers,
            source=self.source,
        )


def _pairs(prices: Sequence[PricePart]) -> Iterable[tuple[PricePart, PricePart]]:
    return ((one, other) for number, one in enumerate(prices) for other in prices[:number])


def _same_place(one: PricePart, other: PricePart) -> str | None:
    """The meter that two prices of equal precision would both price on some day."""
    if (one.provider, one.model, one.region) != (other.provider, other.model, other.region):
        return None
    starts = [part.effective_from or date.min for part in (one, other)]
    ends = [part.retires_on or date.max for part in (one, other)]
    overlap = max(starts) < min(ends)
    return next((meter for meter in one.meters if meter in other.meters), None) if overlap else None
