"""Which log a file is, by its bytes, and its records.

Belongs here: telling the forms apart. Does not belong here: any of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.delivery import Provider
from pipeline.domain.errors import LogRefused
from resources.usage_logs import cloudfront, generic, parquet, s3_access
from resources.usage_logs.opening import PARQUET, first_bytes, lines
from resources.usage_logs.record import Records, Wrong

#: Rises when the same bytes would be read otherwise: what was refused is then looked at again.
READER_VERSION = "1"
#: So many lines are looked at for what tells a form: the first one may be damaged.
LOOKED_AT = 100

_CLOUDFRONT_FIELDS = frozenset({"sc_bytes", "cs_uri_stem", "x_edge_request_id", "x_edge_location"})
_KNOWN = "known are CloudFront standard logs, S3 server access logs, and CSV or JSON lines as described"

Lines = Iterator[tuple[int, bytes | None]]


@dataclass(frozen=True, slots=True)
class Log:
    """What a file is, and its records, which end with `LogRefused` when it turns out not to be whole."""

    provider: Provider
    encoded: int  #: how often a path was percent-encoded
    records: Records


def read_log(path: Path) -> Log | None:
    """None for a file that is whole and says nothing; `LogRefused` for one that cannot be read."""
    start = first_bytes(path)
    if not start:
        raise LogRefused("empty", "has no bytes at all: not even a log without requests is that")
    if start == PARQUET:
        names, rows = parquet.rows(path)
        return Log(Provider.CLOUDFRONT, cloudfront.ENCODED, cloudfront.read_rows(names, rows))
    every = lines(path)
    head = list(itertools.islice(every, LOOKED_AT))
    return _of(head, itertools.chain(head, every)) if head else None


def _of(head: list[tuple[int, bytes | None]], every: Lines) -> Log:
    known = [line for _, line in head if line is not None]
    first = known[0].lstrip() if known else b""
    if first.startswith(b"#") or any(line.lower().startswith(b"#fields:") for line in known):
        return Log(Provider.CLOUDFRONT, cloudfront.ENCODED, cloudfront.read_text(every))
    if any(map(s3_access.looks_like, known)):
        return Log(Provider.S3, s3_access.ENCODED, s3_access.read_lines(every))
    if first and generic.is_header(first):
        return Log(Provider.GENERIC, generic.ENCODED, generic.read_csv(every))
    if any(line.startswith(b"{") for line in known):
        return _of_json(known, every)
    if b"\t" in first and first[:4].isdigit():
        raise LogRefused("no_fields", "has no #Fields header, so nothing says what its columns are")
    raise LogRefused("unknown_format", "is no log that is known", _KNOWN)


def _of_json(known: list[bytes], every: Lines) -> Log:
    for line in known:
        try:
            names = cloudfront.json_object(line).keys()
        except Wrong:
            continue
        if _CLOUDFRONT_FIELDS & names:
            return Log(Provider.CLOUDFRONT, cloudfront.ENCODED, cloudfront.read_json(every))
        if set(generic.REQUIRED) & names:
            return Log(Provider.GENERIC, generic.ENCODED, generic.read_json(every))
    raise LogRefused("unknown_format", "holds JSON whose fields are not known", _KNOWN)
