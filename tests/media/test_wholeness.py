"""A cut, joined, holed or extended body is never taken for whole, wherever the cut lies (R1, R7)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media import Sandbox, examine_image, examine_video
from tests.media.cases import DATA
from tests.media.clips import FRAGMENTED, LAYOUTS, Clip

STILLS = [
    "exif_6.jpg",
    "exif_6.webp",
    "exif_8.png",
    "avif_irot.avif",
    "heic_irot_only.heic",
    "odd_101x75.gif",
]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    return {name: clip.write(folder / "clip").read_bytes() for name, clip in LAYOUTS.items()}


def taken(sandbox: Sandbox, path: Path, body: bytes) -> bool:
    path.write_bytes(body)
    try:
        examine_video(sandbox, path)
    except MediaUnproven:
        return False
    return True


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_whole_file_is_taken(
    layout: str, bodies: dict[str, bytes], sandbox: Sandbox, tmp_path: Path
) -> None:
    assert taken(sandbox, tmp_path / "clip", bodies[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_cut_of_it_is(layout: str, bodies: dict[str, bytes], sandbox: Sandbox, tmp_path: Path) -> None:
    body, rng = bodies[layout], random.Random(layout)
    near_the_end = [1, 4, 16, 64, 500, 1000]
    cuts = [len(body) * share // 20 for share in range(1, 20)] + [len(body) - lost for lost in near_the_end]
    cuts += [rng.randrange(1, len(body)) for _ in range(15)] + [1, 9, 40]

    cuts = [cut for cut in cuts if not ends_cleanly(layout, body[:cut])]
    passed = [cut for cut in cuts if taken(sandbox, tmp_path / "cut", body[:cut])]

    assert passed == []


def ends_cleanly(layout: str, cut: bytes) -> bool:
    """A stream has no end of its own: between two packets or fragments only a shorter duration tells."""
    if layout == "transport stream":
        return len(cut) % 188 == 0
    return layout == "fragmented mp4" and cut.count(b"moof") > 0 and whole_boxes(cut)


def whole_boxes(body: bytes) -> bool:
    at, last = 0, b""
    while at + 8 <= len(body):
        at, last = at + int.from_bytes(body[at : at + 4], "big"), body[at + 4 : at + 8]
    return at == len(body) and last == b"mdat"


def test_a_cut_between_two_fragments_shows_in_the_duration(
    bodies: dict[str, bytes], sandbox: Sandbox, tmp_path: Path
) -> None:
    body = bodies["fragmented mp4"]
    last_fragment = body.rindex(b"moof") - 4

    facts = examine_video(sandbox, written(tmp_path, body[:last_fragment]))

    assert whole_boxes(body[:last_fragment])
    assert facts.duration_seconds < examine_video(sandbox, written(tmp_path, body)).duration_seconds


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("harm", ["tail", "joined", "hole", "lost"])
def test_nor_is_a_body_that_was_harmed_on_its_way(
    layout: str, harm: str, bodies: dict[str, bytes], sandbox: Sandbox, tmp_path: Path
) -> None:
    body = bodies[layout]
    half = len(body) // 2
    harmed = {
        "tail": body + b"<html>502 Bad Gateway</html>" * 9,
        "joined": body[:half] + body,
        "hole": body[: half - 4500] + bytes(9000) + body[half + 4500 :],
        "lost": body[:half] + body[half + 2000 :],
    }

    assert not taken(sandbox, tmp_path / "harmed", harmed[harm])


def test_fragments_that_a_segment_index_still_names_are_missed(sandbox: Sandbox, tmp_path: Path) -> None:
    clip = Clip(muxer=(("movflags", "dash+frag_keyframe+global_sidx"),), keyframe_every=8)
    body = clip.write(tmp_path / "dash.mp4").read_bytes()
    last_fragment = body.rindex(b"moof") - 4

    with pytest.raises(MediaUnproven, match="segment index"):
        examine_video(sandbox, written(tmp_path, body[:last_fragment]))


def test_a_fragment_without_its_media_is_cut(sandbox: Sandbox, tmp_path: Path) -> None:
    body = Clip(muxer=FRAGMENTED, keyframe_every=8).write(tmp_path / "frag.mp4").read_bytes()
    last_media = body.rindex(b"mdat") - 4

    with pytest.raises(MediaUnproven, match="has no media"):
        examine_video(sandbox, written(tmp_path, body[:last_media]))


def test_flipped_bits_inside_a_frame_are_found_by_decoding(sandbox: Sandbox, tmp_path: Path) -> None:
    body = bytearray(Clip(loudness=None).write(tmp_path / "clip.mp4").read_bytes())
    start = body.index(b"mdat") + 3000
    body[start : start + 400] = random.Random(4).randbytes(400)

    with pytest.raises(MediaUnproven) as caught:
        examine_video(sandbox, written(tmp_path, bytes(body)))

    assert caught.value.reason == "undecodable"


@pytest.mark.parametrize("file", STILLS)
def test_no_cut_of_a_picture_is_taken(file: str, sandbox: Sandbox, tmp_path: Path) -> None:
    body = (DATA / file).read_bytes()
    cuts = [len(body) * share // 12 for share in range(1, 12)] + [len(body) - lost for lost in (1, 2, 8)]

    reasons = []
    for cut in cuts:
        with pytest.raises(MediaRefused) as caught:
            examine_image(sandbox, written(tmp_path, body[:cut]))
        reasons.append(caught.value.reason)

    assert set(reasons) <= {"truncated", "damaged", "not_an_image"}


@pytest.mark.parametrize("file", STILLS)
def test_what_stands_behind_a_whole_picture_does_no_harm(file: str, sandbox: Sandbox, tmp_path: Path) -> None:
    body = (DATA / file).read_bytes() + b"\x00PK\x03\x04 tail of another tool " * 5

    facts = examine_image(sandbox, written(tmp_path, body))

    assert facts.size_bytes == len(body)


def written(folder: Path, body: bytes) -> Path:
    path = folder / "body"
    path.write_bytes(body)
    return path
