"""What the provider list says of a provider, as plain values for rules and adapters.

Belongs here: limits, prices, pace and places of one provider. Does not belong here: reading the
list (`pipeline.documents.provider_list`), finding its adapter (`resources.providers.registry`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType
from typing import Any


class Spend(enum.StrEnum):
    LIVE = "live"  #: Real money; the ledger books it.
    TEST = "test"  #: Counted, never billed.


class OnOverdue(enum.StrEnum):
    WAIT = "wait"  #: Poll on, slowly, up to the purge horizon.
    NEW_ATTEMPT = "new_attempt"  #: Poll on, and select a new attempt beside it.


@dataclass(frozen=True, slots=True)
class PollPace:
    """How often a remote job is looked at, and how many looks an odd answer needs to be believed."""

    first_seconds: float = 5.0
    ceiling_seconds: float = 60.0  #: bound of the exponential; jitter adds up to a quarter
    overdue_seconds: float = 600.0  #: between two looks after the deadline (G4)
    retry_after_cap_seconds: float = 3600.0
    looks_without_output: int = 3  #: "done" without output is believed at this look
    looks_until_gone: int = 3  #: "not found" is believed at this look …
    gone_over_seconds: float = 600.0  #: … when the looks span at least this long


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers that a setting may hold, both ends too."""

    low: float
    high: float
    whole: bool = False

    def holds(self, value: object) -> bool:
        is_number = type(value) is int or (type(value) is float and not self.whole)
        return is_number and self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        return f"a {'whole ' * self.whole}number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class ModelTerms:
    """One model: what a generated second costs, in the provider's currency, and what it takes."""

    price_per_second: Decimal
    longest_side: int | None = None  #: pixels; None: the list does not say
    settings: Mapping[str, Span] | None = None  #: None: the list does not say, the provider judges

    def quote_micros(self, duration_seconds: int) -> int:
        """Micro-units to hold for one video; rounded up, so that a hold is never too small."""
        price = self.price_per_second * duration_seconds * 1_000_000
        return int(price.to_integral_value(rounding=ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class ProviderTerms:
    """One provider. The list names only the variable of its secret; connect puts the secret in."""

    name: str
    adapter: str  #: entry-point name in the group `reelwright.providers`, or `module:Class`
    base_url: str
    secret: str = field(default="", repr=False)
    secret_env: str = ""  #: environment variable that holds the secret; empty when none is needed
    allowed_hosts: tuple[str, ...] = ()  #: hosts that its output URLs may name; `*.example.com` for below
    allow_private_origin: bool = False  #: only the exact scheme, host and port of `base_url`
    options: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, ModelTerms] = field(default_factory=lambda: MappingProxyType({}))
    currency: str = "EUR"
    spend: Spend = Spend.TEST
    submits_per_second: float = 10.0
    polls_per_second: float = 50.0
    submit_concurrency: int = 4
    poll_concurrency: int = 50
    in_flight: int = 100  #: remote jobs at once over all tenants (G10)
    in_flight_per_tenant: int = 50
    deadline_seconds: int = 3600  #: from the durable handle until `overdue_at`
    purge_horizon_seconds: int = 86_400  #: from the durable handle until its result is surely gone
    on_overdue: OnOverdue = OnOverdue.WAIT
    max_attempts: int = 3  #: attempts of one rendition that are made without a person
    send_tries: int = 10  #: sends of one attempt that end in `not_sent` before it fails
    fetch_tries: int = 5
    pace: PollPace = field(default_factory=PollPace)


@dataclass(frozen=True, slots=True)
class ProviderList:
    """Every provider of one version of the list, by name."""

    version: str
    providers: Mapping[str, ProviderTerms]
