"""Delivery logs into facts against inflating the same file and splitting its lines (F3).

Ours: `read_file` of one gzip of a million CloudFront lines of 33 fields with 200 paths: the digest of the
file, every field that counts checked, identities, classes, attribution, bounds, duplicates found, sums; all
but the insertion.

Bare: Python's gzip, `split` at newlines and tabs, one sum over a column; nothing is checked or kept.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, interleaved, shown, timed
from pipeline.domain.delivery import path_rules
from pipeline.steps.account.meter_delivery import Looking, read_file

LINES, PATHS, ROUNDS = 1_000_000, 200, 3
#: 2026-12-01T00:00:00Z
NOW = 1_796_083_200
_HEADER = (
    "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status"
    " cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header"
    " cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type"
    " cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte"
    " x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end\n"
)


def benchmark() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.gz"
        wanted = _write(path)
        sides = interleaved(lambda: _ours(path, wanted), lambda: _bare(path, wanted), ROUNDS)
    ours, bare = sides.medians
    yield Figure("usage: a million log lines into facts, time", ours / bare, shown(ours), shown(bare))


def _write(path: Path) -> int:
    total = 0
    with gzip.open(path, "wt", compresslevel=6) as log:
        log.write(_HEADER)
        for number in range(LINES):
            total += number % 5000
            log.write(_line(number))
    return total


def _line(number: int) -> str:
    clock = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    return (
        f"2026-03-31\t{clock}\tFRA56-P{number % 9}\t{number % 5000}\t198.51.100.{number % 250}\tGET"
        f"\td1example.cloudfront.net\t/acme/renditions/r-{number % PATHS:032x}/1.mp4"
        f"\t{(200, 206)[number % 2]}\t-\tMozilla/5.0%20(X11;%20{number % 50})\t-\t-"
        f"\t{('Hit', 'Miss')[number % 3 == 0]}\t{number:044x}=="
        "\tmedia.example.net\thttps\t310\t0.042\t-\tTLSv1.3\tTLS_AES_128_GCM_SHA256\tHit\tHTTP/2.0\t-\t-\t50122"
        "\t0.020\tHit\tvideo/mp4\t-\t-\t-\n"
    )


def _ours(path: Path, wanted: int) -> float:
    with timed() as watch:
        reading = read_file(Looking(None, NOW), path_rules(), path, path.name)
    assert (reading.events, reading.bytes_sent) == (LINES, wanted), reading
    return watch.seconds


def _bare(path: Path, wanted: int) -> float:
    total = 0
    with timed() as watch, gzip.open(path, "rb") as log:
        for line in log:
            if not line.startswith(b"#"):
                total += int(line.split(b"\t")[3])
    assert total == wanted
    return watch.seconds
