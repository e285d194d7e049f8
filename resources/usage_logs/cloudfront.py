"""CloudFront standard logs: version 1 as TSV, version 2 as W3C, JSON lines or Parquet; fields by their names.

Belongs here: which fields count, and what a line of them says. Does not belong here: finding out that a file
is CloudFront's (`reading`), blocks and members (`opening`).

Values are percent-encoded by the log, and paths were so before that. `-` is no value. A line has an identity
by its request id, second, status and bytes: the same one in JSON and in TSV; a line without an id by all that
it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from functools import lru_cache
from operator import itemgetter
from typing import Any

from pipeline.domain.delivery import (
    CACHE,
    Agent,
    Kind,
    Meter,
    Provider,
    Traffic,
    agent_of,
    traffic_of,
)
from pipeline.domain.errors import LogRefused
from resources.usage_logs.record import (
    Event,
    Records,
    SetAside,
    Wrong,
    byte_count,
    clock_seconds,
    day_seconds,
    epoch_seconds,
    identity,
    status_code,
)

#: How often a path was percent-encoded on its way into the log: by the log, and in its URL.
ENCODED = 2
VERSIONS = frozenset({"1.0"})

FIELDS = (
    "date", "time", "timestamp_ms", "timestamp", "x_edge_location", "sc_bytes", "cs_method", "cs_uri_stem",
    "sc_status", "cs_user_agent", "x_edge_result_type", "x_edge_request_id", "cs_protocol",
    "x_edge_response_result_type", "x_edge_detailed_result_type", "sc_content_len",
)  # fmt: skip
REQUIRED = ("sc_bytes", "cs_uri_stem", "sc_status", "cs_method")
_EDGE = re.compile(r"[A-Z]{3}")

_day = lru_cache(maxsize=4096)(day_seconds)
_clock = lru_cache(maxsize=86_400)(clock_seconds)
_status = lru_cache(maxsize=1024)(status_code)
_agent = lru_cache(maxsize=65_536)(agent_of)


def field_name(written: str) -> str:
    """One spelling: `cs(User-Agent)` of TSV and JSON is `cs_user_agent` of Parquet."""
    return re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")


class Columns:
    """Where the fields that count stand in a line; refuses a header from which nothing can be counted."""

    def __init__(self, written: Sequence[str]) -> None:
        names = [field_name(name) for name in written]
        self.width = len(names)
        twice = sorted({name for name in names if name in FIELDS and names.count(name) > 1})
        if twice:
            raise LogRefused("ambiguous_fields", f"names {', '.join(twice)} more than once in its header")
        missing = [name for name in REQUIRED if name not in names]
        if not ({"date", "time"} <= set(names) or {"timestamp_ms", "timestamp"} & set(names)):
            missing.append("date and time")
        if missing:
            problem = f"has no {', '.join(missing)} in its header"
            raise LogRefused("missing_fields", problem, "add these fields to the distribution's logging")
        self._pick = itemgetter(*(names.index(name) if name in names else self.width for name in FIELDS))

    def values(self, parts: list[str]) -> tuple[str, ...]:
        """The values of FIELDS, `-` for one that the header does not name."""
        if len(parts) > self.width and any(parts[self.width :]):
            raise Wrong("too_many_fields")
        if len(parts) < self.width:
            raise Wrong("too_few_fields")
        picked: tuple[str, ...] = self._pick([*parts[: self.width], "-"])
        return picked


def read_text(lines: Iterable[tuple[int, bytes | None]]) -> Records:
    """Lines below a `#Fields:` header, which may come again and may change."""
    columns: Columns | None = None
    headless = 0
    for number, raw in lines:
        if raw is not None and raw.startswith(b"#"):
            columns = _directive(raw, columns)
            continue
        if columns is None:
            headless += 1
            yield SetAside(number, "before_any_header")
            continue
        yield _of_line(number, raw, columns)
    if headless and columns is None:
        raise LogRefused("no_fields", "has no #Fields header, so nothing says what its columns are")


def _of_line(number: int, raw: bytes | None, columns: Columns) -> Event | SetAside:
    try:
        line = text_of(raw)
        parts = line.split("\t") if "\t" in line else line.split(" ")
        return event(number, columns.values(parts), lambda: (line,))
    except Wrong as wrong:
        return SetAside(number, wrong.reason, wrong.field)


def text_of(raw: bytes | None) -> str:
    """A line as text; bytes that are no UTF-8 stay as they are, and do not hurt the numbers beside them."""
    if raw is None:
        raise Wrong("line_too_long")
    if b"\0" in raw:
        raise Wrong("control_character")
    return raw.decode("utf-8", "surrogateescape")


def _directive(raw: bytes, columns: Columns | None) -> Columns | None:
    name, _, value = raw.decode("utf-8", "replace").partition(":")
    if name.strip().lower() == "#version" and value.strip() not in VERSIONS:
        raise LogRefused("unknown_version", f"is of version {value.strip()[:20]!r}, which is not known")
    return Columns(value.split()) if name.strip().lower() == "#fields" else columns


def read_json(lines: Iterable[tuple[int, bytes | None]]) -> Records:
    for number, raw in lines:
        try:
            said = json_object(raw)
            yield event(number, _picked(said), lambda said=said: _canonical(said))  # type: ignore[misc]
        except Wrong as wrong:
            yield SetAside(number, wrong.reason, wrong.field)


def read_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Records:
    """Rows of Parquet, counted from 1."""
    Columns(names)
    fields = [field_name(name) for name in names]
    for number, row in enumerate(rows, 1):
        said = dict(zip(fields, row, strict=True))
        try:
            yield event(number, _picked(said), lambda said=said: _canonical(said))  # type: ignore[misc]
        except Wrong as wrong:
            yield SetAside(number, wrong.reason, wrong.field)


def json_object(raw: bytes | None) -> dict[str, Any]:
    """One line's object, its names in one spelling."""
    try:
        said = json.loads(text_of(raw), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Wrong("bad_json") from error
    if not isinstance(said, dict):
        raise Wrong("no_json_object")
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = {field_name(name): value for name, value in pairs}
    if len(said) != len(pairs):
        raise Wrong("ambiguous_fields")
    return said


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _picked(said: Mapping[str, Any]) -> tuple[str, ...]:
    missing = [name for name in REQUIRED if name not in said]
    if missing:
        raise Wrong("missing_field", missing[0])
    return tuple(as_text(said.get(name), name) for name in FIELDS)


def as_text(value: Any, field: str) -> str:
    """Strings as they are; whole numbers, dates and times as a string would say them."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | date | time | bytes):
        raise Wrong("not_a_value", field)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value.isoformat() if isinstance(value, date | time) else repr(value)


def _canonical(said: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name}={said[name]}" for name in sorted(said))


def event(number: int, values: tuple[str, ...], whole: Callable[[], Iterable[str]]) -> Event:
    (
        day, clock, milliseconds, stamp, edge, size, method, stem, status_text,
        user_agent, result, request_id, scheme, response, detailed, length,
    ) = values  # fmt: skip
    if day != "-":
        at = _day(day) + _clock(clock)
    else:
        at = epoch_seconds(milliseconds if milliseconds != "-" else stamp, "timestamp")
    sent = byte_count(size, "sc-bytes")
    status = _status(status_text, "sc-status")
    is_short = length.isdigit() and method == "GET" and status in (200, 206) and sent < int(length)
    kind = _kind(edge[:3], scheme, method, status, result, response, detailed, is_short, _agent(user_agent))
    named = f"{request_id}\0{at}\0{status}\0{sent}" if request_id not in ("-", "") else "\0".join(whole())
    mark = identity(named.encode("utf-8", "surrogateescape"))
    return Event(number, mark, at, stem, sent, kind)


@lru_cache(maxsize=65_536)
def _kind(
    edge: str, scheme: str, method: str, status: int | None, result: str, response: str, detailed: str,
    is_short: bool, agent: Agent,
) -> Kind:  # fmt: skip
    """A 200 that ended in an error, or sent less than it announced, was cut off by the viewer."""
    is_error = result == "Error" and status in (200, 206) and response != "Error"
    is_cut = is_error or is_short or detailed == "ClientCommError"
    traffic = traffic_of(method, status, is_cut=is_cut)
    found = CACHE.get(detailed.lower()) if detailed == "OriginShieldHit" else CACHE.get(result.lower())
    counted = (Meter.REQUESTS,) if found is None or traffic is Traffic.FAILED else (Meter.REQUESTS, found)
    return Kind(
        Provider.CLOUDFRONT,
        traffic,
        agent,
        edge if _EDGE.fullmatch(edge) else "",
        scheme if scheme in ("http", "https") else "",
        counted,
    )
