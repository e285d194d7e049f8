"""One decoded picture: opened by a pinned decoder, turned upright, in sRGB, flat on the background.

Everything that looks at a source image (moderation, the provider, thumbnails) looks at this one, so that
all of them see the same pixels (SPEC I2). Runs inside the sandboxed child.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import pillow_heif
from PIL import (
    AvifImagePlugin,
    GifImagePlugin,
    Image,
    ImageCms,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

from pipeline.domain.errors import MediaRefused
from resources.media.headers import cut, damaged
from resources.media.limits import MAX_PROFILE_BYTES
from resources.media.sniff import IMAGE_DECODERS

#: Imported by name: otherwise each child would load all 43 readers when it first needs one of these.
_READERS = (AvifImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin)

Image.MAX_IMAGE_PIXELS = None  # ours is compared with the header, before Pillow sees the file
pillow_heif.register_heif_opener()

_ORIENTATION_TAG = 0x0112
_TURNS = {
    2: (Image.Transpose.FLIP_LEFT_RIGHT,),
    3: (Image.Transpose.ROTATE_180,),
    4: (Image.Transpose.FLIP_TOP_BOTTOM,),
    5: (Image.Transpose.TRANSPOSE,),
    6: (Image.Transpose.ROTATE_270,),
    7: (Image.Transpose.TRANSVERSE,),
    8: (Image.Transpose.ROTATE_90,),
}
_SRGB = ImageCms.createProfile("sRGB")
_PROFILE_SPACES = {"RGB ": "RGB", "GRAY": "L", "CMYK": "CMYK"}


@contextmanager
def opened(file: BinaryIO, container: str) -> Iterator[Image.Image]:
    """The picture, header read only. Every complaint of a decoder, also later ones, becomes MediaRefused."""
    try:
        file.seek(0)
        with Image.open(file, formats=(IMAGE_DECODERS[container],)) as image:
            yield image
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError) as complaint:
        if "truncated" in str(complaint).lower():
            raise cut(container) from complaint
        raise damaged(f"the {container} file cannot be decoded: {str(complaint)[:160]}") from complaint


def orientation(image: Image.Image) -> int:
    """EXIF number still to be applied; 1 for none and for values that do not exist.

    HEIC and AVIF are turned by their own `irot` and `imir` alone, where EXIF is only informative: libheif
    turned the pixels already and says 1, Pillow says for AVIF what the boxes say.
    """
    try:
        number = image.getexif().get(_ORIENTATION_TAG, 1)
    except (SyntaxError, ValueError, KeyError, TypeError):  # broken EXIF is no broken picture
        return 1
    return number if number in _TURNS else 1


def has_alpha(image: Image.Image) -> bool:
    return "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "RGBa", "La")


def has_profile(image: Image.Image) -> bool:
    return 0 < len(_profile_bytes(image)) <= MAX_PROFILE_BYTES


def upright(image: Image.Image, background: tuple[int, int, int]) -> Image.Image:
    """RGB, 8 bit, sRGB, without transparency, turned as it is to be looked at, carrying no metadata."""
    flat = _flattened(_to_srgb(_eight_bit(image)), background)
    turned = turn(flat, orientation(image))
    turned.info = {}
    return turned


def turn(image: Image.Image, number: int) -> Image.Image:
    for step in _TURNS.get(number, ()):
        image = image.transpose(step)
    return image


def turned_size(width: int, height: int, number: int) -> tuple[int, int]:
    return (height, width) if number >= 5 else (width, height)


def _eight_bit(image: Image.Image) -> Image.Image:
    """Sixteen bits are scaled: Pillow's own conversion clips, and makes a grey ramp all white (measured)."""
    if image.mode.startswith("I"):
        scaled = (np.asarray(image).astype(np.uint32).clip(0, 65535) >> 8).astype(np.uint8)
        plain = Image.fromarray(scaled)
        plain.info = dict(image.info)
        return plain
    if has_alpha(image):
        return image if image.mode in ("RGBA", "LA") else image.convert("RGBA")
    return image.convert("RGB") if image.mode not in ("RGB", "L", "CMYK") else image


def _to_srgb(image: Image.Image) -> Image.Image:
    """Through the profile when there is a usable one for these channels, else as if it were sRGB."""
    alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else None
    colours = image.convert({"RGBA": "RGB", "LA": "L"}.get(image.mode, image.mode))
    converted = _through_profile(colours, _profile_bytes(image))
    if alpha is not None:
        converted.putalpha(alpha)
    return converted


def _through_profile(colours: Image.Image, profile_bytes: bytes) -> Image.Image:
    if 0 < len(profile_bytes) <= MAX_PROFILE_BYTES:
        try:
            profile = ImageCms.ImageCmsProfile(io.BytesIO(profile_bytes))
            if _PROFILE_SPACES.get(profile.profile.xcolor_space) == colours.mode:
                return _transformed(colours, profile)
        except (ImageCms.PyCMSError, OSError):  # a broken profile is no broken picture
            pass
    return colours.convert("RGB")


def _transformed(colours: Image.Image, profile: Any) -> Image.Image:
    converted = ImageCms.profileToProfile(colours, profile, _SRGB, outputMode="RGB")
    if converted is None:
        raise MediaRefused("damaged", "the colour profile could not be applied")
    return converted


def _flattened(image: Image.Image, background: tuple[int, int, int]) -> Image.Image:
    if image.mode != "RGBA":
        return image.convert("RGB")
    ground = Image.new("RGB", image.size, background)
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _profile_bytes(image: Image.Image) -> bytes:
    found = image.info.get("icc_profile")
    return found if isinstance(found, bytes) else b""
