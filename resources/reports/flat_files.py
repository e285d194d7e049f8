"""CSV and Parquet: one table, row by row, in bounded memory.

Belongs here: writing both from one stream of rows. Does not belong here: which rows.

CSV is for people's spreadsheets, so text in it is harmless. Parquet is for programs and holds text as it is,
and numbers as decimal128 of the scale that its longest number needs.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO

from pipeline.domain.errors import NotAllowed
from resources.reports.cells import Cell, Kind, safe, spelled, sql_type
from resources.reports.tables import Column, Row

PRECISION = 38
#: Rows that Parquet is written by at once: all columns of them are held in memory.
ROW_GROUP = 20_480
_DECIMALS = (Kind.MONEY, Kind.EXACT)
#: Equal bytes from equal rows: one thread; nothing is fetched.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def write_csv(path: Path, columns: Sequence[Column], rows: Iterable[Row]) -> int:
    """Rows as CSV that a spreadsheet can open; returns their number."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column.name for column in columns)
        for count, row in enumerate(rows, 1):  # noqa: B007
            writer.writerow(map(safe, row))
    return count


def write_both(csv_path: Path, parquet: Path, columns: Sequence[Column], rows: Iterable[Row]) -> int:
    """The same rows as CSV and as Parquet, read once; returns their number."""
    scales = [_Scale(column.name) for column in columns]
    with tempfile.TemporaryDirectory(dir=parquet.parent) as folder:
        raw = Path(folder) / "raw.csv"
        with raw.open("w", encoding="utf-8", newline="") as file:
            count = write_csv(csv_path, columns, _noted(file, rows, scales))
        types = {
            column.name: sql_type(column.kind, scale.places)
            for column, scale in zip(columns, scales, strict=True)
        }
        _to_parquet(raw, parquet, types)
    return count


def _noted(raw: IO[str], rows: Iterable[Row], scales: Sequence[_Scale]) -> Iterator[Row]:
    """*rows* as they come, each written to *raw* as it is on the way."""
    writer = csv.writer(raw, lineterminator="\n")
    for row in rows:
        for cell, scale in zip(row, scales, strict=True):
            scale.note(cell)
        writer.writerow(map(spelled, row))
        yield row


class _Scale:
    """How many places a column's numbers need."""

    def __init__(self, name: str) -> None:
        self.name, self.places, self._digits = name, 0, 1

    def note(self, cell: Cell) -> None:
        if not isinstance(cell, Decimal):
            return
        _, digits, exponent = cell.as_tuple()
        assert isinstance(exponent, int)  # noqa: S101 (money is finite)
        self.places = max(self.places, -exponent)
        self._digits = max(self._digits, len(digits) + exponent)
        if self.places + self._digits > PRECISION:
            raise NotAllowed(
                f"column {self.name}",
                f"{self._digits} digits before the point and {self.places} behind it do not fit a decimal"
                f" of {PRECISION} digits in Parquet",
                "shorten the price card's prices or rates",
            )


def _to_parquet(raw: Path, parquet: Path, types: Mapping[str, str]) -> None:
    import duckdb  # few runs write a report, and all would wait for it

    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
    form = "header = false, delim = ',', quote = '\"', escape = '\"', nullstr = '', auto_detect = false"
    source = f"read_csv({_quoted(raw)}, {form}, columns = {{{columns}}})"
    with duckdb.connect(":memory:", config=_SETTINGS) as connection:
        form = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}"
        connection.execute(f"COPY (SELECT * FROM {source}) TO {_quoted(parquet)} ({form})")  # noqa: S608 (names are ours)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
