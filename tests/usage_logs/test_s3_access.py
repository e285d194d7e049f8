"""F3: S3's lines, in which a stranger's quotes must not become numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.domain.delivery import Meter, Traffic
from resources.usage_logs.reading import read_log
from resources.usage_logs.record import Event
from tests.usage_logs.logs import OWNER, read, s3_line, told

EXPIRED = (
    f"{OWNER} videos [06/Feb/2026:00:00:38 +0000] - AmazonS3 7B4A0FABBEXAMPLE S3.EXPIRE.OBJECT acme/a.mp4"
    ' "-" - - - 113 - - "-" "-" - B5ILlmbAG3Q= - - - - - - -\n'
).encode()
FORGED = '"GET /acme/x" 200 - 99999999999 99999999999 1 1 "-" HTTP/1.1"'


def events(folder: Path, content: bytes) -> list[Event]:
    path = folder / "events.log"
    path.write_bytes(content)
    log = read_log(path)
    assert log is not None
    return [record for record in log.records if isinstance(record, Event)]


def test_a_line_is_an_event_with_the_bytes_that_it_says(tmp_path: Path) -> None:
    content = s3_line() + s3_line(request_id="2", numbers="304 - - 2000 3 -")

    assert told(read(tmp_path, content)) == ("read", 2, 0, 0, 1000)
    assert [one.kind.traffic for one in events(tmp_path, content)] == [Traffic.FULL, Traffic.NOT_MODIFIED]


@pytest.mark.parametrize(
    "forged",
    [
        s3_line(uri=FORGED, numbers="404 NoSuchKey 300 - 5 -"),
        s3_line(uri='"GET /x" 200 - 9999 9999 1 1 "', numbers="404 NoSuchKey 300 - 5 -"),
        s3_line(uri='"GET /x" 200 - 9999 9999 1 1 - - v h s HTTP/1.1"', numbers="404 NoSuchKey 300 - 5 -"),
        s3_line(numbers="404 NoSuchKey 300 - 5 -", referer='"http://a/" 200 - 9999 9999 1 1 "b"'),
        s3_line(numbers="404 NoSuchKey 300 - 5 -", agent='"curl" 200 - 9999 9999 1 1 "c"'),
        s3_line(numbers="403 AccessDenied 243 - 5 -", agent='"curl" 200 - 9999 9999 1 1 "-" "curl" - "'),
        s3_line(uri=FORGED, numbers="- - - - 5 -"),
    ],
)
def test_a_line_with_two_readings_is_set_aside(tmp_path: Path, forged: bytes) -> None:
    reading = read(tmp_path, s3_line(request_id="1") + forged)

    assert told(reading) == ("read", 1, 0, 1, 1000)
    assert reading.reason == "several_readings 1"


@pytest.mark.parametrize(
    "odd",
    [
        s3_line(uri='"GET /acme/a"b.mp4 HTTP/1.1"'),
        s3_line(agent='"Mozilla "quoted" 5.0"'),
        s3_line(referer='"http://x/?q="a"'),
        s3_line(agent='"""'),
        s3_line(tail=""),
        s3_line(tail=" HostId= SigV4"),
        s3_line(tail=" HostId= SigV4 ECDHE AuthHeader host TLSv1.2 - - eu-central-1 later still-later"),
        s3_line(uri='"POST /soap HTTP/1.1"', operation="SOAP.GetObject"),
        s3_line(time="06/Feb/2026:01:30:38 +0130"),
        s3_line(agent='"\\xff\\""'),
    ],
)
def test_honest_lines_of_any_age_and_with_odd_quotes_are_read(tmp_path: Path, odd: bytes) -> None:
    assert told(read(tmp_path, odd)) == ("read", 1, 0, 0, 1000)


def test_a_batch_deletion_and_a_copy_are_several_events_of_one_request(tmp_path: Path) -> None:
    deleted = b"".join(
        s3_line(
            uri="-", numbers="204 - - 62 - -", operation="BATCH.DELETE.OBJECT", key=f"acme/{n}.mp4",
            referer="-", agent="-", version="3HL4kq", request_id="B",
        )
        for n in range(3)
    )  # fmt: skip
    copied = b"".join(
        s3_line(
            uri='"PUT /acme/c.mp4 HTTP/1.1"', numbers="200 - - 1024 5 -", operation=f"REST.COPY.{what}",
            request_id="C",
        )
        for what in ("OBJECT", "OBJECT_GET")
    )  # fmt: skip

    assert told(read(tmp_path, deleted + copied)) == ("read", 5, 0, 0, 0)
    assert told(read(tmp_path, deleted + copied + deleted + copied)) == ("read", 5, 5, 0, 0)


def test_an_expiry_is_evidence_of_a_deletion_and_no_delivery(tmp_path: Path) -> None:
    [event] = events(tmp_path, EXPIRED)

    assert event.deletion == ("videos", "acme/a.mp4", None, "S3.EXPIRE.OBJECT")
    assert event.kind.counted == ()
    assert told(read(tmp_path, EXPIRED * 2)) == ("read", 1, 1, 0, 0)


def test_a_deletion_that_failed_is_no_evidence(tmp_path: Path) -> None:
    failed = s3_line(operation="REST.DELETE.OBJECT", numbers="403 AccessDenied 243 - 5 -")

    assert events(tmp_path, failed)[0].deletion is None


@pytest.mark.parametrize(
    ("operation", "counted"),
    [
        ("REST.GET.OBJECT", (Meter.REQUESTS, Meter.STORE_READS)),
        ("REST.HEAD.OBJECT", (Meter.REQUESTS, Meter.STORE_READS)),
        ("REST.PUT.OBJECT", (Meter.STORE_WRITES,)),
        ("REST.POST.UPLOADS", (Meter.STORE_WRITES,)),
        ("REST.COPY.OBJECT", (Meter.STORE_WRITES,)),
        ("REST.GET.BUCKET", (Meter.STORE_WRITES,)),
        ("REST.GET.ACL", (Meter.STORE_READS,)),
        ("REST.DELETE.OBJECT", ()),
    ],
)
def test_each_operation_counts_what_it_costs(
    tmp_path: Path, operation: str, counted: tuple[Meter, ...]
) -> None:
    assert events(tmp_path, s3_line(operation=operation))[0].kind.counted == counted


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (s3_line(numbers="200 - -5 2000 12 10"), "bytes_not_a_number"),
        (s3_line(numbers="200 - 1.5 2000 12 10"), "bytes_not_a_number"),
        (s3_line(numbers="200 - 99999999999999999999 - 12 10"), "bytes_beyond_any_object"),
        (s3_line(numbers="200 - 3000 2000 12 10"), "more_bytes_than_the_object_has"),
        (s3_line(numbers="200 - 1000 2000 x 10"), "bad_time"),
        (s3_line(time="31/Feb/2026:00:00:38 +0000"), "bad_time"),
        (s3_line(time="06/Foo/2026:00:00:38 +0000"), "bad_time"),
        (s3_line(time="06/Feb/1980:00:00:38 +0000"), "bad_date"),
        (s3_line(time="06/Feb/2027:00:00:38 +0000"), "from_the_future"),
        (s3_line()[:120] + b"\n", "no_s3_line"),
        (s3_line()[:260] + b"\n", "no_numbers"),
        (b"garbage\n", "no_s3_line"),
    ],
)
def test_a_damaged_line_is_set_aside(tmp_path: Path, damaged: bytes, reason: str) -> None:
    reading = read(tmp_path, s3_line(request_id="whole") + damaged)

    assert told(reading) == ("read", 1, 0, 1, 1000)
    assert reading.reason == f"{reason} 1"


def test_a_line_cut_anywhere_is_never_more_than_it_was(tmp_path: Path) -> None:
    whole, odd = s3_line(), s3_line(agent='"Mozilla "quoted" 5.0"')

    for one in (whole, odd):
        for cut in range(1, len(one) - 1):
            reading = read(tmp_path, s3_line(request_id="first", numbers="200 - 1 2 3 4") + one[:cut])
            assert reading.bytes_sent in (1, 1001)


def test_the_first_line_may_be_the_damaged_one(tmp_path: Path) -> None:
    assert told(read(tmp_path, b"damaged\n" + s3_line())) == ("read", 1, 0, 1, 1000)
