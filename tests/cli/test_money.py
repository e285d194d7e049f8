"""A month as a controller closes it: rated, looked at, refused with what is missing, closed, corrected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.domain.periods import midnight
from resources.database import schema
from resources.database.database import Database
from tests.cli.desk import Desk
from tests.steps.account.books import CAMPAIGN, MARCH, Books

CARD = """
version: ours-1
currency: USD
effective_from: 2026-01-01
source: our contract
approvers: [bea]
prices:
  - {sku: credits, meters: [provider_units], unit: Credits, tiers: [{from: "0", price: "0.01"}],
     source: our contract, retrieved_on: 2026-01-01}
"""


@pytest.fixture
def books(both: Desk) -> Iterator[Books]:
    """Books of a month that is long over; the commands read the real clock."""
    database = Database.at(both.database_url)
    made = Books(database)
    made.use(midnight(MARCH.first_day) + 1, 1234)
    yield made
    database.close()


def priced(both: Desk, monkeypatch: pytest.MonkeyPatch, text: str = CARD) -> Path:
    card = both.folder / "card.yaml"
    card.write_text(text, "utf-8")
    monkeypatch.setenv("REELWRIGHT_PRICE_CARDS", str(card))
    return card


def test_a_month_goes_from_usage_to_a_closed_statement_and_a_correction(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(both, monkeypatch)
    rated = both.json("rate", "2026-03")
    open_ = both.json("ledger", "2026-03")
    refused = both.run("close", "2026-03", "--as", "bea")
    export = both.folder / "acme.csv"
    export.write_text("job_id,amount,currency\nkey-r-1-a1,12.34,USD\n", "utf-8")
    matched = both.json("invoice", "match", export, "--provider", "local", "--month", "2026-03")
    closed = both.json("close", "2026-03", "--as", "bea")
    books.use(midnight(MARCH.first_day) + 2, 66)
    late = both.json("rate", "2026-03")
    april = both.json("ledger", "2026-04")

    assert (rated["lines"], rated["amount"]) == (1, "12.34")
    assert (open_["shown"], open_["watermark"]["status"]) == ("12.34", "grace")
    assert refused.exit_code == 1
    assert "invoices_matched: " in refused.stderr
    assert "\nremedy: " in refused.stderr
    assert "reelwright invoice match FILE --provider NAME --month 2026-03" in refused.stderr
    assert (matched["result"]["matched"], matched["result"]["unexplained"]) == (1, "0")
    assert (closed["by"], closed["shown"], closed["lines"]) == ("bea", "12.34", 1)
    assert (late["period"], late["amount"]) == ("2026-04", "0.66")
    assert [(one["corrects"], one["cause"], one["exact"]) for one in april["corrections"]] == [
        ("2026-03", "late facts", "0.66")
    ]
    again = both.json("ledger", "2026-03")
    assert (again["shown"], again["watermark"]["statement_sha256"]) == ("12.34", closed["statement_sha256"])


def test_tables_for_people_name_the_account_and_what_is_provisional(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(both, monkeypatch)
    books.use(midnight(MARCH.first_day), 5, "generated_seconds")
    both.run("rate", "2026-03")
    shown = both.run("ledger", "2026-03").stdout
    listed = both.run("close", "2026-03", "--dry-run").stdout

    assert CAMPAIGN in shown
    assert "grace: provisional; 12.34 USD by ours-1" in shown
    assert "no price of generated_seconds" in shown
    assert "unpriced" in listed
    assert "NO" in listed


def test_test_spend_is_beside_what_is_billed_and_not_in_it(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(both, monkeypatch)
    books.use(midnight(MARCH.first_day), 500, spend="test")
    both.run("rate", "2026-03")
    whole = both.json("ledger", "2026-03")
    shown = both.run("ledger", "2026-03").stdout
    accepted = ("--accept", "invoices_matched=none yet")
    closed = both.run("close", "2026-03", "--as", "bea", *accepted)

    assert (whole["billed"], whole["shown"]) == ("12.34", "17.34")
    assert "12.34 USD billed and 5.00 USD of test spend by ours-1" in shown
    assert "closed by bea: 12.34 USD billed and 5.00 USD of test spend over 2 lines" in closed.stdout


def test_only_an_approver_of_the_card_closes(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(both, monkeypatch)
    refused = both.run("close", "2026-03", "--as", "anna")

    assert refused.exit_code == 1
    assert "anna may not close it; remedy: let one of bea do it" in refused.stderr
    assert books.lines(MARCH) == []


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("close", "2026-13"), 2, "is no month"),
        (("close", "2026-03", "--accept", "unpriced"), 2, "write ITEM=WHY"),
        (("close", "2026-03", "--as", "bea", "--accept", "weather=fine"), 1, "is not on the checklist"),
        (
            ("invoice", "match", "none.csv", "--provider", "local", "--month", "2026-03"),
            2,
            "cannot be read: No such",
        ),
    ],
)
def test_what_cannot_be_done_says_why(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int,
    problem: str,
) -> None:  # fmt: skip
    priced(both, monkeypatch)
    refused = both.run(*arguments)

    assert refused.exit_code == code
    assert problem in refused.stderr
    assert books.lines(MARCH) == [] or arguments[0] == "close"


def test_an_invoice_in_another_currency_leaves_nothing(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced(both, monkeypatch)
    export = both.folder / "acme.csv"
    export.write_text("job_id,amount,currency\nkey-r-1-a1,12.34,EUR\n", "utf-8")
    refused = both.run("invoice", "match", export, "--provider", "local", "--month", "2026-03")

    assert refused.exit_code == 2
    assert "line 2, currency: is not that of our books (got EUR); allowed: USD" in refused.stderr
    with books.database.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.invoices)) == 0


def test_two_cards_at_one_time_stop_every_command(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = both.folder / "cards"
    folder.mkdir()
    (folder / "a.yaml").write_text(CARD, "utf-8")
    (folder / "b.yaml").write_text(
        CARD.replace("ours-1", "ours-2").replace("2026-01-01\nsource", "2026-02-01\nsource"), "utf-8"
    )
    monkeypatch.setenv("REELWRIGHT_PRICE_CARDS", str(folder))
    refused = both.run("rate", "2026-03")

    assert refused.exit_code == 2
    assert "still holds" in refused.stderr
    assert "write `retires_on: 2026-02-01` into" in refused.stderr
    assert books.lines(MARCH) == []
