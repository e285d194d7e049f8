"""The fonts that captions are drawn with, and which characters they cover.

Belongs here: the font packages, fontconfig's one file, coverage by character. Does not belong here:
drawing (captions).

Only these fonts are seen, so a caption looks the same on every machine. The environment variable is set
by this program for itself and its children, never in a process of another room.
"""

from __future__ import annotations

import functools
import os
import unicodedata
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import escape

from fontTools.ttLib import TTFont

from resources.local_renderer.refusals import Refused

_PACKAGES = (
    "fontpkg_noto_sans",
    "fontpkg_noto_sans_arabic",
    "fontpkg_noto_sans_devanagari",
    "noto_cjk_sans_jp_bold",
)
#: In the order of preference: the first that has the character draws it.
FAMILIES = "Noto Sans, Noto Sans Arabic, Noto Sans Devanagari, Noto Sans CJK JP"
#: What the packages cover whole, as a person would name it; proven by a test with real sentences.
SCRIPTS = ("Latin", "Greek", "Cyrillic", "Arabic", "Devanagari", "Han", "Hiragana", "Katakana", "Hangul")

#: Marks without a shape of their own: joiners, directions, line breaks between phrases.
_INVISIBLE = frozenset("\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\u2066\u2067\u2068\u2069")


def use_shipped_fonts(folder: Path) -> None:
    """Write fontconfig's file and point this process and its children at it, before the first drawing."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"<dir>{escape(str(_folder(package)))}</dir>" for package in _PACKAGES)
    text = (
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f"{lines}<cachedir>{escape(str(folder / 'cache'))}</cachedir></fontconfig>"
    )
    conf = folder / "fonts.conf"
    conf.write_text(text, encoding="utf-8")
    os.environ["FONTCONFIG_FILE"] = str(conf)


def require_covered(caption: str) -> None:
    """Raises `Refused` that names each character no shipped font can draw."""
    missing = uncovered(caption)
    if not missing:
        return
    named = ", ".join(f"{c} (U+{ord(c):04X} {unicodedata.name(c, 'unnamed')})" for c in missing[:10])
    more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
    raise Refused(
        "unsupported_script",
        f"caption: no shipped font draws {named}{more}; covered scripts: {', '.join(SCRIPTS)}",
        characters=list(missing),
        scripts=list(SCRIPTS),
    )


def uncovered(text: str) -> tuple[str, ...]:
    """Characters that no font can draw, each once, sorted: refuse a caption rather than ship boxes."""
    composed = unicodedata.normalize("NFC", text)
    return tuple(sorted({c for c in composed if not _is_blank(c) and ord(c) not in _covered()}))


def _is_blank(character: str) -> bool:
    return character in _INVISIBLE or character in "\t\n" or unicodedata.category(character) == "Zs"


@functools.cache
def _covered() -> frozenset[int]:
    found: set[int] = set()
    for package in _PACKAGES:
        for path in sorted(_folder(package).rglob("*.[ot]tf")):
            with TTFont(path, lazy=True) as font:
                found |= set(font.getBestCmap())
    return frozenset(found)


def _folder(package: str) -> Path:
    return Path(str(files(package)))
