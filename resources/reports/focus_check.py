"""Our gate for a FOCUS file: what must be true of it, read back from the file as it was written.

Belongs here: the rules. Does not belong here: making the file (`focus`).

The Foundation's validator looks at names, types and allowed values. It lets through a file whose rows are all
there twice, whose costs are a hundred times what they should be, whose days end before they begin or lie in
another month, and corrections of months that are open. Money hangs on these, so they are refused here.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from pathlib import Path

from pipeline.domain.errors import NotAllowed
from pipeline.domain.periods import Month
from pipeline.domain.rating import EXACT
from resources.reports.cells import FORMULA_STARTS
from resources.reports.focus import CORRECTION, FOCUS_COLUMNS, NUMBERS, midnight

#: Price card, SKU, tier and unit price, as text.
TierKey = tuple[str, str, str, str]
Row = Mapping[str, str]

#: Named rows of one rule; all of them are counted.
NAMED = 5
NOT_CHARGED = "not-charged"
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T00:00:00Z")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
#: What one row tells apart from all others.
KEY = (
    "ChargePeriodStart", "SkuPriceId", "SubAccountId", "ResourceId", "Tags", "x_Campaign", "x_CostCenter",
    "x_Rendition", "x_Attempt", "x_UpstreamProvider", "x_Model", "x_Region", "x_Corrects",
)  # fmt: skip
#: What the first decides: with one of these goes exactly one of those.
DECIDES = (
    ("ServiceName", "ServiceCategory"),
    ("ServiceName", "ServiceSubcategory"),
    ("SkuId", "SkuMeter"),
    ("SkuId", "ServiceName"),
    ("SkuPriceId", "SkuId"),
    ("SkuPriceId", "ContractedUnitPrice"),
    ("SkuPriceId", "PricingUnit"),
    ("SkuPriceId", "x_Tier"),
    ("SubAccountId", "SubAccountName"),
    ("x_Rendition", "SubAccountId"),
)
_FILLED = (
    "BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
    "ChargeCategory", "ChargePeriodEnd", "ChargePeriodStart", "ContractedCost", "ContractedUnitPrice",
    "EffectiveCost", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingQuantity", "PricingUnit",
    "ProviderName", "PublisherName", "ServiceCategory", "ServiceName", "SkuId", "SkuPriceId",
    "SubAccountId",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expected:
    """What the file must say, from the ledger."""

    month: Month
    closed: Collection[Month]
    currency: str
    billed: Decimal  #: the exact sum of every live line
    tier_sizes: Mapping[TierKey, Decimal | None]  #: how much fits into a tier over a month; None: no end
    #: Tiers were shared anew over the whole month, as before a close; while it runs they lag behind.
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """One broken rule, with the rows that break it (1 is the first under the header; 0 the file)."""

    rule: str
    rows: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule} ({self.rows}): {'; '.join(self.examples)}"


class FocusRefused(NotAllowed):
    """The FOCUS file is not what the ledger says; it must not be given away."""

    def __init__(self, name: str, refusals: Collection[Refusal]) -> None:
        super().__init__(
            name, " | ".join(map(str, refusals)), "the ledger and the export disagree: report this, with both"
        )
        self.refusals = tuple(refusals)


def require(path: Path, expected: Expected) -> int:
    """The number of rows of *path*; FocusRefused where any rule is broken."""
    found = _Findings()
    rows = _look(read(path), expected, found)
    if refusals := found.refusals():
        raise FocusRefused(path.name, refusals)
    return rows


def refusals_of(rows: Iterable[Row], expected: Expected) -> tuple[Refusal, ...]:
    found = _Findings()
    _look(rows, expected, found)
    return found.refusals()


def read(path: Path) -> Iterator[Row]:
    """Rows of a CSV file as text; what was made harmless for spreadsheets is as it was."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield {name: _unescaped(value) for name, value in row.items()}


def _unescaped(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA_STARTS) else text


@dataclass
class _Findings:
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rule: str, row: int, what: str) -> None:
        self.counts[rule] += 1
        if len(self.examples[rule]) < NAMED:
            self.examples[rule].append(f"row {row}: {what}" if row else what)

    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(
            Refusal(rule, number, tuple(self.examples[rule])) for rule, number in sorted(self.counts.items())
        )


@dataclass
class _File:
    """What is looked at over all rows."""

    billed: Decimal = Decimal(0)
    keys: set[int] = field(default_factory=set)
    decided: dict[tuple[int, str], str] = field(default_factory=dict)
    tiers: dict[TierKey, Decimal] = field(default_factory=lambda: defaultdict(Decimal))


def _look(rows: Iterable[Row], expected: Expected, found: _Findings) -> int:
    whole = _File()
    number = 0
    with localcontext(EXACT):
        for number, row in enumerate(rows, 1):
            if number == 1 and not _has_columns(row, found):
                return number
            numbers = _numbers(row, number, found)
            if numbers is None:
                continue
            for rule, broken in _RULES.items():
                if what := broken(row, numbers, expected):
                    found.add(rule, number, what)
            _note(whole, row, numbers, number, found)
        _conclude(whole, expected, found)
    return number


def _has_columns(row: Row, found: _Findings) -> bool:
    missing = [name for name in FOCUS_COLUMNS if name not in row]
    foreign = [name for name in row if name not in FOCUS_COLUMNS and not str(name).startswith("x_")]
    if missing:
        found.add("columns", 0, f"missing: {', '.join(missing)}")
    if foreign:
        found.add("columns", 0, f"neither FOCUS's nor x_: {', '.join(map(str, foreign))}")
    return not missing


def _numbers(row: Row, number: int, found: _Findings) -> Mapping[str, Decimal] | None:
    """The row's numbers, and whether what must be filled is."""
    empty = [name for name in _FILLED if not row[name]]
    if empty:
        found.add("filled", number, f"nothing in {', '.join(empty)}")
        return None
    try:
        return {name: _number(row[name]) for name in NUMBERS if row[name]}
    except InvalidOperation:
        found.add("numbers", number, "a number is not written as one")
        return None


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise InvalidOperation
    return Decimal(text)


Numbers = Mapping[str, Decimal]
Rule = Callable[[Row, Numbers, Expected], str | None]


def _arithmetic(row: Row, numbers: Numbers, _: Expected) -> str | None:
    quantity = numbers["PricingQuantity"]
    for cost, price in (("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice")):
        if numbers[cost] != quantity * numbers[price]:
            return f"{cost} {row[cost]} is not {row['PricingQuantity']} x {row[price]}"
    return None


def _one_cost(_: Row, numbers: Numbers, __: Expected) -> str | None:
    """No discount and nothing prepaid: what is billed is what was effective and agreed."""
    costs = ("BilledCost", "EffectiveCost", "ContractedCost", "ListCost")
    return f"{', '.join(costs)} differ" if len({numbers[name] for name in costs}) > 1 else None


def _day(row: Row, _: Numbers, __: Expected) -> str | None:
    start, end = _moment(row["ChargePeriodStart"]), _moment(row["ChargePeriodEnd"])
    if start is None or end is None:
        return f"{row['ChargePeriodStart']} to {row['ChargePeriodEnd']} are no midnights in UTC"
    if end <= start:
        return f"ends on {end}, before it begins on {start}"
    return f"{start} to {end} is not one day" if end != start + timedelta(days=1) else None


def _moment(text: str) -> date | None:
    found = _MOMENT.fullmatch(text)
    return date.fromisoformat(found[1]) if found else None


def _billing_period(row: Row, _: Numbers, expected: Expected) -> str | None:
    wanted = (midnight(expected.month.first_day), midnight(expected.month.next.first_day))
    is_so = (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == wanted
    return None if is_so else f"{row['BillingPeriodStart']} is not {expected.month}"


def _contained(row: Row, _: Numbers, expected: Expected) -> str | None:
    """A day of the month itself, or of the closed month that is corrected."""
    day = _moment(row["ChargePeriodStart"])
    if day is None:
        return None
    month, corrects = Month.of(day), row.get("x_Corrects", "")
    if row["ChargeClass"] == CORRECTION:
        return None if str(month) == corrects else f"{day} does not lie in {corrects or 'any month'}"
    return None if month == expected.month else f"{day} does not lie in {expected.month}"


def _correction(row: Row, _: Numbers, expected: Expected) -> str | None:
    """Only what is closed can be corrected: an open month is simply restated."""
    corrects, charge_class = row.get("x_Corrects", ""), row["ChargeClass"]
    if charge_class not in ("", CORRECTION):
        return f"ChargeClass {charge_class}"
    if bool(corrects) != (charge_class == CORRECTION):
        return "ChargeClass and x_Corrects disagree"
    if corrects and corrects not in {str(month) for month in expected.closed if month < expected.month}:
        return f"{corrects} is not a closed month before {expected.month}"
    return None


def _currency(row: Row, _: Numbers, expected: Expected) -> str | None:
    return None if row["BillingCurrency"] == expected.currency else f"{row['BillingCurrency']}"


def _negative(row: Row, numbers: Numbers, _: Expected) -> str | None:
    is_correction = row["ChargeClass"] == CORRECTION
    return None if is_correction or numbers["PricingQuantity"] >= 0 else f"{row['PricingQuantity']}"


def _tags(row: Row, _: Numbers, __: Expected) -> str | None:
    try:
        tags = json.loads(row["Tags"] or "{}")
    except ValueError:
        return "no JSON"
    is_flat = isinstance(tags, dict) and all(isinstance(value, str) for value in tags.values())
    return None if is_flat else "not flat, or not text"


def _spelling(row: Row, _: Numbers, __: Expected) -> str | None:
    odd = [name for name in FOCUS_COLUMNS if not row[name].isascii()]
    return f"beyond ASCII: {', '.join(odd)}" if odd else None


_RULES: Mapping[str, Rule] = {
    "quantity x price = cost": _arithmetic,
    "one cost": _one_cost,
    "charge period is one UTC day": _day,
    "billing period is the month": _billing_period,
    "charge period lies in its month": _contained,
    "corrections of closed months": _correction,
    "currency": _currency,
    "no negative usage": _negative,
    "flat tags": _tags,
    "ASCII": _spelling,
}


def _note(whole: _File, row: Row, numbers: Numbers, number: int, found: _Findings) -> None:
    whole.billed += numbers["BilledCost"]
    key = hash(tuple(row.get(name, "") for name in KEY))
    if key in whole.keys:
        found.add("row key is unique", number, f"{row['ChargePeriodStart']} {row['SkuPriceId']} again")
    whole.keys.add(key)
    for place, (decider, decided) in enumerate(DECIDES):
        if name := row.get(decider, ""):
            first = whole.decided.setdefault((place, name), row.get(decided, ""))
            if first != row.get(decided, ""):
                found.add(
                    "one decides the other", number, f"{decider} {name} has {decided} {first} elsewhere"
                )
    if row["ChargeClass"] != CORRECTION:
        tier = (row.get("x_PriceCard", ""), row.get("x_Sku", ""), row.get("x_Tier", ""))
        whole.tiers[*tier, row["ContractedUnitPrice"]] += numbers["PricingQuantity"]


def _conclude(whole: _File, expected: Expected, found: _Findings) -> None:
    if whole.billed != expected.billed:
        found.add("sum is the ledger's", 0, f"{whole.billed} is not {expected.billed}")
    sizes = {(*key[:3], Decimal(key[3])): size for key, size in expected.tier_sizes.items()}
    for (card, sku, tier, price), quantity in sorted(whole.tiers.items()):
        size = sizes.get((card, sku, tier, Decimal(price)), Decimal(-1))
        if sku == NOT_CHARGED or size is None or (size >= 0 and not expected.is_settled):
            continue
        if quantity > size:
            said = "is not on the card" if size < 0 else f"holds {size}, not {quantity}"
            found.add("tiers hold what is in them", 0, f"{card}/{sku} tier {tier} {said}")
