"""Stills as planes of video: read once, then cut, scaled and laid over each other frame by frame.

Belongs here: pixels by Pillow. Does not belong here: which part of which still (motion), or encoding (graph).

The planes are BT.709 luma and chroma from the start, so that a frame costs one luma and two half-size
chroma resamplings (8 ms at 1280x720, measured) and no colour conversion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from resources.local_renderer.motion import Timeline, box, cover

#: R'G'B' of 0..255 to BT.709 limited-range Y'CbCr, row by row with its offset.
_BT709 = (
    *(0.182586, 0.614231, 0.062007, 16.0),
    *(-0.100644, -0.338572, 0.439216, 128.0),
    *(0.439216, -0.398942, -0.040274, 128.0),
)

Planes = tuple[Image.Image, Image.Image, Image.Image]


@dataclass(frozen=True, slots=True)
class Still:
    size: tuple[int, int]
    planes: Planes


def read_still(path: Path, frame: tuple[int, int], zoom: float) -> Still:
    """A picture from `inspection`, upright and opaque; kept no larger than the closest view can show."""
    with Image.open(path) as image:
        picture = _bounded(image.convert("RGB"), frame, zoom)
    luma, blue, red = picture.convert("RGB", _BT709).split()
    return Still(picture.size, (luma, blue, red))


def frames(stills: list[Still], timeline: Timeline, frame: tuple[int, int], zoom: float) -> Iterator[bytes]:
    """Raw planar 4:2:0 frames, one after another."""
    for number in range(timeline.frame_count):
        yield _frame(stills, timeline, number, frame, zoom)


def _frame(
    stills: list[Still], timeline: Timeline, number: int, frame: tuple[int, int], zoom: float
) -> bytes:
    shown: Planes | None = None
    for layer in timeline.layers(number):
        still = stills[layer.still]
        view = box(still.size, frame, layer, zoom, timeline.shot_seconds())
        planes = _cut(still, view, frame)
        shown = planes if shown is None else _blend(shown, planes, layer.opacity)
    if shown is None:
        raise AssertionError("a frame shows at least one still")
    return b"".join(plane.tobytes() for plane in shown)


def _cut(still: Still, view: tuple[float, float, float, float], frame: tuple[int, int]) -> Planes:
    half = (frame[0] // 2, frame[1] // 2)
    luma, blue, red = still.planes
    return (
        luma.resize(frame, Image.Resampling.BICUBIC, box=view),
        blue.resize(half, Image.Resampling.BILINEAR, box=view),
        red.resize(half, Image.Resampling.BILINEAR, box=view),
    )


def _blend(below: Planes, above: Planes, opacity: float) -> Planes:
    luma, blue, red = (Image.blend(b, a, opacity) for b, a in zip(below, above, strict=True))
    return luma, blue, red


def _bounded(picture: Image.Image, frame: tuple[int, int], zoom: float) -> Image.Image:
    part_width, _ = cover(picture.size, frame)
    scale = frame[0] * zoom / part_width
    if scale >= 1:
        return picture
    size = (max(round(picture.width * scale), frame[0]), max(round(picture.height * scale), frame[1]))
    return picture.resize(size, Image.Resampling.LANCZOS)
