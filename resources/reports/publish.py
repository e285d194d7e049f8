"""All files of a month's report, made in a folder beside and put in their place at once.

Belongs here: which files there are, and that they are proven before anybody sees them. Does not belong here:
any file's content.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.domain.errors import NotAllowed
from pipeline.domain.ledger import Line
from pipeline.domain.periods import Month
from pipeline.domain.rating import EXACT
from pipeline.domain.statement import LIVE, Statement
from resources.reports import focus
from resources.reports.cells import Kind
from resources.reports.flat_files import write_both, write_csv
from resources.reports.focus_check import Expected, TierKey, require
from resources.reports.manifest import file_entry, manifest, write_manifest
from resources.reports.page import page
from resources.reports.tables import LINE_COLUMNS, Column, Row, Table, line_row, table_of, tables_of
from resources.reports.workbook import write_workbook

Lines = Callable[[], Iterable[Line]]
FILES = (
    "focus.csv", "focus.parquet", "lines.csv", "lines.parquet", "report.html", "report.xlsx", "totals.csv",
    "manifest.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proof:
    """What the export is held against, beside the statement itself."""

    closed: Collection[Month]
    tier_sizes: Mapping[TierKey, Decimal | None]


def publish(folder: Path, statement: Statement, lines: Lines, proof: Proof) -> dict[str, Any]:
    """Write every file of the report into *folder*, the manifest last; returns what it says.

    NotAllowed where totals are not the sums of their lines, or the FOCUS file is not what the ledger says:
    then *folder* is as it was.
    """
    if broken := statement.unreconciled():
        raise NotAllowed(
            f"report {statement.month}",
            "; ".join(broken),
            "make it again: somebody may have posted meanwhile",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        content = _make(made, statement, lines, proof)
        folder.mkdir(exist_ok=True)
        for name in FILES:
            (made / name).replace(folder / name)
    finally:
        shutil.rmtree(made)
    return content


def _make(folder: Path, statement: Statement, lines: Lines, proof: Proof) -> dict[str, Any]:
    ledger = statement.ledger
    totals = table_of(statement, "totals")
    rows = {
        "totals.csv": write_csv(folder / "totals.csv", totals.columns, totals.rows),
        "lines.csv": write_both(
            folder / "lines.csv", folder / "lines.parquet", LINE_COLUMNS, _rows(lines, ledger.currency)
        ),
        "focus.csv": write_both(
            folder / "focus.csv", folder / "focus.parquet", focus.COLUMNS, focus.focus_rows(ledger, lines())
        ),
    }
    rows |= {"lines.parquet": rows["lines.csv"], "focus.parquet": rows["focus.csv"]}
    (folder / "report.html").write_text(page(statement), "utf-8")
    write_workbook(
        folder / "report.xlsx",
        statement,
        summary(statement),
        tables_of(statement),
        _rows(lines, ledger.currency),
    )
    billed, apart, unpriced = _by_spend(lines)
    require(
        folder / "focus.csv",
        Expected(
            statement.month,
            proof.closed,
            ledger.currency,
            billed,
            proof.tier_sizes,
            is_settled=not ledger.watermark.is_provisional,
        ),
    )
    sums = {
        "lines": {"amount": statement.exact_of_lines},
        "focus": {"BilledCost": billed},
        "totals": {"exact": ledger.exact, "shown": ledger.shown},
    }
    files = {
        name: file_entry(folder / name, rows.get(name), sums.get(name.partition(".")[0]))
        for name in FILES[:-1]
    }
    left_out = {"not_billed_amount": format(apart, "f"), "unpriced_lines": unpriced}
    content = manifest(statement, files, {"version": focus.VERSION, "left_out": left_out})
    write_manifest(folder, content)
    return content


def _rows(lines: Lines, currency: str) -> Iterator[Row]:
    return (line_row(line, currency) for line in lines())


def _by_spend(lines: Lines) -> tuple[Decimal, Decimal, int]:
    """Exactly: what is billed, what is not, and how many lines have no price."""
    billed, apart, unpriced = Decimal(0), Decimal(0), 0
    for line in lines():
        if line.amount is None:
            unpriced += 1
        elif line.measured.account.spend == LIVE:
            billed = EXACT.add(billed, line.amount)
        else:
            apart = EXACT.add(apart, line.amount)
    return billed, apart, unpriced


def summary(statement: Statement) -> Table:
    """The workbook's first sheet."""
    ledger, mark = statement.ledger, statement.ledger.watermark
    forecast = statement.forecast
    columns = (Column("figure"), Column("text"), Column("amount", Kind.MONEY))
    rows: tuple[Row, ...] = (
        ("month", str(statement.month), None),
        ("status", f"{mark.status}{' (provisional)' if mark.is_provisional else ''}", None),
        ("closed by", mark.closed_by, None),
        ("statement", mark.statement_sha256, None),
        ("currency", ledger.currency, None),
        ("price cards", ", ".join(ledger.cards), None),
        ("rounding", f"{ledger.places} places, {ledger.halves}, once a stated line", None),
        ("billed", "live spend, corrections with it", statement.billed),
        ("of it corrections", "of closed months", statement.corrections),
        ("waste", "failed, lost, superseded", statement.waste),
        ("forecast", str(forecast.month) if forecast else "none", forecast.expected if forecast else None),
        ("entries without a price", str(len(ledger.unpriced)), None),
        ("exact digits", "lines.csv, lines.parquet: a spreadsheet keeps fifteen", None),
    )
    return Table("summary", "Summary", columns, rows)
