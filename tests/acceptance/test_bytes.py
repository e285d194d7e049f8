"""R7: harm in the last frames of a body whose length, index and first frames are right is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipeline.domain.errors import MediaUnproven
from resources.media import Sandbox, examine_video
from resources.media.videos import video_facts
from tests.media.clips import Clip


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return Clip(loudness=None, frames=50, muxer=(("movflags", "faststart"),)).write(tmp_path / "clip.mp4")


@pytest.fixture
def harmed(whole: Path) -> Path:
    body = bytearray(whole.read_bytes())
    place = len(body) - 2_000
    body[place : place + 1_500] = random.Random(4).randbytes(1_500)
    path = whole.with_name("harmed.mp4")
    path.write_bytes(body)
    return path


def test_flipped_bits_in_the_last_frames_are_found(whole: Path, harmed: Path) -> None:
    with Sandbox() as sandbox:
        assert examine_video(sandbox, whole).frame_count == 50
        with pytest.raises(MediaUnproven) as caught:
            examine_video(sandbox, harmed)

    assert caught.value.reason == "undecodable"


def test_they_are_found_by_decoding_alone(harmed: Path) -> None:
    """In this process: the sandbox's child loads the installed product, whatever is tried out here."""
    with harmed.open("rb") as file, pytest.raises(MediaUnproven) as caught:
        video_facts(file, "mp4", harmed.stat().st_size, lambda *_: None)

    assert caught.value.reason == "undecodable"
