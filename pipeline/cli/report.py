"""`reelwright report`: a month's finance report as files.

Arguments and lines only; the work is `pipeline.steps.account.report`, as the asset `finance_report` does it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.money import MonthName
from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, say, show, working
from pipeline.domain.errors import NotAllowed

if TYPE_CHECKING:
    from pipeline.steps.account.report import Report

COLUMNS = ("file", "rows", "bytes", "sha256")


def report(
    month: MonthName,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where to write it; without it, REPORTS/MONTH."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a month's finance report: a page, CSV, a workbook, Parquet, FOCUS, a manifest."""
    from pipeline.steps.account.report import make_report
    from resources.connect import price_cards

    settings = acting()
    cards = price_cards(settings)
    folder = out or settings.reports / str(month)
    with opened_database(settings) as database, working(f"reporting {month}", quiet=json):
        made = make_report(database, cards, month, folder)
    if json:
        emit({"folder": str(made.folder), "is_new": made.is_new} | made.manifest)
    else:
        _show(made)
    if made.wrong:
        raise NotAllowed(str(made.folder), "; ".join(made.wrong), "make it again in an empty folder")


def _show(made: Report) -> None:
    statement, files = made.statement, made.manifest["files"]
    rows = [(name, one.get("rows"), one["bytes"], one["sha256"][:12]) for name, one in files.items()]
    show(COLUMNS, rows, f"In {made.folder}.")
    mark, currency = statement.ledger.watermark, statement.ledger.currency
    state = f"closed by {mark.closed_by}" if mark.closed_at else f"{mark.status}: provisional"
    say(f"{statement.month}, {state}: {statement.billed} {currency} billed, waste {statement.waste} of it.")
    if not made.is_new:
        say("The report of this closed month lay there already, whole; nothing was written.")
    if unpriced := len(statement.ledger.unpriced):
        say(f"{unpriced} without a price, and in no total: see the page.")
