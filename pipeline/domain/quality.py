"""Judging a video: the target profile, what was wanted, the facts -> a verdict and a quality report.

Pure. What a file *is* was found by `resources.media`; a file that is cut, broken or no media never comes
here. A profile's version stands in every verdict, since facts stay and opinions change (SPEC R3).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from pipeline.domain.media import VideoFacts


class Reason(enum.StrEnum):
    """Stable codes of broken rules; readers must tolerate ones they do not know (SPEC L9)."""

    CONTAINER = "container_not_allowed"
    VIDEO_CODEC = "video_codec_not_allowed"
    AUDIO_CODEC = "audio_codec_not_allowed"
    TOO_LARGE = "too_many_bytes"
    TOO_WIDE = "too_wide_or_high"
    TOO_SMALL = "too_narrow_or_low"
    TOO_FAST = "frame_rate_too_high"
    TOO_SLOW = "frame_rate_too_low"
    TOO_LONG = "too_long"
    WRONG_RATIO = "wrong_ratio"
    WRONG_DURATION = "wrong_duration"


class Finding(enum.StrEnum):
    """What the quality report points at; a finding alone refuses nothing."""

    BLACK = "black"
    FROZEN = "frozen"
    SILENT = "silent"
    CLIPPED = "clipped"
    WRONG_RATIO = "wrong_ratio"


@dataclass(frozen=True, slots=True)
class TargetProfile:
    """What a stored video may be. A versioned document; every bound is inclusive."""

    version: str
    containers: frozenset[str]
    video_codecs: frozenset[str]
    audio_codecs: frozenset[str]
    max_bytes: int
    min_side: int  #: shorter side, display pixels
    max_side: int  #: longer side, display pixels
    min_frame_rate: Fraction
    max_frame_rate: Fraction
    frame_rate_tolerance: Fraction  #: share of the bound: 60.02 passes a limit of 60 at 1/100
    max_duration_seconds: Fraction
    duration_tolerance: Fraction  #: share of the wanted duration
    duration_slack_seconds: Fraction  #: always allowed: one frame and the padding of an audio codec
    ratio_tolerance: Fraction  #: share of the wanted ratio: codecs round sides to even numbers
    black_share_above: Fraction
    frozen_share_above: Fraction
    silent_share_above: Fraction
    clipped_share_above: Fraction


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the variant asks for; None asks nothing (as `inspect` does)."""

    ratio: Fraction | None = None  #: display width to height
    duration_seconds: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken rule: its code, and what was found against what is allowed."""

    reason: Reason
    problem: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Accepted when nothing is broken."""

    profile_version: str
    breaches: tuple[Breach, ...]

    @property
    def accepted(self) -> bool:
        return not self.breaches


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The measures of one object under one version of the profile, and what they point at."""

    profile_version: str
    black_share: float
    frozen_share: float
    silent_share: float | None
    clipped_share: float | None
    findings: tuple[Finding, ...]


Rule = Callable[[TargetProfile, Wanted, VideoFacts], Breach | None]


def judge(profile: TargetProfile, wanted: Wanted, facts: VideoFacts) -> Verdict:
    """Every broken rule at once, in the order of `RULES`."""
    found = (rule(profile, wanted, facts) for rule in RULES)
    return Verdict(profile.version, tuple(breach for breach in found if breach is not None))


def quality_report(profile: TargetProfile, wanted: Wanted, facts: VideoFacts) -> QualityReport:
    """The measured shares beside what this version of the profile thinks of them."""
    measures = facts.measures
    return QualityReport(
        profile_version=profile.version,
        black_share=measures.black_share,
        frozen_share=measures.frozen_share,
        silent_share=measures.silent_share,
        clipped_share=measures.clipped_share,
        findings=tuple(_findings(profile, wanted, facts)),
    )


def _findings(profile: TargetProfile, wanted: Wanted, facts: VideoFacts) -> Iterator[Finding]:
    measures = facts.measures
    shares = (
        (Finding.BLACK, measures.black_share, profile.black_share_above),
        (Finding.FROZEN, measures.frozen_share, profile.frozen_share_above),
        (Finding.SILENT, measures.silent_share, profile.silent_share_above),
        (Finding.CLIPPED, measures.clipped_share, profile.clipped_share_above),
    )
    for finding, share, above in shares:
        if share is not None and share > above:
            yield finding
    if _wrong_ratio(profile, wanted, facts) is not None:
        yield Finding.WRONG_RATIO


def _container(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    return _among(Reason.CONTAINER, facts.container, profile.containers)


def _video_codec(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    return _among(Reason.VIDEO_CODEC, facts.video_codec, profile.video_codecs)


def _audio_codec(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    if facts.audio_codec is None:  # most generated clips are silent
        return None
    return _among(Reason.AUDIO_CODEC, facts.audio_codec, profile.audio_codecs)


def _too_large(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    if facts.size_bytes <= profile.max_bytes:
        return None
    return Breach(Reason.TOO_LARGE, f"{facts.size_bytes} bytes, at most {profile.max_bytes}")


def _too_wide(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    if max(facts.display_width, facts.display_height) <= profile.max_side:
        return None
    return Breach(Reason.TOO_WIDE, f"{_size(facts)}, longer side at most {profile.max_side}")


def _too_small(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    if min(facts.display_width, facts.display_height) >= profile.min_side:
        return None
    return Breach(Reason.TOO_SMALL, f"{_size(facts)}, shorter side at least {profile.min_side}")


def _too_fast(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    limit = profile.max_frame_rate * (1 + profile.frame_rate_tolerance)
    if facts.frame_rate is None or facts.frame_rate <= limit:
        return None
    return Breach(
        Reason.TOO_FAST,
        f"{float(facts.frame_rate):.3f} frames/s, at most {float(limit):.3f} (tolerance included)",
    )


def _too_slow(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    limit = profile.min_frame_rate * (1 - profile.frame_rate_tolerance)
    if facts.frame_rate is None or facts.frame_rate >= limit:
        return None
    return Breach(
        Reason.TOO_SLOW,
        f"{float(facts.frame_rate):.3f} frames/s, at least {float(limit):.3f} (tolerance included)",
    )


def _too_long(profile: TargetProfile, _: Wanted, facts: VideoFacts) -> Breach | None:
    if facts.duration_seconds <= profile.max_duration_seconds:
        return None
    return Breach(
        Reason.TOO_LONG,
        f"{float(facts.duration_seconds):.3f} s, at most {float(profile.max_duration_seconds):.3f} s",
    )


def _wrong_ratio(profile: TargetProfile, wanted: Wanted, facts: VideoFacts) -> Breach | None:
    if wanted.ratio is None:
        return None
    ratio = Fraction(facts.display_width, facts.display_height)
    if abs(ratio - wanted.ratio) <= wanted.ratio * profile.ratio_tolerance:
        return None
    wanted_text = f"{wanted.ratio.numerator}:{wanted.ratio.denominator}"
    return Breach(Reason.WRONG_RATIO, f"{_size(facts)} is not {wanted_text}")


def _wrong_duration(profile: TargetProfile, wanted: Wanted, facts: VideoFacts) -> Breach | None:
    if wanted.duration_seconds is None:
        return None
    slack = max(wanted.duration_seconds * profile.duration_tolerance, profile.duration_slack_seconds)
    if abs(facts.duration_seconds - wanted.duration_seconds) <= slack:
        return None
    return Breach(
        Reason.WRONG_DURATION,
        f"{float(facts.duration_seconds):.3f} s instead of {float(wanted.duration_seconds):.3f} s"
        f" (tolerance {float(slack):.3f} s)",
    )


def _among(reason: Reason, found: str, allowed: frozenset[str]) -> Breach | None:
    if found in allowed:
        return None
    return Breach(reason, f"{found}; allowed: {', '.join(sorted(allowed))}")


def _size(facts: VideoFacts) -> str:
    return f"{facts.display_width}x{facts.display_height}"


RULES: tuple[Rule, ...] = (
    _container,
    _video_codec,
    _audio_codec,
    _too_large,
    _too_wide,
    _too_small,
    _too_fast,
    _too_slow,
    _too_long,
    _wrong_ratio,
    _wrong_duration,
)
