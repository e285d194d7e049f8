"""F3: any other log in one shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.usage_logs.logs import read, told

HEADER = b"time,path,bytes,status,request_id,user_agent\n"
ROW = b'2026-03-31T23:59:59Z,/acme/a.mp4,1000,200,r1,"Mozilla, ""5"""\n'


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    row = {"time": "2026-04-01T01:59:59+02:00", "path": "/acme/a.mp4", "bytes": 1000, "status": "200"}
    lines = json.dumps(row | {"request_id": "r1", "cache": "hit", "more": {"a": []}}).encode()

    assert told(read(tmp_path, HEADER + ROW + ROW)) == ("read", 1, 1, 0, 1000)
    assert told(read(tmp_path, lines)) == ("read", 1, 0, 0, 1000)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"2026-03-31T23:59:59,/acme/a.mp4,1,200,r2,-\n", "time_without_zone"),
        (b"yesterday,/acme/a.mp4,1,200,r2,-\n", "bad_time"),
        (b"2026-03-31T23:59:59Z,/acme/a.mp4,-1,200,r2,-\n", "bytes_not_a_number"),
        (b"2026-03-31T23:59:59Z,,1,200,r2,-\n", "missing_field"),
        (b"2026-03-31T23:59:59Z,/acme/a.mp4,1,200,r2\n", "too_few_fields"),
        (b"2026-03-31T23:59:59Z,/acme/a.mp4,1,200,r2,-,-\n", "too_many_fields"),
        (b'2026-03-31T23:59:59Z,/acme/a.mp4,1,200,r2,"open\n', "bad_csv"),
    ],
)
def test_a_row_that_says_nothing_clear_is_set_aside(tmp_path: Path, row: bytes, reason: str) -> None:
    reading = read(tmp_path, HEADER + ROW + row)

    assert told(reading) == ("read", 1, 0, 1, 1000)
    assert reading.reason == f"{reason} 1"


def test_a_column_that_is_named_twice_refuses_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, b"time,path,bytes,bytes\n").reason.startswith("ambiguous_fields: ")
