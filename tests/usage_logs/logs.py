"""Lines as CloudFront and S3 write them, and files of them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.domain.delivery import path_rules
from pipeline.steps.account.meter_delivery import Book, LogReading, Looking, read_file

CASES = Path(__file__).parents[1] / "data" / "usage"
#: 2026-12-01T00:00:00Z
NOW = 1_796_083_200

FIELDS = [
    "date", "time", "x-edge-location", "sc-bytes", "c-ip", "cs-method", "cs(Host)", "cs-uri-stem",
    "sc-status", "cs(Referer)", "cs(User-Agent)", "cs-uri-query", "cs(Cookie)", "x-edge-result-type",
    "x-edge-request-id", "x-host-header", "cs-protocol", "cs-bytes", "time-taken", "x-forwarded-for",
    "ssl-protocol", "ssl-cipher", "x-edge-response-result-type", "cs-protocol-version",
]  # fmt: skip
OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"


def request(number: int = 1, **changes: str) -> dict[str, str]:
    """One request by its fields; `_` stands for `-` in a name."""
    said = dict.fromkeys(FIELDS, "-") | {
        "date": "2026-03-31", "time": f"23:{number // 60 % 60:02}:{number % 60:02}",
        "x-edge-location": "FRA56-P1",
        "sc-bytes": "1000", "c-ip": "198.51.100.7", "cs-method": "GET", "cs-uri-stem": "/acme/a.mp4",
        "sc-status": "200", "cs(User-Agent)": "Mozilla/5.0", "x-edge-result-type": "Hit",
        "x-edge-request-id": f"request-{number}", "cs-protocol": "https",
        "x-edge-response-result-type": "Hit",
    }  # fmt: skip
    return said | {name.replace("_", "-"): value for name, value in changes.items()}


def header(names: Sequence[str] = FIELDS, between: str = " ") -> bytes:
    return f"#Version: 1.0\n#Fields: {between.join(names)}\n".encode()


def line(names: Sequence[str] = FIELDS, number: int = 1, **changes: str) -> bytes:
    said = request(number, **changes)
    return "\t".join(said[name] for name in names).encode() + b"\n"


def cloudfront(count: int = 3) -> bytes:
    return header() + b"".join(line(number=number) for number in range(count))


def s3_line(
    uri: str = '"GET /acme/a.mp4 HTTP/1.1"', numbers: str = "200 - 1000 2000 12 10", *,
    operation: str = "REST.GET.OBJECT", key: str = "acme/a.mp4", request_id: str = "3E57427F3EXAMPLE",
    referer: str = '"-"', agent: str = '"curl/8"', version: str = "-",
    time: str = "06/Feb/2026:00:00:38 +0000",
    tail: str = " HostId= SigV4 ECDHE AuthHeader videos.s3.amazonaws.com TLSv1.2 - -",
) -> bytes:  # fmt: skip
    head = f"{OWNER} videos [{time}] 192.0.2.3 {OWNER} {request_id} {operation} {key}"
    return f"{head} {uri} {numbers} {referer} {agent} {version}{tail}\n".encode()


def read(folder: Path, content: bytes, name: str = "a.log", book: Book | None = None) -> LogReading:
    """What is said of a file of *content*; its lines always add up."""
    path = folder / name
    path.write_bytes(content)
    reading = read_file(book or Looking(None, NOW), path_rules(), path, name)
    assert reading.lines == reading.events + reading.duplicates + reading.ignored + reading.quarantined
    return reading


def told(reading: LogReading) -> tuple[Any, ...]:
    return (reading.verdict, reading.events, reading.duplicates, reading.quarantined, reading.bytes_sent)


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
