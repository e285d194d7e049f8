"""The derivative set of one file: one decode, one scale chain, full number of pictures (SPEC D1, D2).

Runs inside the sandboxed child and hands out bytes; names and folders are the parent's.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, BinaryIO

from PIL import Image

from resources.media import colour, images
from resources.media.best_frame import best_frame
from resources.media.sniff import IMAGE_DECODERS
from resources.media.videos import display_size, turn_of

DeclareWork = Callable[[int, int], None]
Plan = list[tuple[int, int]]

LONGEST_SIDE = 16_383  #: WebP has no more
_DRAFT_FACTOR = 2  #: a JPEG is decoded at least twice as large as needed, so that scaling stays ours


def derived(
    file: BinaryIO, container: str, size_bytes: int, order: dict[str, Any], declare: DeclareWork
) -> tuple[list[dict[str, Any]], list[bytes]]:
    """`order` is a TransformSet as JSON -> one row and one encoded picture for each derivative."""
    background = tuple(order["background"])
    widths = [derivative["width"] for derivative in order["derivatives"]]
    if container in IMAGE_DECODERS:
        enough = _DRAFT_FACTOR * max(widths)
        source, display = images.first_frame(file, container, size_bytes, background, declare, enough)
        plan = planned_sizes(display, widths)
        largest = source.resize(max(plan), Image.Resampling.LANCZOS, reducing_gap=3.0)
    else:
        largest, plan, display = _of_video(file, container, widths, background, declare)
    return _encoded(largest, plan, display, order["derivatives"])


def planned_sizes(display: tuple[int, int], widths: list[int]) -> Plan:
    """Size of each derivative: never beyond the display size, sides at least 1, ratio kept."""
    return [_planned(display, width) for width in widths]


def _planned(display: tuple[int, int], asked: int) -> tuple[int, int]:
    width = min(asked, display[0])
    height = Fraction(display[1] * width, display[0])
    if height > LONGEST_SIDE:
        width = max(1, int(LONGEST_SIDE * Fraction(display[0], display[1])))
        height = Fraction(LONGEST_SIDE)
    return min(width, LONGEST_SIDE), max(1, round(height))


def _of_video(
    file: BinaryIO, container: str, widths: list[int], background: Any, declare: DeclareWork
) -> tuple[Image.Image, Plan, tuple[int, int]]:
    frame, reader = best_frame(file.fileno(), container, declare)
    with reader:
        turned = turn_of(frame)
        display = display_size((frame.width, frame.height), reader.sample_aspect_ratio, turned[1])
        plan = planned_sizes(display, widths)
        return colour.picture(frame, max(plan), turned, background), plan, display


def _encoded(
    largest: Image.Image, plan: Plan, display: tuple[int, int], derivatives: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[bytes]]:
    rows, blobs = [], []
    for derivative, size in zip(derivatives, plan, strict=True):
        image = largest if size == largest.size else largest.resize(size, Image.Resampling.LANCZOS)
        blobs.append(images.encode(image, derivative["format"], derivative["quality"]))
        rows.append(
            {
                "name": derivative["name"],
                "width": size[0],
                "height": size[1],
                "at_source_width": derivative["width"] > display[0],
            }
        )
    return rows, blobs
