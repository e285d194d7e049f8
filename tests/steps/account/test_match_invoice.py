"""F6: every line of an invoice is somebody's, and what does not match is named."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pipeline.domain.errors import BadDocument, NotAllowed
from pipeline.steps.account.match_invoice import Matching, match_invoice
from pipeline.steps.account.month import month_ledger
from resources.database import schema
from resources.database.database import Database
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import APRIL, MARCH, Books

D = Decimal


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = APRIL.start
    made = Books(database)
    for number, units in ((2, 42), (3, 50), (4, 7)):
        attempt = made.video(f"r-{number}", handle=f"job-{number}")
        made.use(MARCH.start, units, attempt=attempt, rendition=f"r-{number}")
    made.use(MARCH.start, 3, "generated_seconds")
    made.rate(MARCH)
    return made


def match(books: Books, text: str | bytes, name: str = "invoice.csv", provider: str = "local") -> Matching:
    content = text if isinstance(text, bytes) else text.encode()
    return match_invoice(
        books.database, content, name=name, provider=provider, listed={"runway"}, month=MARCH,
        currency="USD", actor="anna",
    )  # fmt: skip


EXPORT = """\ufeffID,Cost,Currency,Note
job-2,0.42,usd,"a, b"
job-3,0.20,USD,
job-3,0.20,USD,
job-99,5.00,USD,
key-r-1-a1,0.30,USD,
"""


def test_each_line_is_matched_different_only_theirs_or_only_ours(books: Books) -> None:
    found = match(books, EXPORT)

    assert [(one.standing, one.attempt, one.theirs, one.ours, one.why) for one in found.lines] == [
        ("only_theirs", "", D("5.00"), None, "no attempt of ours has this reference"),
        ("matched", "r-2-a1", D("0.42"), D("0.42"), ""),
        ("different", "r-3-a1", D("0.4"), D("0.5"), "they bill -0.1 more in 2 lines"),
        ("different", "r-1-a1", D("0.3"), None, "our card has no price of it"),
        ("only_ours", "r-4-a1", None, D("0.07"), "no line of the invoice names it"),
    ]
    result = found.result
    assert (result.matched, result.different, result.only_theirs, result.only_ours) == (1, 2, 1, 1)
    assert (result.total, result.unexplained) == (D("6.12"), D("5.13"))


def test_the_result_is_kept_and_is_part_of_the_month(books: Books) -> None:
    found = match(books, EXPORT)

    assert month_ledger(books.database, books.cards, MARCH).invoices == (found.result,)
    assert len(rows.rows(books.database, schema.invoice_lines)) == 5


def test_the_same_file_again_takes_the_place_of_its_result(books: Books) -> None:
    match(books, EXPORT)
    books.use(MARCH.start, 43, attempt="r-4-a1", rendition="r-4")
    books.rate(MARCH)
    again = match(books, EXPORT, "copy.csv")

    assert [row.name for row in rows.rows(books.database, schema.invoices)] == ["copy.csv"]
    assert again.lines[-1].ours == D("0.5")


def test_a_job_found_later_by_a_listing_is_ours_too(books: Books) -> None:
    rows.insert(
        books.database, schema.remote_jobs,
        {"provider": "local", "handle": "twin", "tenant": "northwind", "attempt": "r-2-a1",
         "found_by": "listing", "bound": 0, "at": 0},
    )  # fmt: skip
    [twin] = [one for one in match(books, "id,amount,currency\ntwin,0.42,USD\n").lines if one.theirs]

    assert (twin.standing, twin.attempt) == ("matched", "r-2-a1")


@pytest.mark.parametrize("theirs", ["0.4", "0.42", "0.420", "0.42000"])
def test_amounts_match_to_the_place_that_the_export_writes(books: Books, theirs: str) -> None:
    found = match(books, f"id,amount,currency\njob-2,{theirs},USD\n")

    assert found.result.matched == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,amount,currency\njob-2,0.42,EUR\n", "line 2, currency: is not that of our books .got EUR.*USD"),
        ("id,amount\njob-2,0.42\n", "currency: is no column"),
        ("id,amount,currency\njob-2,$0.42,USD\n", "line 2, amount: is not an amount"),
        ("id,amount,currency\njob-2,nan,USD\n", "line 2, amount: is not an amount"),
        ("id,amount,currency\n,0.42,USD\n", "line 2, reference: is empty"),
        ("id,amount,currency\njob-2\n", "line 2, amount"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        ("", "is no column"),
        ('id,amount,currency\n"job', "is no CSV"),
    ],
)
def test_an_export_that_cannot_be_read_is_refused_whole(
    books: Books, text: str | bytes, problem: str
) -> None:
    with pytest.raises(BadDocument, match=problem):
        match(books, text)

    assert rows.rows(books.database, schema.invoices) == []


def test_an_invoice_of_a_provider_that_nobody_knows_is_refused_and_leaves_nothing(books: Books) -> None:
    with pytest.raises(NotAllowed, match="there is no provider 'locl'; there are local, runway"):
        match(books, EXPORT, provider="locl")

    assert rows.rows(books.database, schema.invoices) == []


def test_a_listed_provider_may_bill_though_it_was_never_asked(books: Books) -> None:
    assert match(books, EXPORT, provider="runway").result.only_theirs > 0
