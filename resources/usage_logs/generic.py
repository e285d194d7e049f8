"""Any other log, brought into one shape: CSV with a header, or JSON lines (docs/delivery-logs.md).

Belongs here: that shape. Does not belong here: any maker's own format.

`time` (ISO 8601 with its zone), `path` (of the URL, percent-encoded) and `bytes` must be there; `status`,
`method`, `request_id`, `region`, `scheme`, `cache` and `user_agent` may. Other fields are not looked at.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pipeline.domain.delivery import CACHE, Agent, Kind, Meter, Provider, agent_of, traffic_of
from pipeline.domain.errors import LogRefused
from resources.usage_logs.cloudfront import as_text, field_name, json_object, text_of
from resources.usage_logs.record import (
    Event,
    Records,
    SetAside,
    Wrong,
    byte_count,
    identity,
    instant_seconds,
    status_code,
)

#: A path is as it was in its URL.
ENCODED = 1
REQUIRED = ("time", "path", "bytes")
FIELDS = (*REQUIRED, "status", "method", "request_id", "region", "scheme", "cache", "user_agent")


def is_header(line: bytes) -> bool:
    try:
        return set(REQUIRED) <= set(_cells(line.decode()))
    except (UnicodeDecodeError, Wrong):
        return False


def read_csv(lines: Iterable[tuple[int, bytes | None]]) -> Records:
    """A record a line: a value that holds a line's end is none of this shape."""
    header: list[str] | None = None
    for number, raw in lines:
        if header is None:
            header = _header(raw)
            continue
        try:
            cells = next(csv.reader([text_of(raw)], strict=True))
            yield event(number, _by_name(header, cells))
        except csv.Error:
            yield SetAside(number, "bad_csv")
        except Wrong as wrong:
            yield SetAside(number, wrong.reason, wrong.field)


def _header(raw: bytes | None) -> list[str]:
    names = _cells((raw or b"").decode("utf-8", "replace"))
    twice = sorted({name for name in names if name in FIELDS and names.count(name) > 1})
    if twice:
        raise LogRefused("ambiguous_fields", f"names {', '.join(twice)} more than once in its header")
    return names


def _cells(line: str) -> list[str]:
    try:
        return [field_name(name) for name in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise Wrong("bad_csv") from error


def _by_name(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    if len(cells) != len(header):
        raise Wrong("too_few_fields" if len(cells) < len(header) else "too_many_fields")
    return dict(zip(header, cells, strict=True))


def read_json(lines: Iterable[tuple[int, bytes | None]]) -> Records:
    for number, raw in lines:
        try:
            said = json_object(raw)
            yield event(number, {name: as_text(said[name], name) for name in FIELDS if name in said})
        except Wrong as wrong:
            yield SetAside(number, wrong.reason, wrong.field)


def event(number: int, said: Mapping[str, str]) -> Event:
    for name in REQUIRED:
        if said.get(name, "") in ("", "-"):
            raise Wrong("missing_field", name)
    at = instant_seconds(said["time"], "time")
    sent = byte_count(said["bytes"], "bytes")
    status = status_code(said.get("status", "-"), "status")
    kind = _kind(
        said.get("method", "GET").upper(), status, said.get("region", ""), said.get("scheme", "").lower(),
        said.get("cache", "").lower().replace("_", ""), agent_of(said.get("user_agent", "-")),
    )  # fmt: skip
    request = said.get("request_id", "-")
    named = (
        [f"{name}={said[name]}" for name in sorted(said) if name in FIELDS]
        if request in ("", "-")
        else [request, str(at), str(status), str(sent)]
    )
    mark = identity(*(part.encode("utf-8", "surrogateescape") for part in named))
    return Event(number, mark, at, said["path"], sent, kind)


@lru_cache(maxsize=16_384)
def _kind(method: str, status: int | None, region: str, scheme: str, cache: str, agent: Agent) -> Kind:
    found = CACHE.get(cache)
    counted = (Meter.REQUESTS,) if found is None else (Meter.REQUESTS, found)
    known = scheme if scheme in ("http", "https") else ""
    place = "" if region == "-" else region[:40]
    return Kind(Provider.GENERIC, traffic_of(method, status), agent, place, known, counted)
