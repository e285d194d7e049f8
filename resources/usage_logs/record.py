"""What a line of a log says, whatever form it came in: an event, or why it is set aside.

Belongs here: the values that readers yield, and the reading of numbers and times that all of them share.
Does not belong here: any one format.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from pipeline.domain.delivery import FIRST_YEAR, MAX_BYTES, Kind

_EPOCH = date(1970, 1, 1)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?", re.ASCII)


class Deletion(NamedTuple):
    """The store's word that it removed bytes, or hid them behind a marker."""

    bucket: str
    key: str
    store_version: str | None
    operation: str


class Event(NamedTuple):
    line: int  #: from 1, as an editor counts
    identity: int  #: 64 bits of a hash of what makes this line this line
    at: int  #: seconds since the epoch
    path: str  #: as the log spells it: what `Layout` of its reader says how to decode
    size: int  #: bytes sent
    kind: Kind
    deletion: Deletion | None = None
    status: int | None = None  #: kept for deletions


class SetAside(NamedTuple):
    """A line that is not counted; what it says is not repeated, as it names people."""

    line: int
    reason: str
    field: str = ""


Records = Iterator[Event | SetAside]


class Wrong(Exception):
    """A line cannot be counted; becomes a `SetAside`."""

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(reason)
        self.reason, self.field = reason, field


def identity(*parts: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=8).digest(), "big")


def byte_count(text: str, field: str) -> int:
    """A whole number of bytes that one answer can have; `Wrong` for anything else."""
    if not (text.isascii() and text.isdigit()):
        raise Wrong("bytes_not_a_number", field)
    if len(text) > 20 or (count := int(text)) > MAX_BYTES:
        raise Wrong("bytes_beyond_any_object", field)
    return count


def status_code(text: str, field: str) -> int | None:
    """None for `-`; 0 for CloudFront's 000."""
    if text in ("", "-"):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 3) or 0 < (status := int(text)) < 100:
        raise Wrong("bad_status", field)
    return status


def day_seconds(text: str) -> int:
    """Seconds of the epoch at which the UTC day *text* begins."""
    found = _DATE.fullmatch(text)
    try:
        day = date(*map(int, found.groups())) if found else None
    except ValueError:
        day = None
    if day is None or day.year < FIRST_YEAR:
        raise Wrong("bad_date", "date")
    return (day - _EPOCH).days * 86_400


def clock_seconds(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise Wrong("bad_time", "time")
    hour, minute, second = map(int, found.groups())
    return hour * 3600 + minute * 60 + second


def instant_seconds(text: str, field: str) -> int:
    """Of an ISO 8601 time with its zone."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise Wrong("bad_time", field) from error
    if at.tzinfo is None:
        raise Wrong("time_without_zone", field)
    return within_years(at, field)


def epoch_seconds(text: str, field: str) -> int:
    """Of seconds, with or without a fraction, or of milliseconds since the epoch."""
    found = re.fullmatch(r"(\d{9,10})(?:\.\d+)?|(\d{12,13})", text, re.ASCII)
    if found is None:
        raise Wrong("bad_time", field)
    seconds = int(found[1]) if found[1] else int(found[2]) // 1000
    return within_years(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds), field)


def within_years(at: datetime, field: str) -> int:
    try:
        utc = at.astimezone(UTC)
    except OverflowError as error:
        raise Wrong("bad_date", field) from error
    if utc.year < FIRST_YEAR:
        raise Wrong("bad_date", field)
    return int((utc - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1))
