"""The derivative set and the upright picture: sizes, sameness, privacy (D1, D2, I2)."""

from __future__ import annotations

import hashlib
import tarfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.documents.transform_set import default_transform_set
from pipeline.domain.errors import StoreUnavailable
from pipeline.domain.media import Derivative, TransformSet
from resources.media import Sandbox, derive, upright_image
from resources.media.thumbnails import LONGEST_SIDE, planned_sizes
from tests.media.cases import DATA
from tests.media.clips import Clip, flat, noise

SIDE = st.integers(min_value=1, max_value=20_000)


@given(SIDE, SIDE, st.lists(st.integers(min_value=1, max_value=4096), min_size=1, max_size=6))
def test_no_picture_is_larger_than_its_source_or_without_a_side(
    width: int, height: int, asked: list[int]
) -> None:
    sizes = planned_sizes((width, height), asked)

    assert len(sizes) == len(asked)
    for (w, h), wanted in zip(sizes, asked, strict=True):
        assert 1 <= w <= min(wanted, width)
        assert 1 <= h <= min(max(height, 1), LONGEST_SIDE)
        assert abs(h - Fraction(height * w, width)) <= max(1, Fraction(height, width))


def test_a_width_beyond_the_source_is_made_at_the_sources_and_says_so(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    clip = Clip(width=700, height=394, frames=3).write(tmp_path / "clip.mp4")

    rows = derive(sandbox, clip, default_transform_set(), tmp_path / "out")

    assert [(row.asked_width, row.width, row.at_source_width) for row in rows] == [
        (320, 320, False),
        (640, 640, False),
        (960, 700, True),
        (1280, 700, True),
    ]


@pytest.mark.parametrize("file", ["black_lead_1500ms.mp4", "icc_rotated.jpg", "anim.webp"])
def test_rows_tell_the_truth_about_the_files_and_making_them_again_gives_the_same_bytes(
    file: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    first = derive(sandbox, DATA / file, default_transform_set(), tmp_path / "one")
    with Sandbox() as other:
        second = derive(other, DATA / file, default_transform_set(), tmp_path / "two")

    assert first == second
    for row in first:
        body = (tmp_path / "one" / row.filename).read_bytes()
        with Image.open(tmp_path / "one" / row.filename) as image:
            assert (image.size, image.format) == ((row.width, row.height), row.format.upper())
        assert (len(body), hashlib.sha256(body).hexdigest()) == (row.size_bytes, row.sha256)


def test_transparency_shows_the_stated_background(sandbox: Sandbox, tmp_path: Path) -> None:
    green = TransformSet("test-1", (Derivative("small", 64, "webp", 90),), (0, 255, 0))

    for file in ("alpha_vp9.webm", "rgba_half.png"):
        (row,) = derive(sandbox, DATA / file, green, tmp_path / file)
        with Image.open(tmp_path / file / row.filename) as image:
            red, shade, blue = image.convert("RGB").getpixel((1, 1))  # type: ignore[misc]
        assert (red < 30, shade > 225, blue < 30) == (True, True, True)


def late_picture(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    return flat(0, 0, 0)(number, width, height) if number < 40 else noise(number, width, height)


@pytest.mark.parametrize("keyframe_every", [10, 250])
def test_a_black_lead_is_passed_with_and_without_later_keyframes(
    keyframe_every: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    clip = Clip(frames=60, keyframe_every=keyframe_every, painter=late_picture).write(tmp_path / "clip.mp4")

    rows = derive(sandbox, clip, default_transform_set(), tmp_path / "out")

    with Image.open(tmp_path / "out" / rows[0].filename) as image:
        assert np.asarray(image.convert("L")).mean() > 40


def test_a_large_jpeg_is_scaled_from_its_whole_picture(sandbox: Sandbox, tmp_path: Path) -> None:
    left_red = np.zeros((3000, 6000, 3), np.uint8)
    left_red[:, :3000, 0] = left_red[:, 3000:, 2] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(left_red).save(tmp_path / "large.jpg", exif=exif)

    rows = derive(sandbox, tmp_path / "large.jpg", default_transform_set(), tmp_path / "out")

    with Image.open(tmp_path / "out" / rows[0].filename) as image:
        top, bottom = (image.convert("RGB").getpixel((160, y)) for y in (10, 600))
    assert (rows[0].width, rows[0].height) == (320, 640)
    assert top[0] > 200  # type: ignore[index]
    assert bottom[2] > 200  # type: ignore[index]


PQ, HLG = 16, 18


@pytest.mark.parametrize(("transfer", "white"), [(PQ, 0.58), (HLG, 0.75)])
def test_hdr_white_is_white_in_the_pictures(
    transfer: int, white: float, sandbox: Sandbox, tmp_path: Path
) -> None:
    level = round(white * 255)  # BT.2408: the signal of diffuse white
    clip = Clip(pixels="yuv420p10le", frames=2, painter=flat(level, level, level), transfer=transfer)

    assert brightness(clip, sandbox, tmp_path) > 225


def test_an_hdr_tag_on_eight_bits_is_nonsense_and_changes_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    clip = Clip(frames=2, painter=flat(148, 148, 148), transfer=PQ)

    assert abs(brightness(clip, sandbox, tmp_path) - 148) < 6


def brightness(clip: Clip, sandbox: Sandbox, folder: Path) -> float:
    rows = derive(sandbox, clip.write(folder / "clip.mp4"), default_transform_set(), folder / "out")
    with Image.open(folder / "out" / rows[0].filename) as image:
        return float(np.asarray(image.convert("L")).mean())


def test_what_is_sent_on_holds_no_place_and_no_device(sandbox: Sandbox, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "CameraMaker"
    exif[0x8825] = {1: "N", 2: (52.0, 31.0, 12.0)}
    Image.new("RGB", (80, 60), (9, 99, 200)).save(
        tmp_path / "source.jpg", exif=exif, comment=b"private words", icc_profile=icc()
    )
    before = (tmp_path / "source.jpg").read_bytes()

    for kind in ("jpeg", "png"):
        sent = upright_image(sandbox, tmp_path / "source.jpg", tmp_path / f"sent.{kind}", format=kind)
        body = sent.path.read_bytes()
        with Image.open(sent.path) as image:
            assert (image.format, image.mode, dict(image.getexif())) == (kind.upper(), "RGB", {})
            assert "icc_profile" not in image.info
        assert b"CameraMaker" not in body
        assert b"private words" not in body
        assert hashlib.sha256(body).hexdigest() == sent.sha256
    assert (tmp_path / "source.jpg").read_bytes() == before


def icc() -> bytes:
    with Image.open(DATA / "icc_rotated.jpg") as image:
        return bytes(image.info["icc_profile"])


def test_the_longest_side_of_what_is_sent_can_be_bounded(sandbox: Sandbox, tmp_path: Path) -> None:
    sent = upright_image(
        sandbox, DATA / "strip_8000x8.png", tmp_path / "sent.png", format="png", max_side=500
    )

    assert (sent.width, sent.height) == (500, 1)


def test_a_folder_that_takes_nothing_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreUnavailable, match="does not take a picture"):
        derive(sandbox, DATA / "exif_6.jpg", default_transform_set(), tmp_path / "file" / "out")


def test_names_that_trap_tools_reach_no_tool(sandbox: Sandbox, tmp_path: Path) -> None:
    with tarfile.open(DATA / "names_traps.tar") as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "in", filter="data")
    for number, name in enumerate(names):
        derive(sandbox, tmp_path / "in" / name, default_transform_set(), tmp_path / "out" / str(number))

    made = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]

    assert len(names) == 20
    assert len(made) == 20 * 4
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == sorted(names)
