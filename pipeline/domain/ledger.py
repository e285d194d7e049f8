"""The ledger's values: lines, what they add up to, and what a month's report is given.

Belongs here: the values, and sums over lines. Does not belong here: how units become money
(`pipeline.domain.rating`), or where lines are kept (`resources.database.ledger`).

A line is never changed. What becomes of a month after a line was posted, by late facts, another card or the
sharing of tiers, is a further line with the difference; so the sum over a month's lines is what it costs, and
every line by itself still says `amount = quantity * unit_price`, exactly.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeVar

from pipeline.domain.periods import Month, Status
from pipeline.domain.provider_terms import Spend
from pipeline.domain.rating import Halves, stated

Key = TypeVar("Key", bound=Hashable)


class Fate(enum.StrEnum):
    """What became of the attempt that was paid for, as it stood when the line was posted."""

    USED = "used"  #: its video is the one that its rendition selected
    IN_PROGRESS = "in_progress"  #: it is not over
    SUPERSEDED = "superseded"  #: another attempt of its rendition was selected
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  #: it may have been sent, and nobody knows
    OVERDUE = "overdue"  #: it was taken, and its end is overdue
    NONE = "none"  #: no attempt stands beneath: source images, or what nobody's object explains


#: Paid for, and of no use to anybody.
WASTE = frozenset({Fate.SUPERSEDED, Fate.FAILED, Fate.CANCELLED, Fate.UNKNOWN, Fate.OVERDUE})


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """Who pays, and for what: the rendition, with its attempt beneath. Empty text: there is none.

    `campaign` is empty for bytes that no object of ours explains (unattributed); `rendition` for source
    images. `cost_center` is the one that held when the event happened.
    """

    tenant: str
    campaign: str
    cost_center: str
    rendition: str
    attempt: str
    spend: str  #: live, or test: counted, never billed


@dataclass(frozen=True, slots=True, order=True)
class Measured:
    """What was measured: the account, the UTC day, and what decides its price."""

    day: date
    account: Account
    meter: str
    provider: str
    model: str
    region: str  #: as the log names it; the card maps it to a price region


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger. Of an unpriced one `sku` is empty, and there is no price and no amount."""

    id: str
    period: Month  #: the month in whose accounts it stands
    measured: Measured
    fate: Fate
    units: Decimal  #: of the meter: bytes, byte-seconds, seconds, requests …; negative in a difference
    card: str  #: version of the price card
    sku: str
    tier: int  #: from 1; 0 where it is unpriced
    unit: str  #: of `quantity`, e.g. GiB-Months
    quantity: Decimal | None
    unit_price: Decimal | None
    amount: Decimal | None  #: quantity * unit_price, exactly, in the card's currency
    reason: str  #: why it is unpriced, else empty
    corrects: Month | None  #: the closed month that it corrects
    cause: str  #: why it was posted: facts, late facts, another card, shared tiers
    posted_at: datetime

    @property
    def charge_month(self) -> Month:
        """The month in which it was used; another than `period` in a correction."""
        return Month.of(self.measured.day)

    @property
    def is_waste(self) -> bool:
        return self.fate in WASTE

    @property
    def is_attributed(self) -> bool:
        return bool(self.measured.account.campaign)


@dataclass(frozen=True, slots=True, order=True)
class TotalKey:
    """What a stated line of a report is about."""

    spend: str
    tenant: str
    campaign: str
    cost_center: str
    meter: str
    corrects: str  #: the closed month that is corrected, as text; empty: none


@dataclass(frozen=True, slots=True)
class Total:
    """A stated line: units, the exact amount, and the amount as it is shown. Shown ones add up."""

    key: TotalKey
    units: Decimal
    exact: Decimal
    shown: Decimal


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Units that no card prices: counted and shown, never a zero."""

    tenant: str
    campaign: str
    meter: str
    provider: str
    model: str
    region: str
    spend: str
    reason: str
    units: Decimal


@dataclass(frozen=True, slots=True)
class Unattributed:
    """Units that no object of ours explains, beside all units of that meter."""

    tenant: str
    meter: str
    units: Decimal
    of_units: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Correction:
    """What a month says about an earlier, closed one, by its cause."""

    corrects: Month
    cause: str
    tenant: str
    lines: int
    exact: Decimal


@dataclass(frozen=True, slots=True)
class VideoCost:
    """What one rendition cost in the month, its attempts beneath; the part of it that was waste."""

    tenant: str
    campaign: str
    cost_center: str
    rendition: str
    spend: str
    is_published: bool  #: a slot shows it, or showed it, by the end of the month
    exact: Decimal
    waste: Decimal
    by_meter: tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a month can be believed."""

    status: Status
    as_of: datetime
    stored_until: date | None  #: storage is measured for every day before this one
    rated_at: datetime | None  #: the newest posting
    closed_at: datetime | None
    closed_by: str
    statement_sha256: str  #: of the closed statement; empty before

    @property
    def is_provisional(self) -> bool:
        return self.status is not Status.CLOSED


@dataclass(frozen=True, slots=True)
class InvoiceResult:
    """A provider's invoice beside our attempts, line by line."""

    invoice: str
    provider: str
    currency: str
    total: Decimal
    matched: int
    different: int
    only_theirs: int
    only_ours: int
    unexplained: Decimal  #: theirs less ours, over everything that is not matched


@dataclass(frozen=True, slots=True)
class MonthLedger:
    """Everything that a report of one month stands on; the lines themselves are read beside it."""

    month: Month
    currency: str
    cards: tuple[str, ...]  #: versions that its lines name
    places: int  #: decimal places of shown money
    halves: Halves  #: how a half is rounded
    watermark: Watermark
    line_count: int
    exact: Decimal  #: the sum of every line's amount
    totals: tuple[Total, ...]
    unpriced: tuple[Unpriced, ...]
    unattributed: tuple[Unattributed, ...]
    corrections: tuple[Correction, ...]
    videos: tuple[VideoCost, ...]
    invoices: tuple[InvoiceResult, ...]

    @property
    def shown(self) -> Decimal:
        """Live and test together: what the month's lines come to."""
        return sum((total.shown for total in self.totals), Decimal(0))

    @property
    def billed(self) -> Decimal:
        return billed(self.totals)


def billed(totals: Iterable[Total]) -> Decimal:
    """The live part of *totals*: what a report calls billed. Test spend is counted and never billed."""
    return sum((total.shown for total in totals if total.key.spend == Spend.LIVE), Decimal(0))


def shown_by_group(
    exact: dict[Key, Decimal], group: Callable[[Key], Hashable], places: int, halves: Halves
) -> dict[Key, Decimal]:
    """Each amount rounded so that those of one group add up to their rounded sum."""
    groups: dict[Hashable, list[Key]] = defaultdict(list)
    for key in sorted(exact, key=str):
        groups[group(key)].append(key)
    return {
        key: one
        for keys in groups.values()
        for key, one in zip(keys, stated([exact[key] for key in keys], places, halves), strict=True)
    }
