"""F3 from a terminal: `reelwright usage read`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.usage_logs.logs import CASES, packed

FIELDS = (
    "file", "verdict", "reason", "lines", "events", "duplicates", "ignored", "quarantined", "bytes_sent",
    "unattributed_bytes",
)  # fmt: skip
MIXED = CASES / "cf_mixed.log.gz"


def test_one_object_a_file_and_exit_1_where_one_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(MIXED.read_bytes()[:-4])
    (tmp_path / "folder").mkdir()
    done = desk.run("usage", "read", "cut.gz", MIXED, "nothing.gz", "folder", "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.exit_code == 1
    assert all(tuple(one) == FIELDS for one in said)
    assert [one["verdict"] for one in said] == ["refused", "read", "refused", "refused"]
    assert (said[1]["lines"], said[1]["bytes_sent"], said[1]["unattributed_bytes"]) == (
        11,
        1_805_224,
        1_805_224,
    )
    assert [one["reason"].partition(":")[0] for one in said] == ["cut_gzip", "", "unreadable", "unreadable"]


@pytest.mark.parametrize("way", ["--keep", "--no-dry-run"])
def test_nothing_is_kept_unless_it_is_asked_for(both: Desk, way: str) -> None:
    looked = [json.loads(both.run("usage", "read", MIXED, "--json").stdout)["events"] for _ in (1, 2)]
    kept = json.loads(both.run("usage", "read", MIXED, way, "--json").stdout)
    after = json.loads(both.run("usage", "read", MIXED, "--json").stdout)

    assert looked == [11, 11]
    assert (kept["verdict"], after["verdict"]) == ("read", "known")


def test_it_reads_without_any_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = Desk(tmp_path, f"sqlite:///{tmp_path}/none.db")
    done = nowhere.run("usage", "read", MIXED, CASES / "cf_26_fields.log.gz")

    assert done.exit_code == 0
    assert "11 events, 1805224 bytes" in done.stdout
    assert not (tmp_path / "none.db").exists()
    assert nowhere.run("usage", "read", MIXED, "--keep").exit_code == 1


def test_lines_that_are_set_aside_are_named_by_reason(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(
        packed(b"#Fields: date time sc-bytes cs-uri-stem sc-status cs-method\nx\n")
    )
    done = desk.run("usage", "read", "a.gz")

    assert done.exit_code == 0
    assert "too_few_fields 1" in done.stdout
