"""The picture itself: size, length, motion, cross-fade, caption, colour (R3, I1)."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from itertools import pairwise

import av
import pytest
from PIL import Image, ImageChops, ImageStat

from tests.local_renderer.renderer_process import Renderer, picture, wanted

_ABOVE = (0, 0, 160, 40)  #: no caption reaches up there
_BELOW = (20, 55, 140, 88)


def differs(one: Image.Image, other: Image.Image, box: tuple[int, int, int, int]) -> float:
    """Mean difference of the levels, 0 to 255."""
    return max(ImageStat.Stat(ImageChops.difference(one.crop(box), other.crop(box))).mean)


def level(frame: Image.Image, box: tuple[int, int, int, int] = _ABOVE) -> list[float]:
    return ImageStat.Stat(frame.crop(box)).mean


@pytest.mark.parametrize(
    ("size", "fps", "seconds"), [((160, 90), 25, 2), ((90, 160), 10, 1), ((96, 96), 1, 1), ((96, 96), 1, 3)]
)
def test_size_rate_and_length_are_exact(
    renderer: Renderer, red: str, blue: str, size: tuple[int, int], fps: int, seconds: int
) -> None:
    asked = wanted(red, blue, width=size[0], height=size[1], duration_seconds=seconds, settings={"fps": fps})
    video = renderer.ask("GET", renderer.render(asked)["output"]["url"]).body

    with av.open(BytesIO(video)) as container:
        stream = container.streams.video[0]
        shown = list(container.decode(stream))
        assert stream.time_base is not None
        assert (stream.width, stream.height, stream.average_rate) == (*size, fps)
        assert [frame.pts * stream.time_base for frame in shown] == [
            Fraction(n, fps) for n in range(fps * seconds)
        ]
        assert Fraction(container.duration or 0, av.time_base) == seconds


def test_the_container_plays_everywhere_and_states_its_colour(renderer: Renderer, red: str) -> None:
    video = renderer.ask("GET", renderer.render(wanted(red))["output"]["url"]).body

    with av.open(BytesIO(video)) as container:
        context = container.streams.video[0].codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
        assert (context.colorspace, context.color_primaries, context.color_trc, context.color_range) == (
            1,
            1,
            1,
            1,
        )
        assert not container.streams.audio
    assert video.index(b"moov") < video.index(b"mdat")


def test_equal_requests_give_equal_bytes(renderer: Renderer, red: str, blue: str) -> None:
    made = [renderer.render(wanted(red, blue))["output"]["sha256"] for _ in range(2)]

    assert made[0] == made[1]


def test_the_colours_are_those_of_the_still(renderer: Renderer) -> None:
    ground = renderer.upload(_flat((200, 60, 30)))
    frame = renderer.film(wanted(ground, caption=""))[5]

    assert level(frame, (0, 0, 160, 90)) == pytest.approx([200, 60, 30], abs=4)


def test_every_frame_moves_on(renderer: Renderer, red: str) -> None:
    film = renderer.film(wanted(red, settings={"fps": 10, "zoom": 1.3}, duration_seconds=2, caption=""))

    assert all(differs(a, b, _ABOVE) > 0.5 for a, b in pairwise(film))


def test_one_still_fades_into_the_next(renderer: Renderer) -> None:
    first, second = renderer.upload(_flat((220, 40, 40))), renderer.upload(_flat((40, 40, 220)))
    film = renderer.film(wanted(first, second, caption="", duration_seconds=2))
    reds = [level(frame)[0] for frame in film]
    between = [value for value in reds if 60 < value < 200]

    assert reds[9] == pytest.approx(220, abs=6)
    assert reds[-1] == pytest.approx(40, abs=6)
    assert len(between) >= 2
    assert all(a >= b - 2 for a, b in pairwise(reds))


def test_the_caption_appears_below_and_stays(renderer: Renderer, red: str) -> None:
    bare, said = (renderer.film(wanted(red, caption=text)) for text in ("", "On time."))

    assert differs(bare[0], said[0], _BELOW) < 3
    assert all(differs(a, b, _BELOW) > 25 for a, b in zip(bare[5:], said[5:], strict=True))
    assert max(differs(a, b, _ABOVE) for a, b in zip(bare, said, strict=True)) < 8


def test_a_turned_photograph_stands_upright(renderer: Renderer) -> None:
    image = Image.new("RGB", (90, 160), (220, 30, 30))
    image.paste((30, 30, 220), (0, 80, 90, 160))
    out = BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise to display: what lies below comes to the left
    image.save(out, "JPEG", quality=95, exif=exif)
    frame = renderer.film(
        wanted(renderer.upload(out.getvalue()), caption="", settings={"fps": 10, "zoom": 1})
    )[0]

    assert level(frame, (0, 0, 60, 90)) == pytest.approx([30, 30, 220], abs=12)
    assert level(frame, (100, 0, 160, 90)) == pytest.approx([220, 30, 30], abs=12)


def test_the_largest_still_and_the_smallest_give_the_wanted_size(renderer: Renderer) -> None:
    huge = renderer.upload(picture((90, 90, 10), size=(5000, 3000), kind="JPEG"))
    tiny = renderer.upload(picture((10, 90, 90), size=(1, 1)))

    assert renderer.film(wanted(huge, tiny))[-1].size == (160, 90)


def _flat(colour: tuple[int, int, int]) -> bytes:
    out = BytesIO()
    Image.new("RGB", (320, 180), colour).save(out, "PNG")
    return out.getvalue()
