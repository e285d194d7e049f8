"""A statement adds up, whatever it is rounded to, and says what it does not know."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.forecast import forecast
from pipeline.domain.ledger import Fate
from pipeline.domain.periods import Month
from pipeline.domain.rating import METERS
from pipeline.domain.statement import Family, Issue, family_of
from pipeline.domain.statement_sums import fitted
from tests.reports.ledgers import NOVEMBER, OCTOBER, POSTED, account, books_of, line, november, unpriced

D = Decimal
DAY = date(2026, 11, 4)


def test_every_table_of_a_real_month_adds_up_to_its_total() -> None:
    statement = november().statement

    assert statement.unreconciled() == []
    assert statement.billed == sum(part.shown for part in statement.by_campaign)
    assert statement.billed + sum(part.shown for part in statement.not_billed) == statement.ledger.shown


def test_seven_small_amounts_show_what_they_are_together() -> None:
    """0.0049 seven times is 0.03, and never 0.00 (each rounded) nor 0.07."""
    lines = [line(n, DAY, account(f"c{n}"), "provider_units", D("0.098")) for n in range(1, 8)]
    statement = books_of(lines).statement

    assert statement.ledger.exact == D("0.0343")
    assert statement.billed == D("0.03")
    assert sorted(part.shown for part in statement.by_campaign) == [D("0.00")] * 4 + [D("0.01")] * 3
    assert statement.unreconciled() == []


def test_test_spend_is_in_no_total() -> None:
    lines = [
        line(1, DAY, account("spring"), "provider_units", 100),
        line(2, DAY, account("spring", spend="test"), "provider_units", 20),
    ]
    statement = books_of(lines).statement

    assert statement.billed == D("5.00")
    assert [(part.name, part.shown) for part in statement.not_billed] == [
        (("test", "northwind", "northwind.spring"), D("1.00"))
    ]


def test_units_without_a_price_are_named_and_no_zero() -> None:
    books = books_of([unpriced(1, DAY, account("spring"))])

    assert books.statement.by_campaign == ()
    assert [one.units for one in books.ledger.unpriced] == [40]


def test_what_failed_is_waste_and_what_runs_is_not() -> None:
    lines = [
        line(n, DAY, account("spring"), "provider_units", 100, fate=fate) for n, fate in enumerate(Fate, 1)
    ]
    statement = books_of(lines).statement

    assert statement.waste == D("25.00")
    assert statement.billed == D("40.00")


def test_a_campaign_without_a_published_video_has_no_cost_per_video() -> None:
    lines = [
        line(1, DAY, account("spring"), "provider_units", 100),
        line(2, DAY, account("autumn"), "provider_units", 50),
        line(3, date(2026, 10, 9), account("spring"), "provider_units", 900, corrects=OCTOBER),
    ]
    costs = {
        one.campaign: (one.spent, one.videos, one.per_video)
        for one in books_of(lines, published={"northwind.spring": 3}).statement.unit_costs
    }

    assert costs == {
        "northwind.spring": (D("5.00"), 3, D("1.67")),
        "northwind.autumn": (D("2.50"), 0, None),
    }


def test_what_was_posted_since_the_issue_before_is_told_by_its_cause() -> None:
    later = POSTED + timedelta(hours=5)
    lines = [
        line(1, DAY, account("spring"), "provider_units", 100),
        line(2, DAY, account("spring"), "provider_units", 7, cause="late facts", posted_at=later),
    ]
    statement = books_of(lines, previous=Issue(POSTED, D("5.00"), 1)).statement

    assert [(one.cause, one.lines, one.shown) for one in statement.since] == [("late facts", 1, D("0.35"))]
    assert statement.issue == Issue(later, D("5.35"), 2)


def test_corrections_of_a_closed_month_stand_apart_from_the_month_itself() -> None:
    """March's 3.00 stays; what came late, 8.50, is a correction that names it: 11.50 together."""
    lines = [
        line(1, DAY, account("spring"), "provider_units", 60),
        *(
            line(n, date(2026, 10, day), account("spring"), "provider_units", units, corrects=OCTOBER)
            for n, (day, units) in enumerate([(20, 160), (31, -40), (31, 50)], 2)
        ),
    ]
    statement = books_of(lines).statement

    assert (statement.billed, statement.corrections) == (D("11.50"), D("8.50"))
    assert [(str(one.corrects), one.exact) for one in statement.ledger.corrections] == [("2026-10", D("8.5"))]
    assert sum(sum(day.shown) for day in statement.days) == D("3.00")


amounts = st.lists(st.decimals(-1000, 1000, places=7), min_size=1, max_size=30)


@given(amounts, st.integers(0, 4), st.integers(-40, 40))
def test_fitted_amounts_add_up_to_whatever_total_they_are_given(
    exact: list[Decimal], places: int, off: int
) -> None:
    total = sum(exact, D(0)).quantize(D(1).scaleb(-places)) + D(off).scaleb(-places)
    shown = fitted(exact, total, places)

    assert sum(shown) == total
    assert all(
        abs(one - other) <= (abs(off) + 1) * D(1).scaleb(-places)
        for one, other in zip(exact, shown, strict=True)
    )


def test_a_forecast_says_how_far_off_it_was() -> None:
    """Ten a day for a year, twenty in the last month: the method said half of what came."""
    daily = {date(2025, 11, 1) + timedelta(days=n): D(10) for n in range(365)}
    daily |= {day: D(20) for day in NOVEMBER.days}
    found = forecast(daily, NOVEMBER.next.first_day, NOVEMBER.next)

    assert found is not None
    assert found.expected == D(20) * 31
    assert [(one.month, one.expected, one.actual) for one in found.tried][-1] == (NOVEMBER, D(300), D(600))
    assert found.tried[-1].error == D("-0.5")
    assert found.high == found.expected * 2


def test_a_running_month_is_forecast_from_its_own_days_and_tried_on_the_same_day_of_others() -> None:
    daily = {date(2026, 8, 1) + timedelta(days=n): D(n % 7) for n in range(100)}
    found = forecast(daily, date(2026, 11, 8), NOVEMBER)

    assert found is not None
    assert found.spent == sum(daily[date(2026, 11, n)] for n in range(1, 8))
    assert found.expected == found.spent + 23 * D(3)
    assert [one.month for one in found.tried] == [Month(2026, 9), OCTOBER]
    assert found.low is None


def test_less_than_a_week_makes_no_forecast() -> None:
    daily = {date(2026, 11, n): D(1) for n in range(1, 6)}

    assert forecast(daily, date(2026, 11, 6), NOVEMBER) is None


def test_a_total_that_is_not_its_lines_is_told() -> None:
    books = books_of([line(1, DAY, account("spring"), "provider_units", 100)])
    twice = books_of([*books.lines, line(2, DAY, account("spring"), "provider_units", 100)])
    broken = type(books)(books.ledger, twice.lines, books.around, books.proof).statement

    assert any("lines and stated lines" in told for told in broken.unreconciled())


def test_every_meter_that_can_be_priced_belongs_to_a_family() -> None:
    assert [meter for meter in METERS if family_of(meter) is Family.OTHER] == []


def test_the_month_begins_and_ends_at_midnight_utc() -> None:
    statement = november().statement

    assert [statement.days[0].day, statement.days[-1].day] == [date(2026, 11, 1), date(2026, 11, 30)]
    assert isinstance(statement.issue.rated_at, datetime)
