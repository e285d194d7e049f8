"""What a client may ask for: one job, parsed and checked as a whole before anything is kept.

Belongs here: the fields of a job, their limits, the one hash that says "the same body". Does not belong
here: whether the caption fits or its script is covered (captions, fonts), or whether the images are there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from resources.local_renderer.refusals import Refused

MODEL = "kenburns-1"
MAX_IMAGES = 20
MAX_SECONDS = 120
MAX_SIDE = 1920
MIN_SIDE = 64
MAX_CAPTION = 500

_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_PRINTABLE = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One video as it was asked for; everything in it shapes the picture, but the reference."""

    reference: str
    model: str
    fps: int
    zoom: float  #: how far the camera goes in, 1.0 is not at all
    images: tuple[str, ...]  #: SHA-256 of the stills, in order
    caption: str
    locale: str
    width: int
    height: int
    duration_seconds: int

    @property
    def frame_count(self) -> int:
        return self.fps * self.duration_seconds


def parse_key(raw: str | None) -> str:
    if raw is None or not _PRINTABLE.fullmatch(raw):
        raise Refused(
            "invalid_request", "the header Idempotency-Key must hold 1 to 200 printable ASCII characters"
        )
    return raw


def parse_wanted(body: bytes) -> Wanted:
    """Raises `Refused` that names every wrong field at once."""
    raw = _json_object(body)
    faults = [f"{name}: missing" for name in _FIELDS if name not in raw]
    faults += [f"{name}: unknown field; allowed: {', '.join(_FIELDS)}" for name in raw if name not in _FIELDS]
    faults += _faults(raw, _FIELDS)
    settings = raw.get("settings")
    if isinstance(settings, dict):
        allowed = ", ".join(_SETTINGS)
        faults += [
            f"settings.{s}: unknown setting; allowed: {allowed}" for s in settings if s not in _SETTINGS
        ]
        faults += [f"settings.{fault}" for fault in _faults(settings, _SETTINGS)]
    if faults:
        raise Refused("invalid_request", "; ".join(faults))
    if raw["model"] != MODEL:
        raise Refused("unknown_model", f"model {raw['model']!r} is not offered here; offered: {MODEL}")
    return from_json(raw)


def from_json(raw: Mapping[str, Any]) -> Wanted:
    """A body that was checked, here or before it was stored."""
    settings = raw["settings"]
    return Wanted(
        reference=raw["reference"],
        model=raw["model"],
        fps=settings.get("fps", 25),
        zoom=float(settings.get("zoom", 1.15)),
        images=tuple(raw["images"]),
        caption=raw["caption"],
        locale=raw["locale"],
        width=raw["width"],
        height=raw["height"],
        duration_seconds=raw["duration_seconds"],
    )


def as_json(wanted: Wanted) -> dict[str, Any]:
    return {
        "reference": wanted.reference,
        "model": wanted.model,
        "settings": {"fps": wanted.fps, "zoom": wanted.zoom},
        "images": list(wanted.images),
        "caption": wanted.caption,
        "locale": wanted.locale,
        "width": wanted.width,
        "height": wanted.height,
        "duration_seconds": wanted.duration_seconds,
    }


def fingerprint(wanted: Wanted) -> str:
    """Equal for bodies that mean the same: spacing, field order and spelt-out defaults do not count."""
    text = json.dumps(as_json(wanted), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(body)
    except ValueError as error:
        raise Refused("invalid_request", f"the body is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise Refused("invalid_request", "the body must be a JSON object")
    return raw


def _faults(raw: Mapping[str, Any], table: Mapping[str, tuple[Callable[[Any], bool], str]]) -> list[str]:
    return [
        f"{name}: must be {form} (got {_shown(raw[name])})"
        for name, (is_right, form) in table.items()
        if name in raw and not is_right(raw[name])
    ]


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]


def _is_int(low: int, high: int) -> Callable[[Any], bool]:
    return lambda v: type(v) is int and low <= v <= high


def _is_side(value: Any) -> bool:
    return _is_int(MIN_SIDE, MAX_SIDE)(value) and value % 2 == 0


def _is_images(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= MAX_IMAGES
        and all(isinstance(v, str) and _SHA256.fullmatch(v) is not None for v in value)
    )


def _is_caption(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CAPTION


#: field -> (is it right, what is right)
_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "reference": (
        lambda v: isinstance(v, str) and _PRINTABLE.fullmatch(v) is not None,
        "1 to 200 printable ASCII characters without spaces",
    ),
    "model": (lambda v: isinstance(v, str), "text"),
    "settings": (lambda v: isinstance(v, dict), "an object"),
    "images": (_is_images, f"a list of 1 to {MAX_IMAGES} lower-case SHA-256 of uploaded assets"),
    "caption": (_is_caption, f"text of at most {MAX_CAPTION} characters"),
    "locale": (
        lambda v: isinstance(v, str) and _LOCALE.fullmatch(v) is not None,
        "a BCP 47 tag such as en-GB",
    ),
    "width": (_is_side, f"an even integer from {MIN_SIDE} to {MAX_SIDE}"),
    "height": (_is_side, f"an even integer from {MIN_SIDE} to {MAX_SIDE}"),
    "duration_seconds": (_is_int(1, MAX_SECONDS), f"an integer from 1 to {MAX_SECONDS}"),
}

_SETTINGS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "fps": (_is_int(1, 60), "an integer from 1 to 60"),
    "zoom": (lambda v: type(v) in (int, float) and 1.0 <= v <= 1.5, "a number from 1.0 to 1.5"),
}
