"""The target profile's rules: bounds are inclusive, tolerances symmetrical, every breach named (R1, R3)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.media import QualityMeasures, VideoFacts
from pipeline.domain.quality import Finding, Reason, TargetProfile, Wanted, judge, quality_report

PROFILE = TargetProfile(
    version="test-1",
    containers=frozenset({"mp4", "webm"}),
    video_codecs=frozenset({"h264", "vp9"}),
    audio_codecs=frozenset({"aac"}),
    max_bytes=1_000_000,
    min_side=100,
    max_side=1920,
    min_frame_rate=Fraction(10),
    max_frame_rate=Fraction(60),
    frame_rate_tolerance=Fraction(1, 100),
    max_duration_seconds=Fraction(60),
    duration_tolerance=Fraction(1, 20),
    duration_slack_seconds=Fraction(1, 4),
    ratio_tolerance=Fraction(1, 50),
    black_share_above=Fraction(1, 2),
    frozen_share_above=Fraction(9, 10),
    silent_share_above=Fraction(19, 20),
    clipped_share_above=Fraction(1, 100),
)

FACTS = VideoFacts(
    container="mp4",
    content_type="video/mp4",
    video_codec="h264",
    audio_codec="aac",
    pixel_format="yuv420p",
    coded_width=1280,
    coded_height=720,
    sample_aspect_ratio=Fraction(1),
    rotation=0,
    mirrored=False,
    display_width=1280,
    display_height=720,
    duration_seconds=Fraction(6),
    frame_rate=Fraction(25),
    frame_count=150,
    has_alpha=False,
    has_audio=True,
    size_bytes=500_000,
    sha256="0" * 64,
    measures=QualityMeasures(0.0, 0.0, 0.0, 0.0),
    read_by="test",
)

WANTED = Wanted(Fraction(16, 9), Fraction(6))


def reasons(wanted: Wanted = WANTED, **changed: object) -> list[Reason]:
    facts = replace(FACTS, **changed)  # type: ignore[arg-type]
    return [breach.reason for breach in judge(PROFILE, wanted, facts).breaches]


def test_what_keeps_every_rule_is_accepted_under_the_profiles_version() -> None:
    verdict = judge(PROFILE, WANTED, FACTS)

    assert verdict.accepted
    assert verdict.profile_version == "test-1"


@pytest.mark.parametrize(
    ("reason", "changed"),
    [
        (Reason.CONTAINER, {"container": "mpegts"}),
        (Reason.VIDEO_CODEC, {"video_codec": "av1"}),
        (Reason.AUDIO_CODEC, {"audio_codec": "mp3"}),
        (Reason.TOO_LARGE, {"size_bytes": 1_000_001}),
        (Reason.TOO_WIDE, {"display_width": 3840, "display_height": 2160}),
        (Reason.TOO_SMALL, {"display_width": 160, "display_height": 90}),
        (Reason.TOO_FAST, {"frame_rate": Fraction(61)}),
        (Reason.TOO_SLOW, {"frame_rate": Fraction(9)}),
        (Reason.WRONG_RATIO, {"display_width": 720, "display_height": 1280}),
        (Reason.WRONG_DURATION, {"duration_seconds": Fraction(9)}),
    ],
)
def test_each_rule_names_its_breach_and_no_other(reason: Reason, changed: dict[str, object]) -> None:
    assert reasons(**changed) == [reason]


def test_all_breaches_are_named_at_once() -> None:
    assert reasons(container="mov", frame_rate=Fraction(120), duration_seconds=Fraction(61)) == [
        Reason.CONTAINER,
        Reason.TOO_FAST,
        Reason.TOO_LONG,
        Reason.WRONG_DURATION,
    ]


def test_nothing_wanted_asks_for_no_ratio_and_no_length() -> None:
    assert reasons(Wanted(), display_width=500, display_height=1111, duration_seconds=Fraction(59)) == []


def test_a_silent_clip_and_an_unknown_rate_break_nothing() -> None:
    assert reasons(audio_codec=None, has_audio=False, frame_rate=None) == []


@pytest.mark.parametrize("rate", [Fraction(6002, 100), Fraction(60_000, 1001), Fraction(606, 10)])
def test_a_rate_a_hair_above_the_limit_passes(rate: Fraction) -> None:
    assert reasons(frame_rate=rate) == []


def test_the_sentence_of_a_rate_never_says_that_the_limit_itself_is_not_allowed() -> None:
    (breach,) = judge(PROFILE, WANTED, replace(FACTS, frame_rate=Fraction(6062, 100))).breaches

    assert breach.problem == "60.620 frames/s, at most 60.600 (tolerance included)"


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=60), st.fractions(min_value=Fraction(1), max_value=60)
)
def test_the_length_is_judged_alike_above_and_below(off: Fraction, wanted: Fraction) -> None:
    slack = max(wanted * PROFILE.duration_tolerance, PROFILE.duration_slack_seconds)
    expected = [] if off <= slack else [Reason.WRONG_DURATION]
    wish = Wanted(None, wanted)

    found = [
        [r for r in reasons(wish, duration_seconds=wanted + sign * off) if r is not Reason.TOO_LONG]
        for sign in (1, -1)
    ]

    assert found == [expected, expected]


@given(st.integers(min_value=100, max_value=1920), st.integers(min_value=100, max_value=1920))
def test_turning_video_and_wish_together_changes_no_verdict(width: int, height: int) -> None:
    upright = reasons(Wanted(Fraction(16, 9)), display_width=width, display_height=height)
    turned = reasons(Wanted(Fraction(9, 16)), display_width=height, display_height=width)

    exact = Fraction(width, height) / Fraction(16, 9)
    border = abs(abs(exact - 1) - PROFILE.ratio_tolerance) < Fraction(1, 1000)
    assert upright == turned or border


@pytest.mark.parametrize(
    ("finding", "measures"),
    [
        (Finding.BLACK, QualityMeasures(0.6, 0, 0, 0)),
        (Finding.FROZEN, QualityMeasures(0, 0.95, 0, 0)),
        (Finding.SILENT, QualityMeasures(0, 0, 1.0, 0)),
        (Finding.CLIPPED, QualityMeasures(0, 0, 0, 0.02)),
    ],
)
def test_a_share_above_its_bound_is_pointed_out_and_refuses_nothing(
    finding: Finding, measures: QualityMeasures
) -> None:
    facts = replace(FACTS, measures=measures)

    report = quality_report(PROFILE, WANTED, facts)

    assert report.findings == (finding,)
    assert report.profile_version == "test-1"
    assert judge(PROFILE, WANTED, facts).accepted


def test_the_report_points_out_a_wrong_ratio_and_nothing_of_absent_sound() -> None:
    facts = replace(FACTS, display_width=720, measures=QualityMeasures(0, 0, None, None))

    assert quality_report(PROFILE, WANTED, facts).findings == (Finding.WRONG_RATIO,)
