"""The month as FOCUS 1.2, the FinOps foundation's form of cost and usage.

Belongs here: our ledger in its columns. Does not belong here: whether a file is right (`focus_check`).

One row a UTC day, account, meter, price and corrected month: what several postings said of it is one sum, so
that a reader need not net anything. Only what is billed has a place: test spend and units without a price are
left out and counted in the manifest. Columns of our own begin with `x_`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, localcontext
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from pipeline.domain.ledger import Account, Line, Measured, MonthLedger
from pipeline.domain.periods import Month
from pipeline.domain.rating import EXACT, METERS, Measure, times
from pipeline.domain.statement import LIVE, Family, family_of
from resources.reports.cells import Cell, Kind
from resources.reports.tables import Column, Row

VERSION = "1.2"
ISSUER = "Reelwright"
CORRECTION = "Correction"
_SERVICES: Mapping[Family, tuple[str, str, str]] = MappingProxyType(
    {
        Family.GENERATION: ("Reelwright Generation", "AI and Machine Learning", "Generative AI"),
        Family.STORAGE: ("Reelwright Storage", "Storage", "Object Storage"),
        Family.DELIVERY: ("Reelwright Delivery", "Networking", "Content Delivery"),
        Family.TRAFFIC: ("Reelwright Traffic", "Integration", "API Management"),
        Family.OTHER: ("Reelwright Other", "Other", "Other (Other)"),
    }
)
#: What a meter counts, in FOCUS's spelling.
_UNITS: Mapping[Measure, str] = MappingProxyType(
    {
        Measure.BYTE_SECONDS: "Byte-Seconds",
        Measure.BYTES: "Bytes",
        Measure.SECONDS: "Seconds",
        Measure.REQUESTS: "Requests",
        Measure.STARTS: "Starts",
        Measure.CREDITS: "Credits",
    }
)


class Priced(NamedTuple):
    """What one row is about."""

    measured: Measured
    corrects: Month | None
    card: str
    sku: str
    tier: int
    unit: str
    unit_price: Decimal


@dataclass(slots=True)
class _Sum:
    units: Decimal = Decimal(0)
    quantity: Decimal = Decimal(0)


def focus_rows(ledger: MonthLedger, lines: Iterable[Line]) -> Iterator[Row]:
    """Rows under `COLUMNS`; *lines* come in order of their days."""
    for _, of_day in groupby(lines, key=lambda line: line.measured.day):
        sums: dict[Priced, _Sum] = {}
        with localcontext(EXACT):
            for line in of_day:
                _add(sums, line)
        for priced in sorted(sums, key=_order):
            if sums[priced].quantity or sums[priced].units:
                found = _cells(ledger, priced, sums[priced])
                yield tuple(found[column.name] for column in COLUMNS)


def _add(sums: dict[Priced, _Sum], line: Line) -> None:
    if line.amount is None or line.quantity is None or line.unit_price is None:
        return
    if line.measured.account.spend != LIVE:
        return
    priced = Priced(line.measured, line.corrects, line.card, line.sku, line.tier, line.unit, line.unit_price)
    found = sums.setdefault(priced, _Sum())
    found.units += line.units
    found.quantity += line.quantity


def _order(priced: Priced) -> tuple[object, ...]:
    return (
        priced.measured,
        str(priced.corrects or ""),
        priced.card,
        priced.sku,
        priced.tier,
        priced.unit_price,
    )


def _cells(ledger: MonthLedger, priced: Priced, found: _Sum) -> dict[str, Cell]:
    cells: dict[str, Cell] = {column.name: None for column in COLUMNS}
    return (
        cells
        | _who(ledger, priced)
        | _when(ledger, priced)
        | _what(priced, found)
        | _how_much(ledger, priced, found)
    )


def _who(ledger: MonthLedger, priced: Priced) -> dict[str, Cell]:
    account = priced.measured.account
    kind, resource = _resource(account)
    closed = ledger.watermark.closed_at is not None
    return {
        "BillingAccountId": "reelwright",
        "BillingAccountName": ISSUER,
        "BillingAccountType": "Platform",
        "InvoiceId": f"statement-{ledger.month}" if closed else None,
        "InvoiceIssuerName": ISSUER,
        "ProviderName": ISSUER,
        "PublisherName": ISSUER,
        "ResourceId": resource,
        "ResourceType": kind,
        "SubAccountId": f"tenant-{account.tenant}",
        "SubAccountName": account.tenant,
        "SubAccountType": "Tenant",
        "Tags": _tags(account),
        "x_Attempt": account.attempt or None,
        "x_Campaign": account.campaign or None,
        "x_CostCenter": account.cost_center or None,
        "x_Rendition": account.rendition or None,
    }


def _resource(account: Account) -> tuple[str, str]:
    if account.rendition:
        return "Rendition", account.rendition
    return ("Campaign", account.campaign) if account.campaign else ("Unattributed", "unattributed")


def _tags(account: Account) -> str:
    tags = {"campaign": account.campaign, "cost_center": account.cost_center}
    return json.dumps({name: value for name, value in tags.items() if value}, sort_keys=True)


def _when(ledger: MonthLedger, priced: Priced) -> dict[str, Cell]:
    day = priced.measured.day
    return {
        "BillingPeriodStart": midnight(ledger.month.first_day),
        "BillingPeriodEnd": midnight(ledger.month.next.first_day),
        "ChargePeriodStart": midnight(day),
        "ChargePeriodEnd": midnight(day + timedelta(days=1)),
        "ChargeClass": CORRECTION if priced.corrects else None,
        "x_Corrects": str(priced.corrects) if priced.corrects else None,
    }


def midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def _what(priced: Priced, found: _Sum) -> dict[str, Cell]:
    meter = priced.measured.meter
    name, category, subcategory = _SERVICES[family_of(meter)]
    measure = METERS.get(meter)
    unit = _UNITS[measure] if measure else "Units"
    return {
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{meter}, {priced.sku}, tier {priced.tier}",
        "ChargeFrequency": "Usage-Based",
        "ConsumedQuantity": found.units,
        "ConsumedUnit": unit,
        "PricingCategory": "Standard",
        "PricingUnit": priced.unit or unit,
        "ServiceCategory": category,
        "ServiceName": name,
        "ServiceSubcategory": subcategory,
        "SkuId": f"{priced.sku}/{meter}",
        "SkuMeter": meter,
        "SkuPriceId": f"{priced.card}/{priced.sku}/{meter}/tier-{priced.tier}/{priced.unit_price:f}",
        "x_Meter": meter,
        "x_Model": priced.measured.model or None,
        "x_PriceCard": priced.card,
        "x_Region": priced.measured.region or None,
        "x_Sku": priced.sku,
        "x_Tier": priced.tier,
        "x_UpstreamProvider": priced.measured.provider or None,
    }


def _how_much(ledger: MonthLedger, priced: Priced, found: _Sum) -> dict[str, Cell]:
    cost, price = times(found.quantity, priced.unit_price), priced.unit_price
    costs = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost", "PricingCurrencyEffectiveCost")
    prices = (
        "ListUnitPrice", "ContractedUnitPrice", "PricingCurrencyListUnitPrice",
        "PricingCurrencyContractedUnitPrice",
    )  # fmt: skip
    return {
        **dict.fromkeys(costs, cost),
        **dict.fromkeys(prices, price),
        "BillingCurrency": ledger.currency,
        "PricingCurrency": ledger.currency,
        "PricingQuantity": found.quantity,
    }


#: The numbers among FOCUS's columns; all others are text.
NUMBERS = frozenset(
    {
        "BilledCost", "CommitmentDiscountQuantity", "ConsumedQuantity", "ContractedCost",
        "ContractedUnitPrice", "EffectiveCost", "ListCost", "ListUnitPrice",
        "PricingCurrencyContractedUnitPrice", "PricingCurrencyEffectiveCost",
        "PricingCurrencyListUnitPrice", "PricingQuantity",
    }
)  # fmt: skip
FOCUS_COLUMNS = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType",
    "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "CapacityReservationId",
    "CapacityReservationStatus", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency",
    "ChargePeriodEnd", "ChargePeriodStart", "CommitmentDiscountCategory", "CommitmentDiscountId",
    "CommitmentDiscountName", "CommitmentDiscountQuantity", "CommitmentDiscountStatus",
    "CommitmentDiscountType", "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit",
    "ContractedCost", "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost",
    "ListUnitPrice", "PricingCategory", "PricingCurrency", "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice", "PricingQuantity", "PricingUnit",
    "ProviderName", "PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName",
    "ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter",
    "SkuPriceDetails", "SkuPriceId", "SubAccountId", "SubAccountName", "SubAccountType", "Tags",
)  # fmt: skip
OUR_COLUMNS = (
    "x_Attempt", "x_Campaign", "x_Corrects", "x_CostCenter", "x_Meter", "x_Model", "x_PriceCard",
    "x_Region", "x_Rendition", "x_Sku", "x_Tier", "x_UpstreamProvider",
)  # fmt: skip
COLUMNS: tuple[Column, ...] = tuple(
    Column(name, Kind.EXACT if name in NUMBERS else Kind.COUNT if name == "x_Tier" else Kind.TEXT)
    for name in (*FOCUS_COLUMNS, *OUR_COLUMNS)
)
