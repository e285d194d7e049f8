"""A second look at the files of a report finds what is not as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resources.reports.manifest import file_entry
from resources.reports.publish import publish
from resources.reports.reread import reread
from tests.reports.ledgers import november


@pytest.fixture
def report(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    books = november()
    return tmp_path / "x", publish(tmp_path / "x", books.statement, lambda: books.lines, books.proof)


def test_a_sound_report_has_nothing_wrong(report: tuple[Path, dict[str, Any]]) -> None:
    folder, said = report

    assert reread(folder, said) == ()
    assert reread(folder, json.loads((folder / "manifest.json").read_text())) == ()


@pytest.mark.parametrize("name", ["report.html", "lines.parquet", "focus.csv"])
def test_a_file_that_is_missing_or_changed_is_named(report: tuple[Path, dict[str, Any]], name: str) -> None:
    folder, said = report
    with (folder / name).open("ab") as file:
        file.write(b"\n")
    changed = reread(folder, said)
    (folder / name).unlink()

    assert changed == (f"{name} is not what was written",)
    assert reread(folder, said) == (f"{name} is missing",)


@pytest.mark.parametrize("name", ["lines.csv", "totals.csv", "focus.csv"])
def test_a_row_less_is_another_sum_even_where_the_hash_was_written_anew(
    report: tuple[Path, dict[str, Any]], name: str
) -> None:
    folder, said = report
    rows = (folder / name).read_text("utf-8").splitlines(keepends=True)
    (folder / name).write_text("".join(rows[:-2] + rows[-1:]), "utf-8")
    said["files"][name] = file_entry(folder / name, None)
    [wrong] = reread(folder, said)

    assert wrong.startswith(f"{name} comes to ")
