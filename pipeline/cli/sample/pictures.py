"""Three pictures of a parcel service in spring, drawn by code: nobody's photographs, nobody's licence.

Belongs here: shapes and colours. Does not belong here: files.

Drawn four times too large and scaled down, which is what smooths the edges. 640 pixels on the long side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFilter

_WIDTH, _HEIGHT = 640, 428
_FINER = 4

Colour = tuple[int, int, int]
Point = tuple[float, float]

_ORANGE, _DEEP_ORANGE, _CREAM = (240, 124, 48), (205, 92, 30), (250, 240, 224)
_NAVY, _INK, _GLASS = (35, 52, 84), (26, 34, 52), (150, 196, 220)


@dataclass(frozen=True, slots=True)
class _Canvas:
    """Draws in the small picture's coordinates."""

    image: Image.Image

    @property
    def _pen(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self.image)

    def box(
        self, left: float, top: float, right: float, bottom: float, colour: Colour, radius: float = 0
    ) -> None:
        corners = tuple(_FINER * v for v in (left, top, right, bottom))
        self._pen.rounded_rectangle(corners, _FINER * radius, fill=colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._pen.ellipse(
            tuple(_FINER * v for v in (x - radius, y - radius, x + radius, y + radius)), fill=colour
        )

    def shape(self, points: Sequence[Point], colour: Colour) -> None:
        self._pen.polygon([(_FINER * x, _FINER * y) for x, y in points], fill=colour)

    def glow(self, x: float, y: float, radius: float, colour: Colour, strength: int, flat: float = 1) -> None:
        """A soft light or shadow: its mask is a blurred ellipse, *flat* times as high as wide."""
        mask = Image.new("L", (_WIDTH, _HEIGHT))
        corners = (x - radius, y - radius * flat, x + radius, y + radius * flat)
        ImageDraw.Draw(mask).ellipse(corners, fill=strength)
        mask = mask.filter(ImageFilter.GaussianBlur(radius * flat / 2)).resize(self.image.size)
        self.image.paste(colour, (0, 0), mask)

    def finished(self) -> Image.Image:
        return self.image.resize((_WIDTH, _HEIGHT), Image.Resampling.LANCZOS)


def depot() -> Image.Image:
    """A depot at sunrise: three gates, the middle one open and lit, a parcel belt, hills behind."""
    canvas = _sky((92, 140, 196), (252, 214, 168))
    canvas.glow(508, 96, 90, (255, 236, 190), 255)
    canvas.disc(508, 96, 24, (255, 246, 220))
    _hills(canvas, 216, (132, 160, 172), (104, 142, 136))
    canvas.box(0, 318, _WIDTH, _HEIGHT, (116, 122, 130))
    canvas.box(0, 316, _WIDTH, 322, (150, 156, 162))
    canvas.shape([(78, 150), (330, 118), (562, 150)], _NAVY)
    canvas.box(86, 148, 554, 320, _CREAM)
    canvas.box(86, 148, 554, 176, _ORANGE)
    canvas.box(86, 174, 554, 178, _DEEP_ORANGE)
    for left, is_open in ((116, False), (258, True), (400, False)):
        _gate(canvas, left, is_open)
    for x in range(20, _WIDTH, 92):
        canvas.shape([(x, 372), (x + 46, 372), (x + 40, 379), (x - 6, 379)], (238, 226, 190))
    _tree(canvas, 40, 322, 1.15)
    _tree(canvas, 602, 322, 1.3)
    return canvas.finished()


def van() -> Image.Image:
    """A delivery van on a country road in the afternoon."""
    canvas = _sky((86, 170, 214), (226, 242, 240))
    for x, y, size in ((120, 74, 1.0), (420, 54, 1.3), (560, 104, 0.8)):
        _cloud(canvas, x, y, size)
    _hills(canvas, 226, (138, 190, 150), (104, 168, 110))
    canvas.box(0, 300, _WIDTH, _HEIGHT, (126, 178, 96))
    canvas.box(0, 320, _WIDTH, 402, (86, 90, 98))
    canvas.box(0, 318, _WIDTH, 322, (236, 232, 216))
    canvas.box(0, 400, _WIDTH, 404, (236, 232, 216))
    for x in range(-20, _WIDTH, 84):
        canvas.box(x, 380, x + 44, 385, (244, 236, 206))
    for x, scale in ((52, 1.0), (126, 0.8), (566, 1.1)):
        _tree(canvas, x, 318, scale)
    _van(canvas, 176, 344)
    return canvas.finished()


def parcels() -> Image.Image:
    """Parcels on a doorstep, beside a door and a plant."""
    canvas = _sky((246, 226, 200), (232, 200, 168))
    for row in range(0, 330, 22):
        canvas.box(0, row, _WIDTH, row + 1, (222, 192, 160))
    canvas.box(0, 326, _WIDTH, _HEIGHT, (176, 150, 132))
    canvas.box(0, 326, _WIDTH, 334, (206, 184, 164))
    canvas.box(74, 50, 250, 330, _CREAM, 6)
    canvas.box(84, 60, 240, 330, (44, 96, 104), 4)
    for top in (80, 204):
        canvas.box(104, top, 220, top + 104, (58, 116, 124), 4)
    canvas.disc(224, 200, 6, (232, 190, 90))
    canvas.glow(430, 120, 110, (255, 246, 224), 150)
    canvas.glow(440, 378, 180, (110, 84, 70), 200, flat=0.08)
    canvas.glow(588, 374, 50, (110, 84, 70), 200, flat=0.2)
    _parcel(canvas, 308, 262, 150, 112, (206, 158, 106))
    _parcel(canvas, 442, 298, 112, 78, (190, 138, 88))
    _parcel(canvas, 334, 184, 98, 78, (222, 178, 126))
    _plant(canvas, 588, 372)
    return canvas.finished()


def _sky(top: Colour, bottom: Colour) -> _Canvas:
    ramp = Image.linear_gradient("L").resize((_WIDTH * _FINER, _HEIGHT * _FINER), Image.Resampling.BICUBIC)
    size = ramp.size
    return _Canvas(Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), ramp))


def _hills(canvas: _Canvas, horizon: float, far: Colour, near: Colour) -> None:
    heights = (
        (far, 30, (70, 0.9, 250, 1.5, 430, 1.0, 610, 1.4)),
        (near, 54, (0, 1.1, 190, 0.8, 360, 1.3, 540, 0.9)),
    )
    for colour, drop, places in heights:
        for x, size in zip(places[::2], places[1::2], strict=True):
            canvas.disc(x, horizon + drop + 130 * size, 150 * size, colour)


def _gate(canvas: _Canvas, left: float, is_open: bool) -> None:
    canvas.box(left - 6, 202, left + 130, 320, (206, 196, 180))
    canvas.box(left, 208, left + 124, 320, (255, 226, 160) if is_open else (150, 160, 174))
    if is_open:
        canvas.box(left, 208, left + 124, 222, (150, 160, 174))
        _parcel(canvas, left + 14, 268, 52, 44, (206, 158, 106))
        _parcel(canvas, left + 70, 280, 40, 32, (190, 138, 88))
        canvas.box(left, 312, left + 124, 320, _INK)
    else:
        for top in range(220, 316, 14):
            canvas.box(left, top, left + 124, top + 2, (126, 136, 152))


def _van(canvas: _Canvas, x: float, y: float) -> None:
    canvas.glow(x + 152, y + 52, 170, (30, 34, 42), 200, flat=0.08)
    canvas.box(x, y - 128, x + 214, y + 26, _CREAM, 10)
    canvas.shape(
        [(x + 206, y - 104), (x + 252, y - 104), (x + 296, y - 42), (x + 296, y + 26), (x + 206, y + 26)],
        _CREAM,
    )
    canvas.box(x + 250, y - 46, x + 306, y + 26, _CREAM, 10)
    canvas.shape([(x + 222, y - 94), (x + 248, y - 94), (x + 282, y - 44), (x + 222, y - 44)], _GLASS)
    canvas.shape(
        [(x + 222, y - 94), (x + 232, y - 94), (x + 244, y - 44), (x + 222, y - 44)], (176, 214, 232)
    )
    canvas.box(x, y - 24, x + 306, y + 2, _ORANGE)
    canvas.box(x, y + 2, x + 306, y + 8, _DEEP_ORANGE)
    _parcel(canvas, x + 72, y - 104, 72, 60, (206, 158, 106))
    canvas.box(x + 294, y - 22, x + 308, y - 6, (255, 244, 190), 4)
    canvas.box(x - 4, y + 18, x + 312, y + 28, _INK, 4)
    for wheel in (x + 58, x + 246):
        canvas.disc(wheel, y + 26, 30, _INK)
        canvas.disc(wheel, y + 26, 15, (196, 202, 210))
        canvas.disc(wheel, y + 26, 5, _INK)


def _parcel(canvas: _Canvas, left: float, top: float, width: float, height: float, colour: Colour) -> None:
    red, green, blue = colour
    shade = (red - 26, green - 26, blue - 24)
    tape = (min(red + 24, 255), min(green + 26, 255), min(blue + 30, 255))
    canvas.box(left, top, left + width, top + height, colour, 2)
    canvas.box(left, top + height * 0.84, left + width, top + height, shade, 2)
    canvas.box(left + width * 0.42, top, left + width * 0.58, top + height, tape)
    canvas.box(left + width * 0.66, top + height * 0.2, left + width * 0.92, top + height * 0.48, _CREAM, 1)


def _tree(canvas: _Canvas, x: float, ground: float, scale: float) -> None:
    canvas.box(x - 4 * scale, ground - 44 * scale, x + 4 * scale, ground, (110, 84, 66))
    for dx, dy, radius, colour in (
        (-16, -58, 24, (78, 134, 84)),
        (16, -60, 24, (88, 146, 92)),
        (0, -82, 27, (104, 162, 102)),
        (-8, -88, 12, (136, 186, 122)),
    ):
        canvas.disc(x + dx * scale, ground + dy * scale, radius * scale, colour)


def _cloud(canvas: _Canvas, x: float, y: float, size: float) -> None:
    for dx, dy, radius in ((-34, 6, 18), (-10, -6, 25), (20, -2, 22), (42, 8, 15)):
        canvas.disc(x + dx * size, y + dy * size, radius * size, (250, 252, 252))
    canvas.box(x - 44 * size, y + 4 * size, x + 50 * size, y + 23 * size, (250, 252, 252), 9 * size)


def _plant(canvas: _Canvas, x: float, ground: float) -> None:
    for dx, tip, colour in (
        (-34, -128, (86, 140, 92)),
        (34, -132, (98, 154, 100)),
        (0, -156, (116, 170, 110)),
    ):
        canvas.shape(
            [
                (x - 8, ground - 40),
                (x + dx - 12, ground + tip + 40),
                (x + dx, ground + tip),
                (x + dx + 12, ground + tip + 42),
                (x + 8, ground - 40),
            ],
            colour,
        )
    canvas.shape(
        [(x - 30, ground - 50), (x + 30, ground - 50), (x + 22, ground), (x - 22, ground)], (190, 104, 72)
    )
    canvas.box(x - 33, ground - 56, x + 33, ground - 44, (208, 122, 86), 2)
