"""Facts of a picture, and the cleaned picture that is sent on. Runs inside the sandboxed child."""

from __future__ import annotations

import io
from collections.abc import Callable
from fractions import Fraction
from typing import Any, BinaryIO

import PIL
import pillow_heif
from PIL import Image, features

from pipeline.domain.errors import MediaRefused
from resources.media import pictures
from resources.media.headers import check_picture
from resources.media.limits import MAX_ANIMATION_PIXELS, MAX_FRAMES

#: Only these move; more pictures in a JPEG or HEIC are a burst, a depth map, a preview.
_MOVING = frozenset({"gif", "png", "webp", "avif"})
#: What browsers do with a delay of 0 and 10 ms, which nobody means.
_SHORTEST_DELAY_MS = 10
_DEFAULT_DELAY_MS = 100
#: Pillow's names of the libraries whose versions stand beside a verdict.
_LIBRARIES = {"jpeg": "libjpeg_turbo", "png": "zlib", "webp": "webp", "avif": "avif"}

DeclareWork = Callable[[int, int], None]  #: (pixels to decode, pixels held at once)


def image_facts(file: BinaryIO, container: str, size_bytes: int, declare: DeclareWork) -> dict[str, Any]:
    """`ImageFacts` without what the parent knows itself; every frame is decoded."""
    width, height = check_picture(file, container, size_bytes)
    declare(width * height, width * height)
    with pictures.opened(file, container) as image:
        number = pictures.orientation(image)
        mode, alpha, profile = image.mode, pictures.has_alpha(image), pictures.has_profile(image)
        stored = image.size
        display = pictures.turned_size(*stored, number)
        delays = _decode_all(image, container, declare)
    moving = len(delays) > 1
    duration = Fraction(sum(delays)) / 1000 if moving else None
    return {
        "kind": "animated" if moving else "image",
        "stored_width": stored[0],
        "stored_height": stored[1],
        "orientation": number,
        "display_width": display[0],
        "display_height": display[1],
        "colour_mode": mode,
        "has_alpha": alpha,
        "has_profile": profile,
        "frame_count": len(delays),
        "duration_seconds": str(duration) if duration is not None else None,
        "frame_rate": str(len(delays) / duration) if duration is not None else None,
        "read_by": _read_by(container),
    }


def upright_bytes(
    file: BinaryIO, container: str, size_bytes: int, order: dict[str, Any], declare: DeclareWork
) -> tuple[bytes, tuple[int, int]]:
    """The upright picture as `order["format"]`, at most `order["max_side"]` long -> bytes and size."""
    image, _ = first_frame(file, container, size_bytes, tuple(order["background"]), declare)
    longest = max(image.size)
    if order["max_side"] and longest > order["max_side"]:
        factor = Fraction(order["max_side"], longest)
        image = image.resize(
            (max(1, round(image.width * factor)), max(1, round(image.height * factor))),
            Image.Resampling.LANCZOS,
        )
    return encode(image, order["format"], order["quality"]), image.size


def first_frame(
    file: BinaryIO,
    container: str,
    size_bytes: int,
    background: tuple[int, int, int],
    declare: DeclareWork,
    enough_side: int | None = None,
) -> tuple[Image.Image, tuple[int, int]]:
    """The upright first frame, and its display size.

    With `enough_side` a JPEG may be decoded at a half to an eighth, with both sides still that long.
    """
    width, height = check_picture(file, container, size_bytes)
    declare(width * height, width * height)
    with pictures.opened(file, container) as image:
        display = pictures.turned_size(*image.size, pictures.orientation(image))
        if enough_side is not None and container == "jpeg":
            image.draft(None, (enough_side, enough_side))
        image.load()
        return pictures.upright(image, background), display


def encode(image: Image.Image, kind: str, quality: int) -> bytes:
    """Encoder settings are fixed here, so that equal pixels give equal bytes."""
    out = io.BytesIO()
    if kind == "webp":
        image.save(out, "WEBP", quality=quality, method=4)
    elif kind == "jpeg":
        sampling = 0 if quality >= 90 else 2
        image.save(out, "JPEG", quality=quality, subsampling=sampling, optimize=True)
    else:
        image.save(out, "PNG", compress_level=6)
    return out.getvalue()


def _decode_all(image: Image.Image, container: str, declare: DeclareWork) -> list[Fraction]:
    """Decode every frame -> delays in milliseconds, one a frame."""
    count = int(getattr(image, "n_frames", 1)) if container in _MOVING else 1
    pixels = image.width * image.height
    if count > MAX_FRAMES or (count > 1 and count * pixels > MAX_ANIMATION_PIXELS):
        raise MediaRefused(
            "too_many_pixels",
            f"{count} frames of {image.width}x{image.height}, the limit is {MAX_ANIMATION_PIXELS} pixels",
            "shorten the animation or scale it down",
        )
    declare(count * pixels, pixels)
    delays = []
    for number in range(count):
        if count > 1:
            image.seek(number)
        image.load()
        delays.append(_delay(image.info.get("duration")))
    return delays


def _delay(stated: object) -> Fraction:
    delay = Fraction(stated) if isinstance(stated, int | float) else Fraction(0)
    return delay if delay > _SHORTEST_DELAY_MS else Fraction(_DEFAULT_DELAY_MS)


def _read_by(container: str) -> str:
    if container == "heic":
        return f"pillow-heif {pillow_heif.__version__}, libheif {pillow_heif.libheif_version()}"
    version = features.version(_LIBRARIES[container]) if container in _LIBRARIES else None
    return f"pillow {PIL.__version__}" + (f", {container} {version}" if version else "")
