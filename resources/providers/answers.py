"""Answers of a provider as trustworthy plain values: hardened JSON, clean words, valid handles.

Belongs here: what every adapter that speaks JSON over HTTP needs to read an answer without believing
it. Does not belong here: any provider's words or fields (its own file).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn

from pipeline.domain.errors import RemoteUnavailable

MAX_DEPTH = 64
#: How `json.detect_encoding` knows it, for the beginning that nearly every answer has.
_IS_UTF8 = re.compile(rb"[{\[][^\0]")
_BREAKS = re.compile(r"[\s-]+")
_HANDLE = re.compile(r"[!-~]{1,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_json(body: bytes) -> Any:
    """The JSON value of a body; RemoteUnavailable `unreadable` for anything hostile or broken (B6).

    Refuses NaN and infinities, more than 64 levels, numbers that no float holds; of duplicate keys the
    last one counts.
    """
    try:
        encoding = "utf-8" if _IS_UTF8.match(body) else json.detect_encoding(body)
        value = _DECODER.decode(body.decode(encoding, "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise RemoteUnavailable("unreadable", "the answer is not JSON that can be read") from error
    may_be_deep = body.count(b"{") + body.count(b"[") > MAX_DEPTH
    if may_be_deep and _depth(value) > MAX_DEPTH:
        raise RemoteUnavailable("unreadable", f"the answer nests deeper than {MAX_DEPTH} levels")
    return value


def read_object(body: bytes) -> Mapping[str, Any]:
    """As `read_json`, and the value must be an object."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise RemoteUnavailable("unreadable", "the answer is JSON, and no object")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


#: Made once: `json.loads` would make a scanner of its own for each answer.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for item in level for child in _children(item)]
    return depth


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, (dict, list))]
    if isinstance(value, list):
        return [child for child in value if isinstance(child, (dict, list))]
    return []


def evidence(value: Any, limit: int = 200) -> str:
    """A foreign value as text that is safe to store and to show: printable, at most *limit* characters."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)[: limit * 2]
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(character if character.isprintable() else " " for character in cut)
    return cut.strip()


def word(value: Any) -> str:
    """A status word for looking up in a table: lower case, `_` for spaces and dashes (C46)."""
    said = evidence(value, 100).lower()
    return said if said.isalnum() else _BREAKS.sub("_", said)


def handle_of(value: Any) -> str | None:
    """A remote id that can be kept and put into a path, else None."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return text if isinstance(text, str) and _HANDLE.fullmatch(text) else None


def count_of(value: Any) -> int | None:
    """A whole number of zero or more that fits a database, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if is_count else None


def sha256_of(value: Any) -> str | None:
    text = value.lower() if isinstance(value, str) else ""
    return text if _SHA256.fullmatch(text) else None


def time_of(value: Any) -> datetime | None:
    """An RFC 3339 time as an aware one, else None."""
    try:
        parsed = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
