"""What is found of clips whose truth is known from how they were made (R3, D2)."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pytest

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media import Sandbox, examine_image, examine_video
from tests.media.cases import DATA
from tests.media.clips import LAYOUTS, Clip, flat, noise


@pytest.mark.parametrize("layout", LAYOUTS)
def test_size_rate_length_and_sound_in_every_container(layout: str, sandbox: Sandbox, tmp_path: Path) -> None:
    clip = LAYOUTS[layout]

    facts = examine_video(sandbox, clip.write(tmp_path / "clip"))

    assert (facts.display_width, facts.display_height) == (160, 90)
    assert facts.frame_count == 25
    assert facts.frame_rate == 25
    assert abs(facts.duration_seconds - 1) <= Fraction(1, 10)
    assert facts.has_audio is (clip.loudness is not None)
    assert facts.measures.frozen_share == 0


@pytest.mark.parametrize(
    ("codec", "container", "found"),
    [
        ("libx264", "mp4", "h264"),
        ("libx265", "mp4", "hevc"),
        ("libsvtav1", "mp4", "av1"),
        ("libvpx", "webm", "vp8"),
        ("libvpx-vp9", "webm", "vp9"),
    ],
)
def test_a_codec_is_called_by_its_own_name(
    codec: str, container: str, found: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    clip = Clip(codec=codec, format=container, frames=3)

    assert examine_video(sandbox, clip.write(tmp_path / "clip")).video_codec == found


@pytest.mark.parametrize("rate", [Fraction(24_000, 1001), Fraction(30_000, 1001), 24, 30, 50, 60])
def test_the_rate_of_a_coarse_time_base_is_the_stated_one(
    rate: Fraction, sandbox: Sandbox, tmp_path: Path
) -> None:
    clip = Clip(codec="libvpx", format="webm", rate=rate, frames=40, width=64, height=36)

    facts = examine_video(sandbox, clip.write(tmp_path / "clip.webm"))

    assert facts.frame_rate is not None
    assert abs(facts.frame_rate - rate) < Fraction(1, 100)


def half_black(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    return flat(0, 0, 0)(number, width, height) if number < 10 else noise(number, width, height)


def test_black_and_frozen_shares_are_counted_in_frames(sandbox: Sandbox, tmp_path: Path) -> None:
    facts = examine_video(sandbox, Clip(frames=20, painter=half_black).write(tmp_path / "clip.mp4"))

    assert facts.measures.black_share == 0.5
    assert facts.measures.frozen_share == pytest.approx(9 / 19, abs=1e-6)


@pytest.mark.parametrize(
    ("loudness", "silent", "clipped"), [(0.0, True, False), (0.3, False, False), (9.0, False, True)]
)
def test_silent_and_clipped_sound_is_seen(
    loudness: float, silent: bool, clipped: bool, sandbox: Sandbox, tmp_path: Path
) -> None:
    clip = Clip(format="matroska", loudness=loudness)

    measures = examine_video(sandbox, clip.write(tmp_path / "clip.mkv")).measures

    assert measures.silent_share is not None
    assert measures.clipped_share is not None
    assert (measures.silent_share > 0.9) is silent
    assert (measures.clipped_share > 0.01) is clipped


def test_a_clip_trimmed_without_encoding_is_whole(sandbox: Sandbox, tmp_path: Path) -> None:
    """Its hidden first frames refer to what was cut off; players skip them."""
    source = ["-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=4", "-pix_fmt", "yuv420p"]
    ffmpeg(*source, "-x264-params", "open-gop=1:keyint=20:bframes=3", str(tmp_path / "long.mp4"))
    ffmpeg("-ss", "1.3", "-i", str(tmp_path / "long.mp4"), "-c", "copy", str(tmp_path / "trimmed.mp4"))

    facts = examine_video(sandbox, tmp_path / "trimmed.mp4")

    assert abs(facts.duration_seconds - Fraction(27, 10)) <= Fraction(1, 10)
    assert facts.frame_rate == 25


def ffmpeg(*arguments: str) -> None:
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", *arguments], check=True)


def test_a_second_video_stream_is_refused_by_name(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(MediaRefused) as caught:
        examine_video(sandbox, Clip(videos=2, frames=3).write(tmp_path / "two.mp4"))

    assert caught.value.reason == "several_videos"


def test_too_many_streams_are_refused_before_they_are_decoded(sandbox: Sandbox, tmp_path: Path) -> None:
    clip = Clip(videos=20, frames=2, width=32, height=32, format="matroska")

    with pytest.raises(MediaRefused) as caught:
        examine_video(sandbox, clip.write(tmp_path / "many.mkv"))

    assert caught.value.reason == "too_many_streams"


def test_a_giant_frame_is_refused_by_its_header(sandbox: Sandbox, tmp_path: Path) -> None:
    clip = Clip(width=4096, height=4096, frames=1, painter=flat(9, 9, 9))

    with pytest.raises(MediaRefused, match="the limit is 8912896"):
        examine_video(sandbox, clip.write(tmp_path / "giant.mp4"))


def test_a_codec_outside_the_list_is_refused_by_name(sandbox: Sandbox, tmp_path: Path) -> None:
    clip = Clip(codec="mjpeg", format="mov", pixels="yuvj420p", frames=2)

    with pytest.raises(MediaRefused) as caught:
        examine_video(sandbox, clip.write(tmp_path / "clip.mov"))

    assert caught.value.reason == "unsupported_video_codec"


PLAYLISTS = {
    "hls": "#EXTM3U\n#EXTINF:1,\n{other}\n#EXT-X-ENDLIST\n",
    "concat": "ffconcat version 1.0\nfile '{other}'\n",
    "dash": "<?xml version='1.0'?><MPD><Period><BaseURL>{other}</BaseURL></Period></MPD>",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=video 5004 RTP/AVP 96\n",
}


@pytest.mark.parametrize("kind", PLAYLISTS)
def test_a_script_that_names_another_file_is_no_media(kind: str, sandbox: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "clip.mp4"
    script.write_text(PLAYLISTS[kind].format(other=DATA / "one_frame.mp4") + " " * 300)

    with pytest.raises(MediaRefused) as caught:
        examine_video(sandbox, script)

    assert caught.value.reason == "not_media"


def test_a_playlist_behind_a_true_beginning_is_not_followed(sandbox: Sandbox, tmp_path: Path) -> None:
    mixed = tmp_path / "clip.mp4"
    playlist = PLAYLISTS["hls"].format(other=DATA / "start_3600s.ts").encode()
    mixed.write_bytes(b"\0\0\0\x18ftypisom\0\0\0\0isommp42" + playlist)

    with pytest.raises(MediaUnproven):
        examine_video(sandbox, mixed)


def test_a_title_in_another_encoding_is_no_fault(sandbox: Sandbox, tmp_path: Path) -> None:
    body = (DATA / "one_frame.mp4").read_bytes()
    renamed = tmp_path / "clip.mp4"
    renamed.write_bytes(body.replace(b"VideoHandler", b"Vid\xe9oHandler"))

    assert renamed.read_bytes() != body
    assert examine_video(sandbox, renamed).frame_count == 1


def test_a_picture_is_no_video_and_a_video_no_picture(sandbox: Sandbox) -> None:
    with pytest.raises(MediaRefused) as no_video:
        examine_video(sandbox, DATA / "exif_6.jpg")
    with pytest.raises(MediaRefused) as no_picture:
        examine_image(sandbox, DATA / "one_frame.mp4")

    assert (no_video.value.reason, no_picture.value.reason) == ("not_a_video", "not_an_image")
