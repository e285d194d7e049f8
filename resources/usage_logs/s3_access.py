"""S3 server access logs: lines in which whoever asks may write what he likes between two quotes.

Belongs here: one line to one event, without believing what was written to deceive. Does not belong here:
whether the bytes fit an object of ours (`pipeline.steps.account.meter_delivery`).

S3 does not escape quotes in a request's URI, Referer and User-Agent, so a request for what is not there can
print a block of numbers of its own. A line with the six quotes that S3 writes has one reading. Any other is
searched for every block that could be the true one: with more than one it is set aside. Fields are appended
without notice: what follows the version id is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from pipeline.domain.delivery import Agent, Kind, Meter, Provider, Traffic, agent_of, traffic_of
from resources.usage_logs.cloudfront import text_of
from resources.usage_logs.record import (
    Deletion,
    Event,
    Records,
    SetAside,
    Wrong,
    byte_count,
    identity,
    status_code,
    within_years,
)

#: How a key is written: percent-encoded as in a URL, and once more.
ENCODED = 2

_HEAD = re.compile(
    r"(?P<owner>\S+) (?P<bucket>\S+) \[(?P<time>[^\]\"]*)\] (?P<ip>\S+) (?P<requester>\S+) (?P<request>\S+)"
    r" (?P<operation>[A-Za-z0-9_.]+) (?P<key>[^\s\"]+) "
)
_BLOCK = r"(\d{3}|-) ([^\s\"]+) (\S+) (\S+) (\S+) (\S+)"
_STRICT = re.compile(
    rf'(?:"[^"]*"|-) {_BLOCK} (?:"[^"]*"|-) (?:"(?P<agent>[^"]*)"|-) (?P<version>[^\s"]+)(?: [^"]*)?'
)
#: What could be the numbers of a line, wherever they stand: looked for at every quote.
_CANDIDATE = re.compile(r'(?=" (\d{3}|-) ([^\s"]+) (\d+|-) (\d+|-) (\d+|-) (\d+|-) ("|- ))')
_TAIL = re.compile(r'"(?P<agent>[^"]*)" (?P<version>[^\s"]+)(?: [^"]*)?$')
_LOOKS_LIKE = re.compile(rb"\S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] ")

_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_GETS = frozenset({"REST.GET.OBJECT", "WEBSITE.GET.OBJECT", "SOAP.GetObject", "SOAP.GetObjectExtended"})
_HEADS = frozenset({"REST.HEAD.OBJECT", "WEBSITE.HEAD.OBJECT"})
_WRITES = ("PUT.", "POST.", "COPY.", "PUTOBJECT", "CREATE", "LIST")
_LISTS = frozenset({"GET.BUCKET", "GET.BUCKETVERSIONS", "GET.SERVICE", "GET.UPLOADS", "GET.UPLOAD"})
_DELETIONS = frozenset(
    {
        "S3.EXPIRE.OBJECT", "S3.CREATE.DELETEMARKER", "S3.DELETE.UPLOAD", "REST.DELETE.OBJECT",
        "BATCH.DELETE.OBJECT", "SOAP.DeleteObject",
    }
)  # fmt: skip


class _Numbers(NamedTuple):
    status: str
    error: str
    sent: str
    size: str
    total: str
    turn_around: str


def looks_like(line: bytes) -> bool:
    return _LOOKS_LIKE.match(line) is not None


def read_lines(lines: Iterable[tuple[int, bytes | None]]) -> Records:
    for number, raw in lines:
        try:
            yield event(number, text_of(raw))
        except Wrong as wrong:
            yield SetAside(number, wrong.reason, wrong.field)


def event(number: int, line: str) -> Event:
    head = _HEAD.match(line)
    if head is None:
        raise Wrong("no_s3_line")
    numbers, user_agent, version = _rest(line[head.end() :])
    operation, key = head["operation"], head["key"]
    at = _instant(head["time"])
    status = status_code(numbers.status, "status")
    sent = 0 if numbers.sent == "-" else byte_count(numbers.sent, "bytes sent")
    size = None if numbers.size == "-" else byte_count(numbers.size, "object size")
    if operation in _GETS and status in (200, 206) and size is not None and sent > size:
        raise Wrong("more_bytes_than_the_object_has", "bytes sent")
    for name, text in (("total time", numbers.total), ("turn-around time", numbers.turn_around)):
        if text != "-" and not (text.isascii() and text.isdigit()):
            raise Wrong("bad_time", name)
    named = (head["request"], operation, head["bucket"], key, version)
    mark = identity(*(part.encode("utf-8", "surrogateescape") for part in ((line,), named)[named[0] != "-"]))
    deletion = None
    if operation in _DELETIONS and (status is None or status < 300):
        deletion = Deletion(head["bucket"], key, None if version == "-" else version, operation)
    path = "-" if key == "-" else f"/{head['bucket']}/{key}"
    return Event(
        number, mark, at, path, sent, _kind(operation, status, agent_of(user_agent)), deletion, status
    )


def _rest(rest: str) -> tuple[_Numbers, str, str]:
    """Numbers, user agent and version id of what follows the key; `Wrong` unless there is one reading."""
    strict = _STRICT.fullmatch(rest)
    if strict is not None:
        return _Numbers(*strict.groups()[:6]), strict["agent"] or "-", strict["version"]
    found = [one.groups() for one in _CANDIDATE.finditer(rest)]
    # Without a status it is the end of a line that S3 itself wrote, unless a Referer follows.
    candidates = [_Numbers(*one[:6]) for one in found if one[0] != "-" or one[6] == '"']
    if len(candidates) > 1:
        raise Wrong("several_readings")
    if not candidates:
        raise Wrong("no_numbers")
    tail = _TAIL.search(rest)
    if tail is None:
        raise Wrong("too_few_fields")
    return candidates[0], tail["agent"], tail["version"]


@lru_cache(maxsize=4096)
def _instant(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        raise Wrong("bad_time", "time")
    day, _, year, hour, minute, second, sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    try:
        at = datetime(
            int(year), _MONTHS.index(found[2]) + 1, int(day), int(hour), int(minute), int(second),
            tzinfo=timezone(offset) if offset else UTC,
        )  # fmt: skip
    except ValueError as error:
        raise Wrong("bad_time", "time") from error
    return within_years(at, "time")


@lru_cache(maxsize=16_384)
def _kind(operation: str, status: int | None, agent: Agent) -> Kind:
    method, counted = "OTHER", []
    if operation in _GETS or operation in _HEADS:
        method = "HEAD" if operation in _HEADS else "GET"
        counted.append(Meter.REQUESTS)
    if not operation.startswith("S3.") and ".DELETE." not in operation:
        verb = operation.partition(".")[2].upper()
        is_dear = verb.startswith(_WRITES) or verb in _LISTS
        counted.append(Meter.STORE_WRITES if is_dear else Meter.STORE_READS)
    traffic = traffic_of(method, status) if method != "OTHER" else Traffic.OTHER
    return Kind(Provider.S3, traffic, agent, counted=tuple(counted))
