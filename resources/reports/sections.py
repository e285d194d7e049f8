"""The sections of the page between its head and its foot: who pays, for what, how well, and what moves.

Belongs here: which pieces a section has, and its words. Does not belong here: pieces (`markup`), sums
(`pipeline.domain.statement`), the document (`page`).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from html import escape

from pipeline.domain.forecast import METHOD, Forecast
from pipeline.domain.periods import Month
from pipeline.domain.statement import Family, Part, Statement, is_waste
from resources.reports.charts import Column, stacked, swatch
from resources.reports.markup import bars, moment, money, share, table
from resources.reports.tables import NONE, UNATTRIBUTED, Table, table_of


def section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def amount(statement: Statement, value: Decimal) -> str:
    return f"{money(value, statement.ledger.places)} {escape(statement.ledger.currency)}"


def _table(statement: Statement, name: str) -> str:
    return table(table_of(statement, name), statement.ledger.places)


def _bars(statement: Statement, parts: Sequence[Part], caption: str, nameless: str = UNATTRIBUTED) -> str:
    return bars(parts, statement.billed, statement.ledger.places, caption=caption, nameless=nameless)


def who(statement: Statement) -> str:
    return section(
        "Who pays",
        _bars(statement, statement.by_tenant, "By tenant"),
        _bars(statement, statement.by_campaign, "By campaign"),
        _bars(statement, statement.by_cost_center, "By cost centre", NONE),
        note("An account without a campaign is what no object of ours explains: see Unattributed."),
    )


def what(statement: Statement) -> str:
    used = [number for number in range(len(Family)) if any(one.shown[number] for one in statement.days)]
    names = list(Family)
    legend = "".join(f"<li>{swatch(number)} {names[number]}</li>" for number in used)
    columns = [
        Column(
            str(one.day.day) if one.day.day % 5 == 0 or one.day.day == 1 else "",
            f"{one.day}: {money(sum(one.shown, Decimal(0)), statement.ledger.places)}",
            one.shown,
        )
        for one in statement.days
    ]
    chart = stacked(columns, f"Spend a day of {statement.month}, by kind of meter")
    return section(
        "What for",
        f"<figure><figcaption>Spend a UTC day, in {escape(statement.ledger.currency)}</figcaption>{chart}"
        f'<ul class="legend">{legend}</ul></figure>',
        _details("The days as a table", _all_rows(statement, "days")),
        _bars(statement, statement.by_meter, "By meter"),
        _details("At which prices", _table(statement, "rates")),
    )


def _all_rows(statement: Statement, name: str) -> str:
    """A table without the cut: a month has no more than 31 days."""
    whole = table_of(statement, name)
    half = (len(whole.rows) + 1) // 2
    parts = [whole.rows[:half], whole.rows[half:]]
    return "".join(
        table(Table(name, whole.title, whole.columns, rows), statement.ledger.places)
        for rows in parts
        if rows
    )


def _details(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def per_video(statement: Statement) -> str:
    return section(
        "Cost per published video",
        note(
            "Numerator: a campaign's live spend of the month, without corrections of earlier ones."
            " Denominator: videos that a slot showed for the first time in the month."
            " Where none was published there is no figure."
        ),
        _table(statement, "cost_per_video"),
    )


def waste(statement: Statement) -> str:
    parts = [
        Part((f"{fate.replace('_', ' ')}{' (waste)' if is_waste(fate) else ''}",), part.exact, part.shown)
        for fate, part in statement.fates
    ]
    return section(
        "Waste",
        note("What became of the attempts that were paid for. “none”: no attempt stands beneath."),
        _bars(statement, parts, "What became of what was paid for"),
    )


def forecast(statement: Statement) -> str:
    found = statement.forecast
    if found is None:
        return section("Forecast", note("None: fewer than seven whole days are known."))
    error = found.mean_error
    band = (
        f"Between {amount(statement, found.low)} and {amount(statement, found.high)}, by the furthest that"
        " the method was off."
        if found.low is not None and found.high is not None
        else "No band: fewer than three past months are known."
    )
    told = (
        f"Off by {share(error)} on average over {len(found.tried)} past months."
        if error is not None
        else "No past month to try the method on."
    )
    return section(
        "Forecast",
        f'<p class="big">{found.month}: {amount(statement, found.expected)}</p>',
        note(f"Method: {METHOD}. Known are the days before {found.through}. {band} {told}"),
        _forecast_chart(statement, found),
        _table(statement, "forecast_errors") if found.tried else "",
    )


def _forecast_chart(statement: Statement, found: Forecast) -> str:
    """Past months as they came; the forecast one lighter and dashed, what is spent of it at its foot."""
    places = statement.ledger.places
    columns = [
        Column(_short(one.month), f"{one.month}: {money(one.actual, places)}", (one.actual,))
        for one in found.tried[-6:]
    ]
    columns.append(
        Column(
            f"{_short(found.month)}*",
            f"{found.month}, forecast: {money(found.expected, places)}",
            (found.expected,),
            is_forecast=True,
        )
    )
    chart = stacked(columns, "Months as they came, and the forecast")
    return f"<figure><figcaption>Live spend a month; * forecast</figcaption>{chart}</figure>"


def _short(month: Month) -> str:
    return f"{month.first_day:%b}"


def budget(statement: Statement) -> str:
    if not statement.budgets:
        return section("Budget against actual", note("No campaign with a budget has cost anything."))
    foreign = any(not one.is_comparable for one in statement.budgets)
    return section(
        "Budget against actual",
        note(
            "A budget is a campaign's cap for generation over its whole life. Committed: settled at quoted"
            " prices. Held: reserved for attempts that are not over. Actual: all that the ledger has of the"
            " campaign up to the end of the month, storage and delivery included."
        ),
        note("Where budget and ledger have different currencies they are not compared.") if foreign else "",
        _table(statement, "budgets"),
    )


def open_questions(statement: Statement) -> str:
    ledger = statement.ledger
    return section(
        "Unpriced and unattributed",
        _table(statement, "unpriced")
        if ledger.unpriced
        else note("Everything that was measured has a price."),
        _table(statement, "unattributed")
        if ledger.unattributed
        else note("Everything that was measured belongs to a campaign."),
    )


def moves(statement: Statement) -> str:
    previous = statement.around.previous
    if previous is None:
        since = note("This is the first issue of this month.")
    elif statement.since:
        since = note(
            f"The issue before stood at {_exact_total(statement, previous.exact)} with {previous.lines:,}"
            f" lines, newest posting {moment(previous.rated_at)}. Since then:"
        ) + _table(statement, "since")
    else:
        since = note("Nothing was posted to live spend since the issue before.")
    return section(
        "Corrections and restatement",
        _table(statement, "corrections")
        if statement.ledger.corrections
        else note("No closed month is corrected here."),
        since,
        _details("Every cause of this month's lines", _table(statement, "postings")),
    )


def _exact_total(statement: Statement, value: Decimal) -> str:
    return f"{money(value, statement.ledger.places)} {statement.ledger.currency}"


def invoices(statement: Statement) -> str:
    if not statement.ledger.invoices:
        return section("Invoices", note("No provider's invoice was matched for this month."))
    return section(
        "Invoices",
        _table(statement, "invoices"),
        note("Unexplained: theirs less ours, over everything that is not matched."),
    )


def apart(statement: Statement) -> str:
    if not statement.not_billed:
        return section("Test and sandbox", note("None in this month."))
    total = sum((part.shown for part in statement.not_billed), Decimal(0))
    places = statement.ledger.places
    return section(
        "Test and sandbox",
        note("Counted and priced like the rest, never billed, and in no total above."),
        bars(statement.not_billed, total, places, caption="By kind of spend, tenant and campaign", look=4),
    )
