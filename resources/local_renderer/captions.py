"""A caption as a transparent picture of the frame's size, shaped by Pango.

Belongs here: fitting, wrapping, drawing. Does not belong here: which characters are covered (fonts), when
the caption shows (graph).

FFmpeg's `drawtext` loses dots in Arabic and breaks Devanagari, and Pillow shapes nothing without a system
library; Pango in libvips sets every covered script, mixed lines too.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import budoux
import pyvips

from resources.local_renderer.fonts import FAMILIES
from resources.local_renderer.refusals import Refused

#: The smallest text as a share of the frame's shorter side; a caption that needs less is refused.
SMALLEST = 0.042
_LARGEST = 0.085
#: (most lines, smallest size): rather smaller than broken into many lines, but only so far.
_PREFERENCES = ((2, 0.068), (3, 0.056), (4, SMALLEST))
_TALLEST = 0.36  #: share of the height that text may cover
_LINE = 1.75  #: room for one line, in sizes; the tallest script is Arabic
#: The places between two characters of Han, kana or Hangul: there alone a line would break inside a word.
_CJK = "[\u3001-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]"
_INSIDE_CJK = re.compile(f"(?<={_CJK})(?={_CJK})")
_RIGHT_TO_LEFT = frozenset({"ar", "ckb", "fa", "ps", "sd", "ug", "ur"})
#: Side, bottom margin as shares of width and height; tall frames leave room for the players' own controls.
_SIDE, _BOTTOM, _BOTTOM_TALL = 0.07, 0.075, 0.16


@dataclass(frozen=True, slots=True)
class Fit:
    """A caption that fits: text size in pixels, and the width in pixels at which its lines break."""

    size: int
    width: int


def fit(caption: str, locale: str, frame: tuple[int, int]) -> Fit:
    """The best size and lines of about equal length. Raises `Refused` when none is readable and fits."""
    short, room = min(frame), round(frame[0] * (1 - 2 * _SIDE))
    step = max(1, short // 180)
    for lines, least in _PREFERENCES:
        for size in range(_pixels(short, _LARGEST), _pixels(short, least) - 1, -step):
            mask = _text(caption, locale, size, room)
            if mask.width <= room and mask.height <= min(frame[1] * _TALLEST, lines * size * _LINE):
                return Fit(size, _narrowest(caption, locale, size, room, mask.height))
    raise Refused(
        "invalid_request",
        f"caption: too long for {frame[0]}x{frame[1]}, also at the smallest size"
        f" ({_pixels(short, SMALLEST)} pixels) on {lines} lines; shorten the text for {locale}",
    )


def draw(caption: str, locale: str, frame: tuple[int, int], path: Path) -> None:
    """Write the PNG: white text with a soft shadow on a dark veil that fades out upwards.

    Raises `Refused` as `fit` does, OSError when it cannot be written.
    """
    fitted = fit(caption, locale, frame)
    mask = _text(caption, locale, fitted.size, fitted.width)
    bottom = _BOTTOM_TALL if frame[1] > frame[0] else _BOTTOM
    top = frame[1] - round(frame[1] * bottom) - mask.height
    ink = mask.embed((frame[0] - mask.width) // 2, top, *frame)
    shadow = _shadow(ink, fitted.size)
    veil = _veil(frame, top - 1.6 * fitted.size)
    picture = _tinted(0, veil).composite2(_tinted(0, shadow), "over").composite2(_tinted(255, ink), "over")
    try:
        picture.cast("uchar").write_to_file(str(path), compression=1)
    except pyvips.Error as error:
        raise OSError(f"the caption cannot be drawn: {error}") from error


def _pixels(short: int, share: float) -> int:
    return max(round(short * share), 5)


def _text(caption: str, locale: str, size: int, width: int) -> Any:
    """Ink as a mask. The locale picks Han shapes and the direction, also when a foreign name comes first."""
    mark = "\u200f" if locale.partition("-")[0].lower() in _RIGHT_TO_LEFT else ""
    markup = f"<span lang={quoteattr(locale)}>{mark}{escape(_phrases(caption.strip(), locale))}</span>"
    return pyvips.Image.text(
        markup, font=f"{FAMILIES} Bold {size}", width=width, align="centre", dpi=72, wrap="word"
    )


def _narrowest(caption: str, locale: str, size: int, room: int, height: int) -> int:
    """The smallest width with the same number of lines: no last line of one lonely word."""
    low, high = size, room
    while high - low > size // 2:
        middle = (low + high) // 2
        mask = _text(caption, locale, size, middle)
        if mask.height <= height + size // 2 and mask.width <= middle:
            high = middle
        else:
            low = middle
    return high


def _phrases(text: str, locale: str) -> str:
    """Lines break between phrases only, where Unicode alone would break anywhere between two characters."""
    text = unicodedata.normalize("NFC", text)
    language, *subtags = locale.lower().split("-")
    if language == "ko":
        return _joined(text)
    if language == "zh":
        language = "zh-hant" if {"hant", "tw", "hk", "mo"} & set(subtags) else "zh-hans"
    if language not in _PARSERS:
        return text
    return "\u200b".join(map(_joined, _parser(language).parse(text)))


def _joined(phrase: str) -> str:
    return _INSIDE_CJK.sub("\u2060", phrase)


_PARSERS: Mapping[str, Callable[[], Any]] = {
    "ja": budoux.load_default_japanese_parser,
    "zh-hans": budoux.load_default_simplified_chinese_parser,
    "zh-hant": budoux.load_default_traditional_chinese_parser,
}


@functools.cache
def _parser(language: str) -> Any:
    return _PARSERS[language]()


def _shadow(ink: Any, size: int) -> Any:
    near, far = ink.gaussblur(max(size * 0.05, 0.6)), ink.gaussblur(max(size * 0.22, 1.0))
    both = (near * 0.9 + far * 0.9).cast("uchar")
    return both.embed(0, max(round(size * 0.04), 1), ink.width, ink.height)


def _veil(frame: tuple[int, int], top: float) -> Any:
    """Rises smoothly from nothing at `top` to about half black at the bottom."""
    rows = pyvips.Image.xyz(1, frame[1]).extract_band(1)
    t = ((rows - top) / max(frame[1] - top, 1)).clamp()
    return (t * t * (3 - 2 * t) * 140).cast("uchar").embed(0, 0, *frame, extend="copy")


def _tinted(level: int, alpha: Any) -> Any:
    return alpha.new_from_image([level] * 3).bandjoin(alpha).copy(interpretation="srgb")
