"""Make the finance report of a month: from the ledger and what stands beside it to files that are proven.

Belongs here: what is read for a report, which issue it is, when nothing is to be made. Does not belong here:
sums (`pipeline.domain.statement_sums`), files (`resources.reports`).

The report of a closed month is made once: where it lies already and is whole it stays, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.domain.errors import NotAllowed
from pipeline.domain.ledger import Line, MonthLedger
from pipeline.domain.periods import Month
from pipeline.domain.rating import PriceCards
from pipeline.domain.statement import Issue, Statement, Surroundings
from pipeline.domain.statement_sums import statement_of
from pipeline.steps.account.month import month_ledger
from resources.database.database import Database
from resources.database.ledger import lines_of
from resources.database.periods import closed_months
from resources.database.report_facts import (
    budget_facts,
    card_notes,
    cards_of,
    daily_live,
    first_published,
    tier_sizes,
)
from resources.reports.manifest import issue_of, read_manifest
from resources.reports.publish import Proof, publish
from resources.reports.reread import reread


@dataclass(frozen=True, slots=True)
class Report:
    """A report that lies in `folder`."""

    folder: Path
    statement: Statement
    manifest: dict[str, Any]
    is_new: bool  #: False: the closed month's report lay there already, and is whole
    wrong: tuple[str, ...]  #: what a second look at the files found; nothing, in a sound one


def make_report(database: Database, cards: PriceCards, month: Month, folder: Path) -> Report:
    """Write the report of *month* into *folder*, or find that the closed month's report lies there.

    Raises NotAllowed for a month that has not begun, a folder that holds another report, and where totals,
    lines and export do not come to the same: then nothing in *folder* was changed.
    """
    if month.start > database.now():
        raise NotAllowed(f"month {month}", "has not begun", "name a month as 2026-11")
    before = _before(folder, month)
    ledger = month_ledger(database, cards, month)
    statement, proof = _statement(database, ledger, _issue_before(before, ledger))
    if before is not None and _is_the_closed_one(before, ledger) and not reread(folder, before):
        return Report(folder, statement, before, is_new=False, wrong=())

    def lines() -> Iterator[Line]:
        with database.reading() as connection:
            yield from lines_of(connection, month)

    content = publish(folder, statement, lines, proof)
    return Report(folder, statement, content, is_new=True, wrong=reread(folder, content))


def _before(folder: Path, month: Month) -> dict[str, Any] | None:
    found = read_manifest(folder)
    if found is not None and found["month"] != str(month):
        raise NotAllowed(
            str(folder), f"holds the report of {found['month']}", "name another folder with --out"
        )
    return found


def _issue_before(before: dict[str, Any] | None, ledger: MonthLedger) -> Issue | None:
    """The issue that this one is held against: the same facts again have the same one before them."""
    if before is None:
        return None
    last = issue_of(before["issue"])
    now = Issue(ledger.watermark.rated_at, ledger.exact, ledger.line_count)
    return issue_of(before["issue_before"]) if last == now else last


def _is_the_closed_one(before: dict[str, Any], ledger: MonthLedger) -> bool:
    statement = ledger.watermark.statement_sha256
    return bool(statement) and before["statement_sha256"] == statement


def _statement(database: Database, ledger: MonthLedger, previous: Issue | None) -> tuple[Statement, Proof]:
    month = ledger.month
    with database.reading() as connection:
        used = cards_of(connection, month)
        around = Surroundings(
            daily=daily_live(connection, month),
            published=first_published(connection, month),
            budgets=budget_facts(connection, month),
            cards=card_notes(used),
            previous=previous,
        )
        proof = Proof(closed_months(connection).keys(), tier_sizes(used))
        return statement_of(ledger, lines_of(connection, month), around), proof
