"""The workbook: every table of the statement on a sheet of its own, and the ledger's lines.

Belongs here: XLSX. Does not belong here: which tables there are (`tables`).

XlsxWriter gives every part of the archive the same fixed time, so that equal tables make equal bytes. Text
cells are strings, never formulas, and stay harmless when they are saved as CSV; numbers and days are numbers
and days. A spreadsheet keeps fifteen digits: all of them are in lines.csv and lines.parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.domain.statement import Statement
from resources.reports.cells import Cell, Kind, harmless
from resources.reports.tables import LINE_COLUMNS, Column, Row, Table

#: Lines beyond which nobody scrolls; a sheet holds ten times as many, and takes as long to open.
SHEET_LINES = 100_000
_WIDTH, _WIDE = 16, 30
_SETTINGS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


def write_workbook(
    path: Path, statement: Statement, summary: Table, tables: Sequence[Table], lines: Iterable[Row]
) -> None:
    """The whole workbook; too many lines are left to lines.csv, and the sheet says so."""
    import xlsxwriter  # few runs write a report, and all would wait for it

    with xlsxwriter.Workbook(str(path), _SETTINGS) as book:
        book.set_properties(
            {
                "title": f"Finance report {statement.month}",
                "created": datetime.combine(statement.month.first_day, datetime.min.time()),
            }
        )
        formats = _formats(book, statement.ledger.places)
        for table in (summary, *tables):
            _write_sheet(book, formats, table.name, table.columns, table.rows)
        fits = statement.lines <= SHEET_LINES
        unfit: Row = (f"{statement.lines} lines are too many for a sheet: see lines.csv",)
        _write_sheet(
            book, formats, "lines", LINE_COLUMNS if fits else LINE_COLUMNS[:1], lines if fits else (unfit,)
        )


def _formats(book: Any, places: int) -> Mapping[Kind | None, Any]:
    money = "#,##0." + "0" * places if places else "#,##0"
    return {
        None: book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
        Kind.TEXT: book.add_format({"num_format": "@"}),
        Kind.COUNT: book.add_format({"num_format": "#,##0"}),
        Kind.MONEY: book.add_format({"num_format": f"{money};[Red]-{money}"}),
        Kind.EXACT: book.add_format({"num_format": "0.##################"}),
        Kind.SHARE: book.add_format({"num_format": "0.0%"}),
        Kind.DAY: book.add_format({"num_format": "yyyy-mm-dd"}),
        Kind.TIME: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
    }


def _write_sheet(
    book: Any, formats: Mapping[Kind | None, Any], name: str, columns: Sequence[Column], rows: Iterable[Row]
) -> None:
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for place, column in enumerate(columns):
        sheet.set_column(place, place, _WIDE if column.kind is Kind.TEXT else _WIDTH)
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.name, formats[None])
    for number, row in enumerate(rows, 1):
        for place, (column, cell) in enumerate(zip(columns, row, strict=True)):
            _write(sheet, number, place, cell, formats[column.kind])


def _write(sheet: Any, row: int, place: int, cell: Cell, look: Any) -> None:
    match cell:
        case None:
            pass
        case str():
            sheet.write_string(row, place, harmless(cell), look)
        case datetime():
            sheet.write_datetime(row, place, cell.replace(tzinfo=None), look)
        case date():
            sheet.write_datetime(row, place, datetime.combine(cell, datetime.min.time()), look)
        case Decimal() | int():
            sheet.write_number(row, place, cell, look)
