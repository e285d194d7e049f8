"""A report stands on the database's own facts, on both databases, and a closed one stays as it is."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.domain.errors import NotAllowed
from pipeline.domain.periods import Month, midnight
from pipeline.steps.account.close_period import close_period
from pipeline.steps.account.month import month_ledger
from pipeline.steps.account.report import Report, make_report
from resources.database import schema
from resources.database.database import Database
from resources.reports.publish import FILES
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import APRIL, CAMPAIGN, CARD, MARCH, Books

D = Decimal
NOON = 12 * 3600 * 1_000_000


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = midnight(date(2026, 4, 3))
    made = Books(database)
    made.video("r-2", state="failed")
    for day in MARCH.days:
        made.use(midnight(day) + NOON, 100 + day.day)
    made.deliver(MARCH.first_day, 12 * 10**9)
    made.deliver(MARCH.first_day, 3 * 10**9, campaign=None, rendition=None, object=None, tenant=None)
    made.deliver(MARCH.first_day, 5, "storage_requests_a")
    made.use(midnight(MARCH.first_day) + NOON, 40, spend="test")
    made.rate(MARCH)
    return made


def make(books: Books, folder: Path, month: Month = MARCH) -> Report:
    return make_report(books.database, books.cards, month, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_the_report_comes_to_what_the_ledger_has(books: Books, tmp_path: Path) -> None:
    made = make(books, tmp_path / "2026-03")
    with (tmp_path / "2026-03" / "lines.csv").open() as file:
        lines = list(csv.DictReader(file))

    assert made.wrong == ()
    assert sum(D(one["amount"]) for one in lines if one["amount"]) == books.total(MARCH)
    assert made.statement.billed + D("0.40") == made.statement.ledger.shown
    assert len(made.statement.ledger.unpriced) == 1
    assert {one.meter for one in made.statement.ledger.unattributed} == {"delivered_bytes"}
    assert made.statement.forecast is not None


def test_the_same_facts_make_the_same_bytes_wherever_they_are_written(books: Books, tmp_path: Path) -> None:
    make(books, tmp_path / "one")
    make(books, tmp_path / "two")
    first = contents(tmp_path / "one")
    make(books, tmp_path / "one")

    assert contents(tmp_path / "two") == first
    assert contents(tmp_path / "one") == first


def test_what_came_since_the_issue_before_is_told_and_stays_told(
    books: Books, clock: Clock, tmp_path: Path
) -> None:
    make(books, tmp_path / "march")
    clock.at += NOON
    books.use(midnight(MARCH.first_day) + NOON, 850)
    books.rate(MARCH)
    second = make(books, tmp_path / "march")
    files = contents(tmp_path / "march")
    make(books, tmp_path / "march")

    assert sum(one.exact for one in second.statement.since) == D("8.5")
    assert contents(tmp_path / "march") == files


def test_a_closed_report_stays_and_late_money_is_a_correction_in_the_next_month(
    books: Books, tmp_path: Path
) -> None:
    closed(books)
    march = make(books, tmp_path / "2026-03")
    files = contents(tmp_path / "2026-03")
    books.use(midnight(MARCH.first_day) + NOON, 850)
    books.rate(MARCH)
    again, april = make(books, tmp_path / "2026-03"), make(books, tmp_path / "2026-04", APRIL)
    elsewhere = make(books, tmp_path / "elsewhere")

    assert contents(tmp_path / "2026-03") == files
    assert not again.is_new
    assert elsewhere.is_new
    assert contents(tmp_path / "elsewhere") == files
    assert april.statement.corrections == D("8.50")
    assert [str(one.corrects) for one in april.statement.ledger.corrections] == ["2026-03"]
    assert march.statement.billed == again.statement.billed


def test_a_damaged_file_of_a_closed_report_is_made_again(books: Books, tmp_path: Path) -> None:
    closed(books)
    make(books, tmp_path / "2026-03")
    files = contents(tmp_path / "2026-03")
    (tmp_path / "2026-03" / "totals.csv").write_text("nothing\n")
    again = make(books, tmp_path / "2026-03")

    assert again.is_new
    assert contents(tmp_path / "2026-03") == files


def test_videos_are_counted_in_the_month_in_which_a_slot_first_showed_them(
    books: Books, tmp_path: Path
) -> None:
    show(books, ("r-1", MARCH.start + 5), ("r-1", APRIL.start + 5), ("r-2", APRIL.start + 6))
    statement = make(books, tmp_path / "march").statement

    assert [(one.campaign, one.videos) for one in statement.unit_costs] == [(CAMPAIGN, 1)]
    assert statement.all_videos.per_video == statement.billed


def show(books: Books, *shown: tuple[str, int]) -> None:
    """Publications of one slot, each as it was moved to."""
    slot = {"id": "slot", "tenant": "northwind", "campaign": CAMPAIGN, "variant": "v"}
    rows.insert(books.database, schema.slots, slot)
    for number, (rendition, at) in enumerate(shown):
        rows.insert(
            books.database, schema.publications,
            {"id": f"slot@{number}", "tenant": "northwind", "slot": "slot", "number": number,
             "move": "publish", "rendition": rendition, "tags": {}, "from_at": at, "actor": "anna",
             "reason": "", "operation_id": str(number)},
        )  # fmt: skip


def test_a_month_priced_anew_is_exported_at_its_new_price_alone(books: Books, tmp_path: Path) -> None:
    books.reprice("card-2", prices=tuple(replace(one, sku=f"{one.sku}-2") for one in CARD.prices))
    books.rate(MARCH)
    made = make(books, tmp_path / "march")
    with (tmp_path / "march" / "focus.csv").open() as file:
        cards = {row["x_PriceCard"] for row in csv.DictReader(file)}

    assert made.wrong == ()
    assert cards == {"card-2"}
    assert made.statement.around.cards[-1].version == "card-2"


def test_a_running_month_whose_tiers_lag_behind_has_a_report(books: Books, tmp_path: Path) -> None:
    for day in MARCH.days[1:]:
        books.deliver(day, 9 * 10**9)
        books.rate(MARCH, settle=False)
    tiers = [D(line.quantity or 0) for line in books.lines(MARCH) if line.sku == "bytes" and line.tier == 1]

    assert sum(tiers) > 10  # more than the tier holds: what was posted first was posted by smaller totals
    assert make(books, tmp_path / "march").wrong == ()


def test_an_empty_month_is_a_report_of_nothing(books: Books, tmp_path: Path) -> None:
    made = make(books, tmp_path / "2026-02", MARCH.previous)

    assert made.wrong == ()
    assert made.statement.billed == 0
    assert made.manifest["files"]["focus.csv"]["rows"] == 0


def test_a_month_that_has_not_begun_has_no_report(books: Books, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="has not begun"):
        make(books, tmp_path / "later", Month(2099, 1))

    assert not (tmp_path / "later").exists()


def test_a_folder_with_another_months_report_is_left_alone(books: Books, tmp_path: Path) -> None:
    make(books, tmp_path / "x")
    with pytest.raises(NotAllowed, match="2026-03"):
        make(books, tmp_path / "x", APRIL)
    (tmp_path / "x" / "manifest.json").write_text(json.dumps({"month": "2026-03"}))
    with pytest.raises(NotAllowed, match="no manifest"):
        make(books, tmp_path / "x")


def closed(books: Books) -> None:
    """Close March, with everything accepted that a set of books for tests has not."""
    names = ("delivery_hours", "quarantine", "unattributed_share", "unpriced", "invoices_matched")
    close_period(
        books.database, books.cards, MARCH, by="anna", accepted=dict.fromkeys(names, "books of a test")
    )
    with_status = month_ledger(books.database, books.cards, MARCH).watermark

    assert not with_status.is_provisional
