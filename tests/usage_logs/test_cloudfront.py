"""F3: CloudFront's lines by the names of their fields, whatever the order, form and age of the file."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from pipeline.domain.delivery import Agent, Meter, Traffic
from resources.usage_logs.reading import read_log
from resources.usage_logs.record import Event
from tests.usage_logs.logs import CASES, FIELDS, cloudfront, header, line, packed, read, request, told


def events(folder: Path, content: bytes) -> list[Event]:
    path = folder / "events.log"
    path.write_bytes(content)
    log = read_log(path)
    assert log is not None
    return [record for record in log.records if isinstance(record, Event)]


def test_the_line_zoo_reads_as_its_generator_knows(tmp_path: Path) -> None:
    wanted = json.loads((CASES / "cf_mixed.expected.json").read_text())
    content = (CASES / "cf_mixed.log.gz").read_bytes()

    assert told(read(tmp_path, content)) == ("read", wanted["lines"], 0, 0, wanted["sum_sc_bytes"])
    assert [one.kind.traffic for one in events(tmp_path, content)] == [
        Traffic.FULL, Traffic.HEAD, *[Traffic.PARTIAL] * 3, Traffic.NOT_MODIFIED, Traffic.ABORTED,
        Traffic.FAILED, *[Traffic.FULL] * 3,
    ]  # fmt: skip
    assert {one.kind.region for one in events(tmp_path, content)} == {"FRA"}


@pytest.mark.parametrize("name", ["cf_26_fields.log.gz", "cf_reordered_new_column.log.gz"])
def test_columns_are_read_by_their_names(tmp_path: Path, name: str) -> None:
    assert told(read(tmp_path, (CASES / name).read_bytes())) == ("read", 6, 0, 0, 1_706_289)


def test_order_and_age_of_columns_do_not_change_an_identity(tmp_path: Path) -> None:
    identities = [
        [one.identity for one in events(tmp_path, (CASES / name).read_bytes())][:6]
        for name in ("cf_26_fields.log.gz", "cf_reordered_new_column.log.gz", "cf_mixed.log.gz")
    ]

    assert identities[0] == identities[1] == identities[2]


def _json(**changes: object) -> bytes:
    return json.dumps({**request(1), **changes}).encode() + b"\n"


def parquet(folder: Path, said: list[dict[str, str]]) -> bytes:
    """As CloudFront names its columns there."""
    names = [name.replace("(", "-").replace(")", "").replace("-", "_") for name in said[0]]
    rows = ["\t".join(names), *("\t".join(one.values()) for one in said)]
    (folder / "in.tsv").write_text("\n".join(rows) + "\n")
    table = f"read_csv('{folder}/in.tsv', delim='\t', header=true, all_varchar=true, quote='')"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM {table}) TO '{folder}/a.parquet' (FORMAT parquet)")
    return (folder / "a.parquet").read_bytes()


def test_json_w3c_and_parquet_say_the_same_as_tsv(tmp_path: Path) -> None:
    said = [request(number) for number in range(3)]
    written = "\n".join(json.dumps(one) for one in said).encode()
    w3c = header(between="\t") + b"".join(line(number=number) for number in range(3))
    spaced = header() + b"".join(line(number=number).replace(b"\t", b" ") for number in range(3))
    forms = [cloudfront(), written, packed(written), parquet(tmp_path, said), w3c, spaced]

    assert {told(read(tmp_path, form)) for form in forms} == {("read", 3, 0, 0, 3000)}
    assert len({tuple(one.identity for one in events(tmp_path, form)) for form in forms}) == 1


def test_a_cut_parquet_is_refused(tmp_path: Path) -> None:
    assert read(tmp_path, b"PAR1" + b"\0" * 400).reason.startswith("damaged_parquet: ")


def test_numbers_and_milliseconds_of_json_are_taken(tmp_path: Path) -> None:
    said = {name: value for name, value in request(1).items() if name not in ("date", "time")}
    moment = {**said, "timestamp(ms)": "1774998001000", "sc-bytes": 1000, "sc-status": 200}
    content = json.dumps(moment).encode() + b"\n" + _json()

    assert told(read(tmp_path, content)) == ("read", 1, 1, 0, 1000)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_json(**{"sc-bytes": 12.5}), "bytes_not_a_number"),
        (_json(**{"sc-bytes": True}), "not_a_value"),
        (_json(**{"sc-bytes": None}), "bytes_not_a_number"),
        (_json(**{"sc-bytes": ["1"]}), "not_a_value"),
        (_json()[:-20] + b"\n", "bad_json"),
        (_json().replace(b'"sc-bytes"', b'"sc-bytes": "9", "sc-bytes"'), "ambiguous_fields"),
        (_json().replace(b'"sc-bytes": "1000", ', b""), "missing_field"),
        (b'"text"\n', "no_json_object"),
        (b'{"sc-bytes": NaN}\n', "bad_json"),
        (b"[" * 100_000 + b"\n", "bad_json"),
    ],
)
def test_a_line_of_json_that_says_nothing_clear_is_set_aside(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    reading = read(tmp_path, _json(**{"x-edge-request-id": "first"}) + content)

    assert told(reading) == ("read", 1, 0, 1, 1000)
    assert reading.reason == f"{reason} 1"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sc_bytes": "-5"}, "bytes_not_a_number"),
        ({"sc_bytes": "+5"}, "bytes_not_a_number"),
        ({"sc_bytes": "1e3"}, "bytes_not_a_number"),
        ({"sc_bytes": "12.0"}, "bytes_not_a_number"),
        ({"sc_bytes": " 12"}, "bytes_not_a_number"),
        ({"sc_bytes": "１２"}, "bytes_not_a_number"),
        ({"sc_bytes": "-"}, "bytes_not_a_number"),
        ({"sc_bytes": ""}, "bytes_not_a_number"),
        ({"sc_bytes": "99999999999999999999999"}, "bytes_beyond_any_object"),
        ({"sc_bytes": "9223372036854775808"}, "bytes_beyond_any_object"),
        ({"sc_bytes": "9" * 5000}, "bytes_beyond_any_object"),
        ({"date": "2026-02-30"}, "bad_date"),
        ({"date": "2026-13-01"}, "bad_date"),
        ({"date": "0000-00-00"}, "bad_date"),
        ({"date": "1999-12-31"}, "bad_date"),
        ({"date": "31/03/2026"}, "bad_date"),
        ({"date": "2026-3-1"}, "bad_date"),
        ({"time": "24:00:00"}, "bad_time"),
        ({"time": "23:59:60"}, "bad_time"),
        ({"time": "-"}, "bad_time"),
        ({"date": "2027-03-31"}, "from_the_future"),
        ({"sc_status": "abc"}, "bad_status"),
        ({"sc_status": "42"}, "bad_status"),
        ({"sc_status": "2000"}, "bad_status"),
        ({"cs(User_Agent)": "a\0b"}, "control_character"),
    ],
)
def test_a_line_with_an_impossible_value_is_set_aside(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    reading = read(tmp_path, cloudfront(2) + line(number=8, **changes))

    assert told(reading) == ("read", 2, 0, 1, 2000)
    assert reading.reason == f"{reason} 1"


def test_short_and_long_lines_are_set_aside_and_empty_ends_do_no_harm(tmp_path: Path) -> None:
    short = b"\t".join(line(number=3).split(b"\t")[:-1]) + b"\n"
    long = line(number=4).rstrip(b"\n") + b"\textra\n"
    ended = line(number=5).rstrip(b"\n") + b"\t\n"
    reading = read(tmp_path, cloudfront() + short + long + ended)

    assert told(reading) == ("read", 4, 0, 2, 4000)
    assert reading.reason == "too_few_fields 1, too_many_fields 1"


@pytest.mark.parametrize("names", [FIELDS, (*FIELDS, "x-new"), (*FIELDS, *(f"x-{n}" for n in range(9)))])
def test_any_number_of_fields_is_read(tmp_path: Path, names: tuple[str, ...]) -> None:
    rows = b"".join(
        line(number=number).rstrip(b"\n") + b"\tv" * (len(names) - 24) + b"\n" for number in (1, 2)
    )

    assert told(read(tmp_path, header(names) + rows)) == ("read", 2, 0, 0, 2000)


def test_a_header_may_come_again_and_may_change(tmp_path: Path) -> None:
    turned = tuple(reversed(FIELDS))
    content = (
        cloudfront(2) + header() + line(number=5) + header(turned) + line(turned, number=6) + b"#note\n\n"
    )

    assert told(read(tmp_path, content)) == ("read", 4, 0, 0, 4000)


def test_lines_before_any_header_are_set_aside(tmp_path: Path) -> None:
    reading = read(tmp_path, b"#Version: 1.0\n" + line(number=9) + cloudfront(2))

    assert told(reading) == ("read", 2, 0, 1, 2000)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (line() + line(number=2), "no_fields"),
        (b"#Version: 1.0\n" + line(), "no_fields"),
        (header([name for name in FIELDS if name != "sc-bytes"]) + line(), "missing_fields"),
        (header([name for name in FIELDS if name != "date"]) + line(), "missing_fields"),
        (header((*FIELDS, "sc-bytes")) + line(), "ambiguous_fields"),
        (header((*FIELDS, "sc_bytes")) + line(), "ambiguous_fields"),
        (cloudfront().replace(b"1.0", b"3.7"), "unknown_version"),
        (cloudfront() + header((*FIELDS, "sc-bytes")), "ambiguous_fields"),
    ],
)
def test_a_wrong_header_refuses_the_file(tmp_path: Path, content: bytes, reason: str) -> None:
    assert read(tmp_path, content).reason.startswith(f"{reason}: ")


def test_the_same_line_counts_once_and_the_same_id_at_another_time_again(tmp_path: Path) -> None:
    content = cloudfront() + line(number=1) + line(number=1, time="10:00:00") + line(number=1, sc_bytes="7")

    assert told(read(tmp_path, content)) == ("read", 5, 1, 0, 4007)


def test_lines_without_request_id_are_told_apart_by_all_that_they_say(tmp_path: Path) -> None:
    unnamed = {"x_edge_request_id": "-"}
    content = header() + line(**unnamed) + line(**unnamed) + line(**unnamed, c_ip="192.0.2.1")

    assert told(read(tmp_path, content)) == ("read", 2, 1, 0, 2000)


def test_bytes_that_are_no_utf8_do_not_hurt_the_numbers_beside_them(tmp_path: Path) -> None:
    content = cloudfront(1) + line(number=5).replace(b"Mozilla", b"\xff\xfe\x85").replace(
        b"a.mp4", b"\xe9.mp4"
    )

    assert told(read(tmp_path, content)) == ("read", 2, 0, 0, 2000)


@pytest.mark.parametrize(
    ("changes", "traffic"),
    [
        ({}, Traffic.FULL),
        ({"cs_method": "HEAD"}, Traffic.HEAD),
        ({"sc_status": "206"}, Traffic.PARTIAL),
        ({"sc_status": "304"}, Traffic.NOT_MODIFIED),
        ({"sc_status": "302"}, Traffic.REDIRECT),
        ({"sc_status": "000"}, Traffic.ABORTED),
        ({"sc_status": "404", "cs_method": "HEAD"}, Traffic.FAILED),
        ({"sc_status": "503"}, Traffic.FAILED),
        ({"cs_method": "POST"}, Traffic.OTHER),
        ({"sc_status": "-"}, Traffic.OTHER),
        ({"x_edge_result_type": "Error"}, Traffic.ABORTED),
        ({"x_edge_result_type": "Error", "sc_status": "206"}, Traffic.ABORTED),
    ],
)
def test_traffic_is_told_from_method_status_and_result(
    tmp_path: Path, changes: dict[str, str], traffic: Traffic
) -> None:
    [event] = events(tmp_path, header() + line(**changes))

    assert event.kind.traffic is traffic


@pytest.mark.parametrize(
    ("result", "meter"),
    [("Hit", Meter.HITS), ("RefreshHit", Meter.REFRESHES), ("Miss", Meter.MISSES), ("LimitExceeded", None)],
)
def test_the_edge_says_how_it_answered(tmp_path: Path, result: str, meter: Meter | None) -> None:
    [event] = events(tmp_path, header() + line(x_edge_result_type=result))

    assert event.kind.counted == (Meter.REQUESTS, *([] if meter is None else [meter]))


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("Mozilla/5.0%20(compatible;%20Googlebot/2.1)", Agent.BOT),
        ("Mozilla/5.0%20(Linux;%20Android;%20CUBOT%20X30)", Agent.VIEWER),
        ("-", Agent.UNKNOWN),
        ("Amazon%20CloudFront", Agent.CDN),
    ],
)
def test_agents_are_told_apart(tmp_path: Path, name: str, agent: Agent) -> None:
    [event] = events(tmp_path, header() + line(**{"cs(User_Agent)": name}))

    assert event.kind.agent is agent
