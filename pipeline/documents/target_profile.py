"""The target profile: what a stored video may be, and from which share on its quality is pointed out (G1).

Belongs here: its fields and what each may hold. What is thought of a file is `pipeline.domain.quality`, what
a file is `resources.media`; a container or codec that is not decoded there can be named, and never occurs.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import Slug
from pipeline.domain.quality import TargetProfile

DEFAULT = "target_profile.yaml"


def read_target_profile(text: str | bytes, *, name: str) -> TargetProfile:
    """The profile in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(TargetProfileDocument, text, name=name).profile()


def default_target_profile() -> TargetProfile:
    """The profile that comes with Reelwright."""
    return read_target_profile(shipped(DEFAULT), name=DEFAULT)


def _number(value: Any) -> Fraction:
    """A number, or a ratio in quotes such as "30000/1001"; exact either way."""
    try:
        if isinstance(value, str) or (isinstance(value, int | Decimal) and not isinstance(value, bool)):
            return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise refusal("is not a number", 'a number such as 60 or 0.02, or a ratio in quotes such as "30000/1001"')


def _not_negative(value: Fraction) -> Fraction:
    if value < 0:
        raise refusal("is negative", "0 or more")
    return value


def _positive(value: Fraction) -> Fraction:
    if value <= 0:
        raise refusal("is not positive", "more than 0")
    return value


def _at_most_one(value: Fraction) -> Fraction:
    if value > 1:
        raise refusal("is more than everything", "0 to 1")
    return value


def _set_of_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise refusal("names nothing, so no video could ever be stored", "at least one name")
    return names


Number = Annotated[Fraction, BeforeValidator(_number)]
Tolerance = Annotated[Number, AfterValidator(_not_negative), AfterValidator(_at_most_one)]
Positive = Annotated[Number, AfterValidator(_positive)]
Names = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,32}$")], ...], AfterValidator(_set_of_names)
]
Count = Annotated[StrictInt, Field(ge=1)]


class SizePart(Document):
    max_bytes: Count
    min_side: Count
    max_side: Count

    @model_validator(mode="after")
    def _ordered(self) -> SizePart:
        if self.min_side > self.max_side:
            raise refusal(
                f"has min_side {self.min_side} above max_side {self.max_side}", "min_side <= max_side"
            )
        return self


class FrameRatePart(Document):
    min: Positive
    max: Positive
    tolerance: Tolerance

    @model_validator(mode="after")
    def _ordered(self) -> FrameRatePart:
        if self.min > self.max:
            raise refusal(f"has min {self.min} above max {self.max}", "min <= max")
        return self


class DurationPart(Document):
    max_seconds: Positive
    tolerance: Tolerance
    slack_seconds: Annotated[Number, AfterValidator(_not_negative)]


class QualityPart(Document):
    black_share_above: Tolerance
    frozen_share_above: Tolerance
    silent_share_above: Tolerance
    clipped_share_above: Tolerance


class TargetProfileDocument(Document):
    version: Slug
    containers: Names
    video_codecs: Names
    audio_codecs: Names
    size: SizePart
    frame_rate: FrameRatePart
    duration: DurationPart
    ratio_tolerance: Tolerance
    quality: QualityPart

    def profile(self) -> TargetProfile:
        """The plain value that rules and adapters see."""
        return TargetProfile(
            version=self.version,
            containers=frozenset(self.containers),
            video_codecs=frozenset(self.video_codecs),
            audio_codecs=frozenset(self.audio_codecs),
            max_bytes=self.size.max_bytes,
            min_side=self.size.min_side,
            max_side=self.size.max_side,
            min_frame_rate=self.frame_rate.min,
            max_frame_rate=self.frame_rate.max,
            frame_rate_tolerance=self.frame_rate.tolerance,
            max_duration_seconds=self.duration.max_seconds,
            duration_tolerance=self.duration.tolerance,
            duration_slack_seconds=self.duration.slack_seconds,
            ratio_tolerance=self.ratio_tolerance,
            black_share_above=self.quality.black_share_above,
            frozen_share_above=self.quality.frozen_share_above,
            silent_share_above=self.quality.silent_share_above,
            clipped_share_above=self.quality.clipped_share_above,
        )
