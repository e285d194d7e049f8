"""F4, F6, §13.8: a month is closed once, by a person, when nothing is missing, and stays as it is (C69)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import LostRace, NotAllowed
from pipeline.domain.ledger import MonthLedger
from pipeline.domain.periods import DAY, Month, Status, midnight
from pipeline.domain.rating import PriceCards
from pipeline.domain.units import SECOND
from pipeline.steps.account import close_period as step
from pipeline.steps.account.checklist import HOUR, LATENESS, checklist
from pipeline.steps.account.close_period import Closed, close_period
from pipeline.steps.account.match_invoice import match_invoice
from pipeline.steps.account.month import added_up, month_ledger
from pipeline.steps.account.rate import months_to_rate
from resources.database import schema
from resources.database.database import Database
from resources.database.invariants.ledger import LEDGER
from resources.database.ledger import Posting, post
from resources.database.periods import hold_open
from tests.conftest import Clock
from tests.database import rows
from tests.steps.account.books import APRIL, CARD, MARCH, Books

D = Decimal
CASE = json.loads((Path(__file__).parents[2] / "data/finance/finance_closed_month.json").read_text("utf-8"))
#: What the invoices of these tests' provider would say, accepted unseen.
NO_INVOICE = {"invoices_matched": "no invoice of the renderer"}


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = _at(CASE["closed_at"])
    return Books(database)


def _at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) * 1000


def _cents(cost: str) -> int:
    return int(D(cost) * 100)


def close(books: Books, month: Month = MARCH, accepted: Mapping[str, str] = NO_INVOICE) -> Closed:
    return close_period(books.database, books.cards, month, by="anna", accepted=accepted)


def ledger_of(books: Books, month: Month) -> MonthLedger:
    return month_ledger(books.database, books.cards, month)


def broken(database: Database) -> list[str]:
    with database.reading() as connection:
        return [
            f"{one.id}: {row.subject}: {row.found}"
            for one in LEDGER
            for row in connection.execute(sa.text(one.sql))
        ]


def test_a_closed_month_stays_and_the_next_one_says_what_came_late(books: Books, clock: Clock) -> None:
    for event in CASE["events"]:
        books.use(_at(event["at"]), _cents(event["cost"]), name=event["id"])
    closed = close(books)
    before = ledger_of(books, MARCH)
    lines_before = books.lines(MARCH)

    late, correction = CASE["late"]
    clock.at = _at(late["arrives"])
    books.use(_at(late["at"]), _cents(late["cost"]), name=late["id"])
    clock.at = _at(correction["arrives"])
    at = _at(CASE["events"][1]["at"])
    books.use(at, -200, name="e2-back")
    books.use(at, 250, name="e2-again")
    rated = books.rate(MARCH)
    books.rate(APRIL)
    april = ledger_of(books, APRIL)

    assert (str(closed.shown), closed.exact) == (CASE["march_report"], D(3))
    assert books.lines(MARCH) == lines_before
    after = ledger_of(books, MARCH)
    assert (after.totals, after.line_count, after.exact) == (before.totals, before.line_count, before.exact)
    assert after.watermark.statement_sha256 == closed.statement_sha256
    assert (rated.period, rated.lines, rated.amount) == (APRIL, 2, D("8.50"))
    assert [(one.corrects, one.cause, one.lines, one.exact) for one in april.corrections] == [
        (MARCH, "late facts", 2, D("8.50"))
    ]
    assert before.exact + april.corrections[0].exact == D("11.50")
    assert april.exact == D("8.50") + D("4.00")
    assert broken(books.database) == []


def test_late_bytes_go_through_the_tiers_of_the_whole_closed_month(books: Books) -> None:
    books.video("r-2")
    books.deliver(date(2026, 3, 1), 8 * 10**9)
    close(books, accepted=NO_INVOICE | {"delivery_hours": "a test"})
    books.deliver(date(2026, 3, 20), 12 * 10**9, rendition="r-2")
    books.rate(MARCH)

    assert books.total(MARCH) == D("0.72")
    assert books.by_rendition(APRIL) == {"r-1": D("0.56") - D("0.72"), "r-2": D("0.84")}
    assert books.total(MARCH) + books.total(APRIL) == D("0.9") + D("0.5")
    assert broken(books.database) == []


def test_a_month_whose_log_came_late_is_rated_again_by_itself(books: Books, clock: Clock) -> None:
    books.deliver(date(2026, 3, 1), 10**9)
    close(books, accepted=NO_INVOICE | {"delivery_hours": "a test"})
    assert months_to_rate(books.database, date(2026, 4, 3)) == [APRIL]

    clock.pass_seconds(60)
    rows.insert(
        books.database, schema.delivery_files,
        {"id": "late", "tenant": "*", "verdict": "read", "reason": "", "kind": "cloudfront", "name": "late",
         "size_bytes": 1, "reader_version": "1", "hours": {}, "reasons": {}, "read_at": clock.at},
    )  # fmt: skip
    books.deliver(date(2026, 3, 2), 10**9, file="late")

    assert months_to_rate(books.database, date(2026, 4, 3)) == [MARCH, APRIL]


def test_a_correction_of_two_closed_months_stands_in_the_first_open_one(books: Books, clock: Clock) -> None:
    books.use(MARCH.start, 100)
    books.use(APRIL.start, 100)
    close(books)
    clock.at = APRIL.end + LATENESS
    close(books, APRIL)
    books.use(MARCH.start, 7)
    rated = books.rate(MARCH)

    assert (rated.period, rated.amount) == (Month(2026, 5), D("0.07"))
    assert (books.total(MARCH), books.total(APRIL)) == (D(1), D(1))


def test_an_attempt_that_fails_after_the_close_is_no_news_about_the_month(books: Books) -> None:
    books.use(MARCH.start, 100)
    close(books)
    books.database.run(lambda tx: tx.connection.execute(sa.text("UPDATE attempts SET state = 'failed'")))

    assert books.rate(MARCH).lines == 0


def test_no_statement_of_ours_writes_into_a_closed_month(books: Books) -> None:
    books.use(MARCH.start, 100)
    close(books)

    def force(tx) -> None:  # type: ignore[no-untyped-def]
        post(tx, Posting(MARCH.first_day, 9, MARCH, None, "forced", CARD, (), "eve"))

    with pytest.raises(LostRace, match="period 2026-03: somebody else was first"):
        books.database.run(force)
    with pytest.raises(LostRace):
        books.database.run(lambda tx: hold_open(tx, MARCH))
    with pytest.raises(NotAllowed, match="is closed already"):
        close(books)


def test_what_was_forced_into_a_closed_month_is_found(books: Books) -> None:
    books.use(MARCH.start, 100)
    close(books)
    assert broken(books.database) == []
    books.database.run(
        lambda tx: tx.connection.execute(sa.text("UPDATE ledger_postings SET amount_nano = 5"))
    )

    assert {line.partition(":")[0] for line in broken(books.database)} == {
        "posting_is_its_lines", "closed_month_is_as_it_was",
    }  # fmt: skip


def test_a_posting_that_slips_in_while_the_statement_is_drawn_up_stops_the_close(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.use(MARCH.start, 100)

    def slow(connection, month):  # type: ignore[no-untyped-def]
        found = added_up(connection, month)
        if books.database.engine.dialect.name == "sqlite":
            connection.rollback()
        monkeypatch.undo()
        books.use(MARCH.start, 1)
        books.rate(MARCH)
        return found

    monkeypatch.setattr(step, "added_up", slow)
    with pytest.raises(LostRace, match="1 postings since"):
        close(books)

    assert ledger_of(books, MARCH).watermark.status is Status.GRACE
    assert close(books).shown == D("1.01")


def missing(books: Books, month: Month = MARCH) -> dict[str, tuple[str, ...]]:
    items = checklist(books.database, books.cards, month)
    return {item.name: item.missing for item in items if not item.holds}


def test_a_refusal_names_each_item_and_the_command_that_mends_it(books: Books, clock: Clock) -> None:
    clock.at = MARCH.end + HOUR
    books.use(MARCH.start, 100)
    books.use(MARCH.start, 3, "generated_seconds")
    rows.insert(
        books.database, schema.objects,
        {"id": "o-1", "tenant": "northwind", "campaign": None, "kind": "source", "retention_class": "s",
         "key": "k", "sha256": "x", "size_bytes": 9, "media_type": "image/png", "facts": {}, "state": "live",
         "created_at": midnight(date(2026, 3, 30))},
    )  # fmt: skip

    with pytest.raises(NotAllowed) as refused:
        close(books, accepted={})

    told = str(refused.value)
    assert "month_is_over: " in told
    assert "from 2026-04-02 01:00 UTC on" in told
    assert "storage_measured: storage of every day is measured (2026-03-30, 2026-03-31)" in told
    assert "unpriced: everything that was used has a price (generated_seconds: no price" in told
    assert "invoices_matched: " in told
    assert "no invoice of local" in told
    for command in ("reelwright rate 2026-03", "reelwright invoice match FILE", "--accept unpriced=WHY"):
        assert command in refused.value.remedy
    assert ledger_of(books, MARCH).watermark.status is Status.GRACE


def test_what_may_not_be_accepted_is_not(books: Books, clock: Clock) -> None:
    clock.at = MARCH.end + HOUR
    books.use(MARCH.start, 100)

    with pytest.raises(NotAllowed, match="month_is_over"):
        close(books, accepted=NO_INVOICE | {"month_is_over": "please"})


@pytest.mark.parametrize(
    ("accepted", "problem"),
    [({"weather": "fine"}, "is not on the checklist"), ({"unpriced": " "}, "without a reason")],
)
def test_an_acceptance_names_an_item_and_a_reason(
    books: Books, accepted: dict[str, str], problem: str
) -> None:
    books.use(MARCH.start, 100)

    with pytest.raises(NotAllowed, match=problem):
        close(books, accepted=accepted)


def test_a_reason_is_kept_in_the_months_accounts(books: Books) -> None:
    books.use(MARCH.start, 100)
    close(books)
    [period] = [row for row in rows.rows(books.database, schema.periods) if row.closed_at]
    kept = {item["name"]: item["accepted"] for item in period.checklist}

    assert (period.closed_by, kept["invoices_matched"], kept["unpriced"]) == (
        "anna", NO_INVOICE["invoices_matched"], "",
    )  # fmt: skip


def test_months_are_closed_in_order(books: Books, clock: Clock) -> None:
    books.use(MARCH.start, 100)
    books.use(APRIL.start, 100)
    books.rate(MARCH)
    clock.at = APRIL.end + LATENESS

    assert missing(books, APRIL)["earlier_months_closed"] == ("2026-03",)


def test_only_who_the_card_names_may_close(books: Books) -> None:
    books.use(MARCH.start, 100)
    books.reprice("card-1", approvers=frozenset({"bea"}))

    with pytest.raises(NotAllowed, match="anna may not close it") as refused:
        close(books)
    assert "bea" in refused.value.remedy


def test_a_sample_card_does_not_close_a_month_by_itself(books: Books) -> None:
    books.reprice("card-1", is_sample=True)

    assert missing(books)["priced_by_own_card"] == ("card-1 is a sample",)


def test_days_without_a_card_are_named(books: Books) -> None:
    books.reprice("card-1", effective_from=date(2026, 3, 3))

    assert missing(books)["priced_by_own_card"] == ("2026-03-01", "2026-03-02")
    books.cards = PriceCards()
    assert len(missing(books)["priced_by_own_card"]) == 31


def _log(books: Books, name: str, hours: list[int], **columns: object) -> None:
    rows.insert(
        books.database, schema.delivery_files,
        {"id": name, "tenant": "*", "verdict": "read", "reason": "", "kind": "cloudfront", "name": name,
         "size_bytes": 1, "reader_version": "1", "hours": {str(hour): 1 for hour in hours}, "reasons": {},
         "first_at": hours[0], "last_at": hours[-1], "read_at": hours[0]} | columns,
    )  # fmt: skip


def test_hours_without_a_log_line_are_named(books: Books) -> None:
    every = list(range(MARCH.start, MARCH.end, HOUR))
    _log(books, "most", [hour for hour in every if hour not in every[5:8] + every[30:31]])

    assert missing(books)["delivery_hours"] == (
        "2026-03-01 05:00 to 2026-03-01 08:00", "2026-03-02 06:00 to 2026-03-02 07:00",
    )  # fmt: skip
    _log(books, "rest", every[5:8] + every[30:31])
    assert "delivery_hours" not in missing(books)


def test_a_month_without_delivery_needs_no_log(books: Books) -> None:
    assert "delivery_hours" not in missing(books)


def test_lines_set_aside_and_files_refused_are_named(books: Books) -> None:
    _log(books, "half", [MARCH.start], verdict="read")
    _log(books, "cut.gz", [MARCH.start], verdict="refused")
    rows.insert(
        books.database, schema.delivery_quarantine,
        {"file": "half", "line": 3, "tenant": "*", "reason": "bad_time", "field": "time"},
        {"file": "half", "line": 4, "tenant": "*", "reason": "bad_time", "field": "time"},
    )  # fmt: skip

    assert missing(books)["quarantine"] == ("2 lines bad_time, the first is line 3 of half", "cut.gz refused")


def test_nobodys_bytes_over_the_cards_limit_are_named(books: Books) -> None:
    nobody: dict[str, Any] = dict.fromkeys(
        ("tenant", "campaign", "rendition", "object", "cost_center", "spend")
    )
    books.deliver(date(2026, 3, 5), 99)
    books.deliver(date(2026, 3, 5), 1, **nobody)
    books.rate(MARCH)
    assert "unattributed_share" not in missing(books)

    books.deliver(date(2026, 3, 6), 1, **nobody)
    books.rate(MARCH)

    assert missing(books)["unattributed_share"] == ("2 of 101 bytes, 1.98%",)


INVOICE = b"job_id,amount,currency\nkey-r-1-a1,1.00,USD\n"


def test_an_invoice_that_matches_line_by_line_settles_its_item(books: Books) -> None:
    books.use(MARCH.start, 100)
    books.rate(MARCH)
    match_invoice(
        books.database,
        INVOICE,
        name="i.csv",
        provider="local",
        listed=(),
        month=MARCH,
        currency="USD",
        actor="anna",
    )

    assert "invoices_matched" not in missing(books)
    assert close(books, accepted={}).shown == D("1.00")


def test_shown_amounts_of_the_statement_add_up(books: Books) -> None:
    for number in range(7):
        books.video(f"v-{number}")
        books.use(MARCH.start + number * DAY, 49, rendition=f"v-{number}", attempt=f"v-{number}-a1",
                  cost_center=f"MKT-{number}")  # fmt: skip
    books.reprice("card-1", prices=(CARD.prices[0].__class__(**{
        **{name: getattr(CARD.prices[0], name) for name in CARD.prices[0].__slots__},
        "tiers": (CARD.prices[0].tiers[0].__class__(D(0), None, D("0.0001")),),
    }),))  # fmt: skip
    closed = close(books)
    totals = ledger_of(books, MARCH).totals

    assert (closed.exact, closed.shown) == (D("0.0343"), D("0.03"))
    assert sum(total.shown for total in totals) == D("0.03")
    assert sum(total.exact for total in totals) == D("0.0343")


def test_a_month_says_what_every_video_cost_and_what_was_wasted(books: Books) -> None:
    failed = books.video("r-2", state="failed")
    books.use(MARCH.start, 100)
    books.use(MARCH.start + SECOND, 30, attempt=failed, rendition="r-2")
    books.use(MARCH.start + SECOND, 20, attempt=books.attempt, spend="test")
    books.rate(MARCH)
    found = ledger_of(books, MARCH)

    assert [(one.rendition, one.spend, one.exact, one.waste) for one in found.videos] == [
        ("r-1", "live", D(1), D(0)), ("r-1", "test", D("0.2"), D(0)), ("r-2", "live", D("0.3"), D("0.3")),
    ]  # fmt: skip
    assert found.exact == D("1.5")
    assert found.watermark.is_provisional
