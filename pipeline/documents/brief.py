"""The brief: the YAML file in which marketing says what a campaign wants (I1).

Belongs here: its fields and what each may hold. Does not belong here: what is done about it (steps), or the
checked value itself (`pipeline.domain.brief`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipeline.documents.reading import Document, read_document, refusal
from pipeline.documents.written import (
    SLUG_FORM,
    Amount,
    Code,
    Currency,
    Day,
    FileName,
    Locale,
    LocaleKey,
    ModelName,
    Slug,
    canonical_locale,
    line_of_text,
    lines_of_text,
)
from pipeline.domain import brief as values
from pipeline.domain.brief import Publish, Submit
from pipeline.domain.completion import CompletionPolicy
from pipeline.domain.renditions import ASPECT_RATIOS, RESERVED_TENANTS, canonical_json
from pipeline.domain.tags import Visibility, tag_name_problem, tag_problem

MAX_SOURCES = 20
MAX_VARIANTS = 500
MAX_COPY_CHARACTERS = 500
MAX_TITLE_CHARACTERS = 300
MAX_SETTINGS_BYTES = 16 * 1024
MAX_TAG_NAMES = 50
MAX_TAG_VALUES = 50

T = TypeVar("T")


def read_brief(text: str | bytes, *, name: str) -> values.Brief:
    """The wish in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(BriefDocument, text, name=name).wish()


def _unique(items: Sequence[T]) -> Sequence[T]:
    repeated = [str(item) for index, item in enumerate(items) if item in items[:index]]
    if repeated:
        raise refusal(f"names {', '.join(dict.fromkeys(repeated))} more than once", "each item once")
    return items


def _some(limit: int) -> AfterValidator:
    """1 to *limit* items, none twice; looked at when each item is right by itself."""

    def check(items: Sequence[T]) -> Sequence[T]:
        if not 1 <= len(items) <= limit:
            raise refusal(f"has {len(items)} items", f"1 to {limit} items")
        return _unique(items)

    return AfterValidator(check)


def _ratio(text: str) -> str:
    """`16:9`, also as `32:18`, under the name that people use."""
    width, colon, height = text.partition(":")
    if colon and width.isdecimal() and height.isdecimal() and int(height[:6]) and len(text) < 12:
        wanted = Fraction(int(width), int(height))
        for name, ratio in ASPECT_RATIOS.items():
            if ratio == wanted:
                return name
    raise refusal("is not an aspect ratio that can be made", ", ".join(ASPECT_RATIOS))


def _tenant(slug: str) -> str:
    if slug in RESERVED_TENANTS:
        raise refusal("is kept for the place where briefs are dropped", f"another slug: {SLUG_FORM}")
    return slug


class VariantsPart(Document):
    locales: Annotated[tuple[Locale, ...], _some(100)]
    aspect_ratios: Annotated[tuple[Annotated[str, AfterValidator(_ratio)], ...], _some(len(ASPECT_RATIOS))]
    duration_seconds: Annotated[tuple[Annotated[StrictInt, Field(ge=1, le=120)], ...], _some(120)]

    @model_validator(mode="after")
    def _bounded(self) -> VariantsPart:
        cells = len(self.locales) * len(self.aspect_ratios) * len(self.duration_seconds)
        if cells > MAX_VARIANTS:
            raise refusal(f"wants {cells} videos", f"at most {MAX_VARIANTS} a brief")
        return self


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    plain = _plain(settings)
    if len(canonical_json(plain)) > MAX_SETTINGS_BYTES:
        raise refusal("is too large", f"{MAX_SETTINGS_BYTES} bytes as JSON")
    return dict(plain)


def _plain(value: Any) -> Any:
    """Settings as JSON holds them: numbers written with a fraction become floats."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


class GenerationPart(Document):
    provider: Slug
    model: ModelName
    settings: Annotated[dict[str, Any], AfterValidator(_settings)] = Field(default_factory=dict)


def _tag_name(name: str) -> str:
    problem = tag_name_problem(name)
    if problem:
        raise refusal(problem, "free tag names like product, season, channel_2")
    return name


def _tag_values(value: Any) -> tuple[str, ...]:
    """A free tag's values: one text, or a list of texts."""
    items = value if isinstance(value, list) else [value]
    for item in items:
        problem = tag_problem(item) if isinstance(item, str) else f"holds {item!r}, which is not text"
        if problem:
            raise refusal(problem, "a text or a list of texts; numbers, true, false and null in quotes")
    if not 1 <= len(items) <= MAX_TAG_VALUES:
        raise refusal("has no value or too many", f"1 to {MAX_TAG_VALUES} texts")
    return tuple(dict.fromkeys(unicodedata.normalize("NFC", item).strip() for item in items))


TagName = Annotated[str, AfterValidator(_tag_name)]
TagValues = Annotated[tuple[str, ...], BeforeValidator(_tag_values)]


class TagsPart(Document):
    """Two required tags; every other name is a free tag, gathered under `*`, which names no tag."""

    asset_type: Annotated[str, line_of_text(63)]
    visibility: Visibility
    free: dict[TagName, TagValues] = Field(alias="*", default_factory=dict, max_length=MAX_TAG_NAMES)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, written: Any) -> Any:
        if not isinstance(written, dict):
            return written
        own = {name: value for name, value in written.items() if name in ("asset_type", "visibility")}
        return {**own, "*": {name: value for name, value in written.items() if name not in own}}


class BudgetPart(Document):
    cap: Amount
    currency: Currency


class BriefDocument(Document):
    """Fields in the order in which later ones look at earlier ones."""

    tenant: Annotated[Slug, AfterValidator(_tenant)]
    campaign: Slug
    title: Annotated[str, line_of_text(MAX_TITLE_CHARACTERS)] | None = None
    revision: Annotated[StrictInt, Field(ge=1, le=10**9)]
    cost_center: Code
    sources: Annotated[tuple[FileName, ...], _some(MAX_SOURCES)]
    variants: VariantsPart
    copy_: dict[LocaleKey, Annotated[str, lines_of_text(MAX_COPY_CHARACTERS)]] = Field(alias="copy")
    generation: GenerationPart
    tags: TagsPart
    publish: Publish = Publish.AUTO
    submit: Submit = Submit.WHEN_COMPLETE
    budget: BudgetPart
    retention_class: Slug
    ends_on: Day | None = None
    completion: CompletionPolicy = CompletionPolicy.ALL_TERMINAL

    @field_validator("copy_")
    @classmethod
    def _one_text_a_locale(cls, copy: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        canonical = [canonical_locale(spelling) for spelling in copy]
        _unique(canonical)
        wanted = info.data["variants"].locales if "variants" in info.data else tuple(canonical)
        _same_locales(wanted, canonical)
        return dict(zip(canonical, copy.values(), strict=True))

    def wish(self) -> values.Brief:
        """The checked value. `title` falls back to the campaign's slug."""
        wanted, made = self.variants, self.generation
        return values.Brief(
            tenant=self.tenant,
            campaign=self.campaign,
            revision=self.revision,
            creative=values.Creative(
                sources=self.sources,
                copy=self.copy_,
                variants=values.Variants(wanted.locales, wanted.aspect_ratios, wanted.duration_seconds),
                generation=values.Generation(made.provider, made.model, made.settings),
            ),
            administrative=self._administrative(),
        )

    def _administrative(self) -> values.Administrative:
        return values.Administrative(
            title=self.title or self.campaign,
            cost_center=self.cost_center,
            asset_type=self.tags.asset_type,
            visibility=self.tags.visibility,
            tags=self.tags.free,
            publish=self.publish,
            submit=self.submit,
            budget=values.BudgetCap(int(self.budget.cap * 1_000_000), self.budget.currency),
            retention_class=self.retention_class,
            ends_on=self.ends_on,
            completion=self.completion,
        )


def _same_locales(wanted: Sequence[str], written: Sequence[str]) -> None:
    missing = [locale for locale in wanted if locale not in written]
    unwanted = [locale for locale in written if locale not in wanted]
    problems = [f"has no text for {', '.join(missing)}"] * bool(missing)
    problems += [f"has text for {', '.join(unwanted)}, which variants.locales does not want"] * bool(unwanted)
    if problems:
        raise refusal("; ".join(problems), f"one text each for {', '.join(wanted)}")
