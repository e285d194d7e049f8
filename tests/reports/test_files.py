"""The files of a report: the same bytes from the same facts, harmless, exact, and needing nothing else."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import openpyxl
import pytest

from pipeline.domain.errors import NotAllowed
from resources.reports.cells import harmless
from resources.reports.publish import FILES, publish
from resources.reports.tables import table_of
from resources.reports.workbook import SHEET_LINES, write_workbook
from tests.reports.ledgers import OCTOBER, Books, account, books_of, line, november

D = Decimal
DAY = date(2026, 11, 4)
#: The case of the formula: a campaign that is one, and a number that begins with a minus.
FORMULA = '=HYPERLINK("http://example.net","x")'


def published(books: Books, folder: Path) -> dict[str, object]:
    return publish(folder, books.statement, lambda: books.lines, books.proof)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "2026-11"
    published(november(), folder)
    return folder


def test_a_report_made_twice_is_the_same_to_the_byte(report: Path, tmp_path: Path) -> None:
    published(november(), tmp_path / "again")
    found = {name: (tmp_path / "again" / name).read_bytes() for name in FILES}

    assert found == {name: (report / name).read_bytes() for name in FILES}
    assert sorted(path.name for path in report.parent.iterdir()) == ["2026-11"]


def test_the_manifest_names_every_file_with_its_hash_and_sum(report: Path) -> None:
    said = json.loads((report / "manifest.json").read_text())

    assert set(said["files"]) == set(FILES) - {"manifest.json"}
    for name, entry in said["files"].items():
        content = (report / name).read_bytes()
        assert (entry["sha256"], entry["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
    assert said["files"]["lines.csv"]["sums"]["amount"] == said["exact"]


def test_lines_and_totals_come_to_the_same_sum_to_the_last_digit(report: Path) -> None:
    lines, totals = _read(report / "lines.csv"), _read(report / "totals.csv")
    exact = format(november().ledger.exact, "f")

    assert format(sum(D(one["amount"]) for one in lines if one["amount"]), "f") == exact
    assert format(sum(D(one["exact"]) for one in totals), "f") == exact
    assert len(lines) == november().ledger.line_count


def test_parquet_holds_the_same_lines_as_exact_decimals(report: Path) -> None:
    with duckdb.connect() as connection:
        [(kind, total, rows)] = connection.execute(
            "SELECT any_value(typeof(amount)), sum(amount), count(*) FROM read_parquet(?)",
            [str(report / "lines.parquet")],
        ).fetchall()
        [(unpriced,)] = connection.execute(
            "SELECT count(*) FROM read_parquet(?) WHERE amount IS NULL", [str(report / "lines.parquet")]
        ).fetchall()

    assert re.fullmatch(r"DECIMAL\(38,\d+\)", kind)
    assert total == november().ledger.exact
    assert (rows, unpriced) == (november().ledger.line_count, 1)


def test_no_text_begins_a_formula_and_a_negative_number_is_a_number(tmp_path: Path) -> None:
    lines = [
        line(1, DAY, account("x", cost_center=FORMULA), "provider_units", 250),
        line(2, date(2026, 10, 4), account("x", cost_center="-5"), "provider_units", -100, corrects=OCTOBER),
        line(3, DAY, account("x", cost_center="@cmd\t"), "provider_units", 1),
    ]
    folder = tmp_path / "made"
    published(books_of(lines), folder)
    rows = _read(folder / "lines.csv")
    sheet = openpyxl.load_workbook(folder / "report.xlsx")["lines"]
    cells = [cell for row in sheet.iter_rows(min_row=2) for cell in row]

    assert {row["cost_center"]: row["amount"] for row in rows} == {
        f"'{FORMULA}": "12.5",
        "'-5": "-5",
        "'@cmd\t": "0.05",
    }
    assert sum(row[21].value for row in sheet.iter_rows(min_row=2)) == pytest.approx(7.55)
    assert {cell.data_type for cell in cells} <= {"s", "n", "d"}
    assert not any(isinstance(cell.value, str) and cell.value.startswith(("=", "@")) for cell in cells)


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx"])
def test_text_is_harmless_and_numbers_stay(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert harmless("plain") == "plain"


def test_the_workbook_has_real_numbers_and_days(report: Path) -> None:
    book = openpyxl.load_workbook(report / "report.xlsx")
    days = [row[0].value for row in book["days"].iter_rows(min_row=2)]
    shown = [row[8].value for row in book["totals"].iter_rows(min_row=2)]

    assert isinstance(days[0], datetime)
    assert len(days) == 30
    assert round(sum(shown), 2) == float(november().ledger.shown)
    assert book["lines"].max_row == november().ledger.line_count + 1


FETCHED = {"src", "href", "xlink:href", "srcset", "action", "data", "poster"}


def test_too_many_lines_for_a_sheet_are_left_to_the_csv(tmp_path: Path) -> None:
    statement = replace(november().statement, lines=SHEET_LINES + 1)
    write_workbook(tmp_path / "x.xlsx", statement, table_of(statement, "days"), (), iter(()))
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["lines"]

    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["line"],
        [f"{SHEET_LINES + 1} lines are too many for a sheet: see lines.csv"],
    ]


class _Sources(HTMLParser):
    """Everything in a page that could be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.sources += [
            f"{name}={value}" for name, value in attrs if name in FETCHED or "http" in (value or "")
        ]


def test_the_page_fetches_nothing_and_runs_nothing(report: Path) -> None:
    page = (report / "report.html").read_text("utf-8")
    found = _Sources()
    found.feed(page)

    assert found.sources == []
    assert not found.tags & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert "default-src 'none'" in page
    assert re.findall(r"url\((?!#)", page) == []
    assert "@import" not in page


def test_the_page_shows_every_stated_number_and_is_marked_provisional(report: Path) -> None:
    page = (report / "report.html").read_text("utf-8")
    statement = november().statement

    assert f"{statement.billed:,.2f} USD" in page
    assert all(f"{part.shown:,.2f}" in page for part in statement.by_campaign)
    assert "Provisional" in page
    assert "PROVISIONAL" in page
    assert "retired on 2026-11-15" in page.replace("<wbr>", "")


def test_a_closed_month_says_by_whom_and_with_which_statement(tmp_path: Path) -> None:
    published(november(closed=True), tmp_path / "closed")
    page = (tmp_path / "closed" / "report.html").read_text("utf-8")

    assert "by anna" in page
    assert "c0ffee" * 8 in page
    assert "PROVISIONAL" not in page


def test_markup_in_a_name_is_only_text(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    published(
        books_of([line(1, DAY, account("x", cost_center=name), "provider_units", 1)]), tmp_path / "made"
    )
    page = (tmp_path / "made" / "report.html").read_text("utf-8")

    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_series_are_told_apart_without_colour(report: Path) -> None:
    page = (report / "report.html").read_text("utf-8")
    made = re.findall(r'<pattern id="look(\d)".*?</pattern>', page)
    bodies = [re.sub(r"#[0-9a-f]{6}", "", body) for body in re.findall(r"<pattern .*?</pattern>", page)]

    assert len(made) == 5
    assert len({re.sub(r'id="look\d"', "", body) for body in bodies}) == 5


def test_totals_that_are_not_their_lines_are_never_published(tmp_path: Path) -> None:
    books = november()
    short = Books(books.ledger, books.lines[:-1], books.around, books.proof)
    with pytest.raises(NotAllowed, match="lines and stated lines"):
        published(short, tmp_path / "2026-11")

    assert list(tmp_path.iterdir()) == []


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
