"""A month's statement: the tables and figures that every form of the report shows.

Belongs here: values, and adding up. Does not belong here: files, charts, words (`resources.reports`), or the
ledger's lines (`pipeline.domain.ledger`).

**Rounding.** The stated lines (`MonthLedger.totals`) are rounded once, so that they add up. A table by
tenant, campaign, cost centre or meter is sums of stated lines, and adds up by itself. What they do not
tell apart (days, what became of an attempt, causes) is fitted to the same total by largest remainder.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, localcontext
from types import MappingProxyType

from pipeline.domain.forecast import Daily, Forecast
from pipeline.domain.ledger import WASTE, Fate, MonthLedger
from pipeline.domain.periods import Month
from pipeline.domain.rating import EXACT

LIVE = "live"


class Family(enum.StrEnum):
    """What meters have in common, so that a chart has five colours and not fifteen."""

    GENERATION = "generation"
    STORAGE = "storage"
    DELIVERY = "delivery"
    TRAFFIC = "status and retrieval"
    OTHER = "other"


_FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "generation_starts": Family.GENERATION,
        "starts_unconfirmed": Family.GENERATION,
        "generated_seconds": Family.GENERATION,
        "provider_units": Family.GENERATION,
        "source_byte_seconds": Family.STORAGE,
        "rendition_byte_seconds": Family.STORAGE,
        "derivative_byte_seconds": Family.STORAGE,
        "temporary_byte_seconds": Family.STORAGE,
        "storage_requests_a": Family.STORAGE,
        "storage_requests_b": Family.STORAGE,
        "delivered_bytes": Family.DELIVERY,
        "delivery_requests": Family.DELIVERY,
        "cache_hits": Family.DELIVERY,
        "cache_refreshes": Family.DELIVERY,
        "cache_shield_hits": Family.DELIVERY,
        "cache_misses": Family.DELIVERY,
        "status_requests": Family.TRAFFIC,
        "retrieved_bytes": Family.TRAFFIC,
        "repeated_download_bytes": Family.TRAFFIC,
    }
)


def family_of(meter: str) -> Family:
    return _FAMILIES.get(meter, Family.OTHER)


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of a total."""

    name: tuple[str, ...]
    exact: Decimal
    shown: Decimal


@dataclass(frozen=True, slots=True)
class DayCost:
    """One UTC day by family, in `Family`'s order."""

    day: date
    shown: tuple[Decimal, ...]


@dataclass(frozen=True, slots=True, order=True)
class Rate:
    """At which price a meter was charged."""

    spend: str
    meter: str
    sku: str
    card: str
    tier: int
    unit: str
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class Rated:
    """How much was charged at a price, over the month's own days."""

    rate: Rate
    quantity: Decimal
    exact: Decimal


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What a video cost: the campaign's live money of the month by the videos first shown in it."""

    tenant: str
    campaign: str
    spent: Decimal  #: numerator: corrections of earlier months are left out
    videos: int  #: denominator
    per_video: Decimal | None  #: None where none was published: no figure is not zero


@dataclass(frozen=True, slots=True)
class BudgetFact:
    """A campaign's budget as it stood at the end of the month, and what it cost from its first day on."""

    tenant: str
    campaign: str
    currency: str
    cap: Decimal
    committed: Decimal  #: settled, at the prices that were quoted
    held: Decimal  #: reserved for attempts that are not over
    actual: Decimal  #: by the ledger, in its currency


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget beside what was really spent."""

    fact: BudgetFact
    is_comparable: bool  #: both are in one currency

    @property
    def left(self) -> Decimal | None:
        return self.fact.cap - self.fact.actual if self.is_comparable else None

    @property
    def share(self) -> Decimal | None:
        return self.fact.actual / self.fact.cap if self.is_comparable and self.fact.cap else None


@dataclass(frozen=True, slots=True)
class Issue:
    """Which state of the ledger a report was made from: enough to say later what moved since."""

    rated_at: datetime | None
    exact: Decimal
    lines: int


@dataclass(frozen=True, slots=True)
class Change:
    """What was posted for one cause; `corrects` is empty in a month's own money."""

    cause: str
    corrects: str
    lines: int
    exact: Decimal
    shown: Decimal


@dataclass(frozen=True, slots=True)
class CardNote:
    """Where a price card comes from."""

    version: str
    effective_from: date
    is_sample: bool
    source: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a report tells beside the ledger's month."""

    daily: Daily  #: live money a charge day, of this month's and all earlier accounts
    published: Mapping[str, int]  #: videos first shown in the month, by campaign
    budgets: tuple[BudgetFact, ...]
    cards: tuple[CardNote, ...]
    previous: Issue | None  #: the issue before this one


@dataclass(frozen=True, slots=True)
class Statement:
    """Everything that a report shows, rounded where it is shown."""

    ledger: MonthLedger
    around: Surroundings
    billed: Decimal
    corrections: Decimal  #: the part of it that corrects closed months
    not_billed: tuple[Part, ...]  #: test and sandbox, by spend, tenant and campaign
    by_tenant: tuple[Part, ...]
    by_campaign: tuple[Part, ...]
    by_cost_center: tuple[Part, ...]
    by_meter: tuple[Part, ...]
    days: tuple[DayCost, ...]
    fates: tuple[tuple[Fate, Part], ...]
    rates: tuple[Rated, ...]
    unit_costs: tuple[UnitCost, ...]
    all_videos: UnitCost
    changes: tuple[Change, ...]  #: everything that was posted, by cause
    since: tuple[Change, ...]  #: what was posted since the issue before
    budgets: tuple[Budget, ...]
    forecast: Forecast | None
    exact_of_lines: Decimal
    lines: int

    @property
    def month(self) -> Month:
        return self.ledger.month

    @property
    def issue(self) -> Issue:
        return Issue(self.ledger.watermark.rated_at, self.exact_of_lines, self.lines)

    @property
    def waste(self) -> Decimal:
        return sum((part.shown for fate, part in self.fates if is_waste(fate)), Decimal(0))

    def unreconciled(self) -> list[str]:
        """Every total that is not the sum of what it is the total of; none in a sound report."""
        ledger = self.ledger
        with localcontext(EXACT):
            stated = sum((total.exact for total in ledger.totals), Decimal(0))
        sums = {
            "lines and stated lines": (self.exact_of_lines, stated),
            "lines and the month's sum": (self.exact_of_lines, ledger.exact),
            "tenants": (self.billed, _shown(self.by_tenant)),
            "campaigns": (self.billed, _shown(self.by_campaign)),
            "cost centres": (self.billed, _shown(self.by_cost_center)),
            "meters": (self.billed, _shown(self.by_meter)),
            "what became of attempts": (self.billed, _shown(part for _, part in self.fates)),
            "days": (self.billed - self.corrections, sum((sum(one.shown) for one in self.days), Decimal(0))),
            "billed and not billed": (ledger.shown, self.billed + _shown(self.not_billed)),
            "number of lines": (Decimal(ledger.line_count), Decimal(self.lines)),
        }
        return [f"{name}: {one} is not {other}" for name, (one, other) in sums.items() if one != other]


def is_waste(fate: Fate) -> bool:
    return fate in WASTE


def _shown(parts: Iterable[Part]) -> Decimal:
    return sum((part.shown for part in parts), Decimal(0))
