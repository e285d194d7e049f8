"""The target profile: the shipped one is whole, and each fault is named (G1)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipeline.documents.reading import shipped
from pipeline.documents.target_profile import default_target_profile, read_target_profile
from pipeline.domain.errors import BadDocument

TEXT = shipped("target_profile.yaml")


def faults(text: str) -> dict[str, str]:
    with pytest.raises(BadDocument) as caught:
        read_target_profile(text, name="profile.yaml")
    return {fault.field: fault.problem for fault in caught.value.faults}


def test_the_shipped_profile_is_exact() -> None:
    profile = default_target_profile()

    assert profile.version == "web-1"
    assert profile.frame_rate_tolerance == Fraction(1, 100)
    assert profile.duration_tolerance == Fraction(5, 100)
    assert {"mp4", "webm"} <= profile.containers


def test_a_rate_may_be_a_ratio() -> None:
    text = TEXT.replace("max: 60", 'max: "60000/1001"')

    assert read_target_profile(text, name="profile.yaml").max_frame_rate == Fraction(60_000, 1001)


@pytest.mark.parametrize(
    ("line", "instead", "field"),
    [
        ("version: web-1", "version: Web One", "version"),
        ("containers: [mp4, mov, webm, matroska, mpegts]", "containers: []", "containers"),
        ("max_bytes: 2147483648", "max_bytes: 0", "size.max_bytes"),
        ("min_side: 16", "min_side: 5000", "size"),
        ("max: 60", "max: 0", "frame_rate.max"),
        ("max: 60", 'max: "60/0"', "frame_rate.max"),
        ("min: 1", "min: 61", "frame_rate"),
        ("tolerance: 0.05", "tolerance: -1", "duration.tolerance"),
        ("slack_seconds: 0.25", "slack_seconds: soon", "duration.slack_seconds"),
        ("ratio_tolerance: 0.02", "ratio_tolerance: 2", "ratio_tolerance"),
        ("black_share_above: 0.5", "black_share_abov: 0.5", "quality.black_share_abov"),
    ],
)
def test_a_fault_is_named_with_its_field(line: str, instead: str, field: str) -> None:
    assert line in TEXT
    assert field in faults(TEXT.replace(line, instead))
