"""The moderation policy: which pictures and words are refused, and which a person must see (I3).

Belongs here: its fields and what each may hold. Does not belong here: the judgement
(`pipeline.domain.moderation`).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import ReasonCode, Slug, canonical_locale, locale_key
from pipeline.domain.moderation import (
    EVERY_LOCALE,
    CopyRule,
    Effect,
    ImageFact,
    ImageRule,
    ModerationPolicy,
)
from pipeline.domain.tags import words

DEFAULT = "moderation_policy.yaml"


def read_moderation_policy(text: str | bytes, *, name: str) -> ModerationPolicy:
    """The policy in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(ModerationPolicyDocument, text, name=name).policy()


def default_moderation_policy() -> ModerationPolicy:
    """The policy that comes with Reelwright: lets ordinary content pass."""
    return read_moderation_policy(shipped(DEFAULT), name=DEFAULT)


def _bound(value: Any) -> Fraction:
    """A plain number, or a ratio like `16:9`."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and value >= 0:
        return Fraction(value)
    width, colon, height = value.partition(":") if isinstance(value, str) else ("", "", "")
    if colon and width.isdecimal() and height.isdecimal() and len(value) < 20 and int(height):
        return Fraction(int(width), int(height))
    raise refusal("is not a bound", "a number from 0 on, or a ratio like 16:9")


def _phrase(text: str) -> str:
    if not words(text):
        raise refusal("holds no word", "one word or several")
    return text


def _scope(key: str) -> str:
    return key if key == EVERY_LOCALE else locale_key(key)


Bound = Annotated[Fraction, BeforeValidator(_bound)]
Scope = Annotated[str, AfterValidator(_scope)]
Phrase = Annotated[str, AfterValidator(_phrase)]


class ImageRulePart(Document):
    """Matches a picture outside the bounds."""

    id: ReasonCode
    effect: Effect
    fact: ImageFact
    at_least: Bound | None = None
    at_most: Bound | None = None

    @model_validator(mode="after")
    def _bounded(self) -> ImageRulePart:
        if self.at_least is None and self.at_most is None:
            raise refusal("has no bound and can match nothing", "at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise refusal("has at_least above at_most and matches everything", "at_least <= at_most")
        return self

    def rule(self) -> ImageRule:
        return ImageRule(self.id, self.effect, self.fact, self.at_least, self.at_most)


class CopyRulePart(Document):
    """Matches copy that holds one of the phrases or is longer than allowed."""

    id: ReasonCode
    effect: Effect
    phrases: dict[Scope, tuple[Phrase, ...]] = Field(default_factory=dict)
    max_characters: Annotated[StrictInt, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> CopyRulePart:
        if not any(self.phrases.values()) and self.max_characters is None:
            raise refusal(
                "has nothing to look for", "phrases by locale (`*` for all), max_characters or both"
            )
        return self

    def rule(self) -> CopyRule:
        phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
        for scope, texts in self.phrases.items():
            locale = scope if scope == EVERY_LOCALE else canonical_locale(scope)
            phrases[locale] = phrases.get(locale, ()) + tuple(words(text) for text in texts)
        return CopyRule(self.id, self.effect, phrases, self.max_characters)


class ModerationPolicyDocument(Document):
    version: Slug
    images: tuple[ImageRulePart, ...] = ()
    #: `copy` is a method of every pydantic model.
    copy_: tuple[CopyRulePart, ...] = Field(alias="copy", default=())

    @model_validator(mode="after")
    def _named_once(self) -> ModerationPolicyDocument:
        names = [image.id for image in self.images] + [text.id for text in self.copy_]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise refusal(f"has {', '.join(repeated)} more than once", "each rule id once")
        return self

    def policy(self) -> ModerationPolicy:
        return ModerationPolicy(
            version=self.version,
            image_rules=tuple(part.rule() for part in self.images),
            copy_rules=tuple(part.rule() for part in self.copy_),
        )
