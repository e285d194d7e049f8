"""The hard cases and what must be found in each: `tests/data/media/expectations.tsv`.

`display_size` is WxH, numbers are value±tolerance, `pixels` are x,y=r,g,b~tolerance at shares of the sides.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from PIL import Image, ImageStat

DATA = Path(__file__).parent.parent / "data" / "media"


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    case: str
    kind: str
    verdict: str
    reason: str
    display_size: str
    duration_seconds: str
    frame_rate: str
    has_alpha: str
    pixels: str

    @property
    def path(self) -> Path:
        return DATA / self.file

    @property
    def accepted(self) -> bool:
        return self.verdict == "accepted"

    def __str__(self) -> str:
        return f"{self.case}-{self.file}"


def read_cases() -> list[Case]:
    with (DATA / "expectations.tsv").open(newline="") as file:
        return [Case(**row) for row in csv.DictReader(file, delimiter="\t")]


def within(expected: str, found: Fraction | float | None) -> bool:
    value, _, tolerance = expected.partition("±")
    return found is not None and abs(float(found) - float(value)) <= float(tolerance) + 1e-9


def wrong_pixels(expected: str, path: Path) -> list[str]:
    """What of `expected` does not hold in the picture; empty when all does."""
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    if expected == "brightness>40":
        return [] if ImageStat.Stat(image.convert("L")).mean[0] > 40 else ["too dark"]
    if expected == "0.5,0.5=not red":
        red, green, blue = _at(image, "0.5,0.5")
        return [] if max(green, blue) > red else ["red"]
    return [point for point in expected.split(";") if not _holds(point, image)]


def _holds(point: str, image: Image.Image) -> bool:
    place, _, wanted = point.partition("=")
    colour, _, tolerance = wanted.partition("~")
    far = int(tolerance or 45)
    return all(abs(int(a) - b) <= far for a, b in zip(colour.split(","), _at(image, place), strict=True))


def _at(image: Image.Image, place: str) -> tuple[int, int, int]:
    x, y = (float(share) for share in place.split(","))
    red, green, blue = image.getpixel((int(image.width * x), int(image.height * y)))  # type: ignore[misc]
    return red, green, blue
