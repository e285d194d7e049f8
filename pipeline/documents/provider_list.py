"""The provider list: who may be asked to make a video, on which terms (G1, G4, G7, G10).

Belongs here: its fields and what each may hold. The checked value is `pipeline.domain.provider_terms`;
finding an adapter is `resources.providers.registry`, reading its secret is connect's.
"""

from __future__ import annotations

import re
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import Currency, ModelName, Slug, spelled
from pipeline.domain.provider_terms import (
    ModelTerms,
    OnOverdue,
    PollPace,
    ProviderList,
    ProviderTerms,
    Span,
    Spend,
)

DEFAULT = "provider_list.yaml"
_PRICE = re.compile(r"\d{1,9}(\.\d{1,9})?")
_BASE_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[^\s?#\\]*)?")
_HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?")


def read_provider_list(text: str | bytes, *, name: str) -> ProviderList:
    """The list in *text*, checked as a whole; BadDocument names every fault. Secrets stay unread."""
    return read_document(ProviderListDocument, text, name=name).terms()


def default_provider_list() -> ProviderList:
    """The list that comes with Reelwright: the local renderer, test spend, no price."""
    return read_provider_list(shipped(DEFAULT), name=DEFAULT)


def _price(value: Any) -> Decimal:
    if not isinstance(value, str) or not _PRICE.fullmatch(value):
        raise refusal("is not a price", 'text such as "0.05", at most nine decimals')
    return Decimal(value)


def _seconds(value: Any) -> float:
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 31_536_000:
        raise refusal("is not a positive number", "more than 0, up to 31536000")
    return float(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise refusal("is not a number", "a number such as 1 or 1.5")
    return float(value)


def _base_url(text: str) -> str:
    if not _BASE_URL.fullmatch(text):
        raise refusal("is not an address of a server", "https://host[:port][/path]")
    return text


Count = Annotated[StrictInt, Field(ge=1, le=1_000_000)]
Seconds = Annotated[StrictInt, Field(ge=1, le=31_536_000)]
Pause = Annotated[float, BeforeValidator(_seconds)]
Price = Annotated[Decimal, BeforeValidator(_price)]
Number = Annotated[float, BeforeValidator(_number)]
SettingName = Annotated[str, spelled(r"[A-Za-z_][A-Za-z0-9_]{0,62}", "a name: A-Z a-z 0-9 _")]
Adapter = Annotated[
    str,
    spelled(r"[a-z0-9_-]+|[A-Za-z_][\w.]*:[A-Za-z_]\w*", "the name of an installed adapter, or module:Class"),
]
Variable = Annotated[str, spelled(r"[A-Z_][A-Z0-9_]*", "the name of an environment variable, A-Z 0-9 _")]
Host = Annotated[
    str, spelled(_HOST.pattern, "a host such as cdn.example.com or *.example.com, port if not 443")
]
BaseUrl = Annotated[str, AfterValidator(_base_url)]


class SpanPart(Document):
    low: Number = Field(alias="from")
    high: Number = Field(alias="to")
    whole: StrictBool = False

    @model_validator(mode="after")
    def _ordered(self) -> SpanPart:
        if self.low > self.high:
            raise refusal("ends before it begins", "from <= to")
        return self


class ModelPart(Document):
    price_per_second: Price  #: of generated video, in the provider's currency
    longest_side: Annotated[StrictInt, Field(ge=64, le=65_536)] | None = None
    settings: dict[SettingName, SpanPart] | None = None

    def terms(self) -> ModelTerms:
        spans = None
        if self.settings is not None:
            named = {name: Span(part.low, part.high, part.whole) for name, part in self.settings.items()}
            spans = MappingProxyType(named)
        return ModelTerms(self.price_per_second, self.longest_side, spans)


class RatesPart(Document):
    submits_per_second: Pause = 10.0
    polls_per_second: Pause = 50.0
    submit_concurrency: Count = 4
    poll_concurrency: Count = 50


class InFlightPart(Document):
    total: Count
    per_tenant: Count

    @model_validator(mode="after")
    def _ordered(self) -> InFlightPart:
        if self.per_tenant > self.total:
            raise refusal(f"has per_tenant {self.per_tenant} above total {self.total}", "per_tenant <= total")
        return self


class WaitingPart(Document):
    """How long we wait for a taken job; both count from the durable handle."""

    deadline_seconds: Seconds
    purge_horizon_seconds: Seconds
    on_overdue: OnOverdue = OnOverdue.WAIT

    @model_validator(mode="after")
    def _ordered(self) -> WaitingPart:
        if self.deadline_seconds > self.purge_horizon_seconds:
            raise refusal(
                "has its deadline after the purge horizon", "deadline_seconds <= purge_horizon_seconds"
            )
        return self


class TriesPart(Document):
    attempts: Count = 3
    sends: Count = 10
    fetches: Count = 5


class PollingPart(Document):
    first_seconds: Pause = 5.0
    ceiling_seconds: Pause = 60.0
    overdue_seconds: Pause = 600.0
    retry_after_cap_seconds: Pause = 3600.0
    looks_without_output: Annotated[StrictInt, Field(ge=2, le=10)] = 3
    looks_until_gone: Annotated[StrictInt, Field(ge=2, le=100)] = 3
    gone_over_seconds: Pause = 600.0

    @model_validator(mode="after")
    def _ordered(self) -> PollingPart:
        if self.first_seconds > self.ceiling_seconds:
            raise refusal("begins above its ceiling", "first_seconds <= ceiling_seconds")
        return self


class ProviderPart(Document):
    adapter: Adapter
    base_url: BaseUrl
    private_origin: StrictBool = False  #: this very scheme, host and port may be private, or plain http
    secret_env: Variable | None = None
    output_hosts: tuple[Host, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    spend: Spend
    currency: Currency
    models: Annotated[dict[ModelName, ModelPart], Field(min_length=1)]
    rates: RatesPart = RatesPart()
    in_flight: InFlightPart
    waiting: WaitingPart
    tries: TriesPart = TriesPart()
    polling: PollingPart = PollingPart()

    @model_validator(mode="after")
    def _keeps_its_secret(self) -> ProviderPart:
        if urlsplit(self.base_url).scheme == "http" and not self.private_origin:
            raise refusal("would be asked without TLS", "https in base_url, or private_origin: true")
        return self

    def terms(self, name: str) -> ProviderTerms:
        return ProviderTerms(
            name=name,
            adapter=self.adapter,
            base_url=self.base_url,
            secret_env=self.secret_env or "",
            allowed_hosts=self.output_hosts,
            allow_private_origin=self.private_origin,
            options=MappingProxyType(self.options),
            models=MappingProxyType({model: part.terms() for model, part in self.models.items()}),
            currency=self.currency,
            spend=self.spend,
            **self.rates.model_dump(),
            in_flight=self.in_flight.total,
            in_flight_per_tenant=self.in_flight.per_tenant,
            **self.waiting.model_dump(),
            max_attempts=self.tries.attempts,
            send_tries=self.tries.sends,
            fetch_tries=self.tries.fetches,
            pace=PollPace(**self.polling.model_dump()),
        )


class ProviderListDocument(Document):
    version: Slug
    providers: Annotated[dict[Slug, ProviderPart], Field(min_length=1)]

    def terms(self) -> ProviderList:
        """The plain values that rules and adapters see."""
        listed = {name: part.terms(name) for name, part in self.providers.items()}
        return ProviderList(self.version, MappingProxyType(listed))
