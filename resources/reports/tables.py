"""The statement as tables: the one form from which page, workbook and CSV are made.

Belongs here: columns, their kinds, their rows. Does not belong here: how a table looks in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.ledger import Line
from pipeline.domain.statement import Change, Part, Statement, is_waste
from resources.reports.cells import Cell, Kind

UNATTRIBUTED = "(unattributed)"
NONE = "(none)"

Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` under `columns`; `total` names the columns that add up to what the report states."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def _text(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


def _money(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.MONEY) for name in names)


def _exact(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.EXACT) for name in names)


_COUNT = Column("lines", Kind.COUNT)


def _totals(statement: Statement) -> Iterable[Row]:
    for total in statement.ledger.totals:
        key = total.key
        yield (
            key.spend, key.tenant, key.campaign or UNATTRIBUTED, key.cost_center or NONE, key.meter,
            key.corrects, total.units, total.exact, total.shown,
        )  # fmt: skip


def _part(part: Part) -> Row:
    return (*(name or UNATTRIBUTED for name in part.name), part.exact, part.shown)


def _videos(statement: Statement) -> Iterable[Row]:
    for video in statement.ledger.videos:
        yield (
            video.spend, video.tenant, video.campaign, video.cost_center, video.rendition,
            "yes" if video.is_published else "no", video.exact, video.waste,
        )  # fmt: skip


def _unit_costs(statement: Statement) -> Iterable[Row]:
    for one in (*statement.unit_costs, statement.all_videos):
        yield one.tenant or "all", one.campaign or "all", one.spent, one.videos, one.per_video


def _rates(statement: Statement) -> Iterable[Row]:
    for rated in statement.rates:
        rate = rated.rate
        yield (
            rate.spend, rate.meter, rate.sku, rate.card, rate.tier, rated.quantity, rate.unit,
            rate.unit_price, rated.exact,
        )  # fmt: skip


def _budgets(statement: Statement) -> Iterable[Row]:
    for budget in statement.budgets:
        fact = budget.fact
        yield (
            fact.tenant, fact.campaign, fact.currency, fact.cap, fact.committed, fact.held, fact.actual,
            statement.ledger.currency, budget.left, budget.share,
        )  # fmt: skip


def _change(change: Change) -> Row:
    return change.cause, change.corrects, change.lines, change.exact, change.shown


def _invoices(statement: Statement) -> Iterable[Row]:
    for one in statement.ledger.invoices:
        yield (
            one.provider, one.invoice, one.currency, one.total, one.matched, one.different,
            one.only_theirs, one.only_ours, one.unexplained,
        )  # fmt: skip


def _tried(statement: Statement) -> Iterable[Row]:
    forecast = statement.forecast
    for one in forecast.tried if forecast else ():
        yield str(one.month), one.expected, one.actual, one.error


Rows = Callable[[Statement], Iterable[Row]]
_CHANGE_COLUMNS = (*_text("cause", "corrects"), _COUNT, *_exact("exact"), *_money("shown"))

#: name: title, columns, rows.
_TABLES: Mapping[str, tuple[str, tuple[Column, ...], Rows]] = MappingProxyType(
    {
        "totals": (
            "Stated lines: each rounded once, together the month's total",
            (
                *_text("spend", "tenant", "campaign", "cost_center", "meter", "corrects"),
                *_exact("units", "exact"),
                *_money("shown"),
            ),
            _totals,
        ),
        "tenants": (
            "By tenant",
            (*_text("tenant"), *_exact("exact"), *_money("shown")),
            lambda statement: map(_part, statement.by_tenant),
        ),
        "campaigns": (
            "By campaign",
            (*_text("tenant", "campaign"), *_exact("exact"), *_money("shown")),
            lambda statement: map(_part, statement.by_campaign),
        ),
        "cost_centers": (
            "By cost centre",
            (*_text("tenant", "cost_center"), *_exact("exact"), *_money("shown")),
            lambda statement: (
                (part.name[0], part.name[1] or NONE, part.exact, part.shown)
                for part in statement.by_cost_center
            ),
        ),
        "meters": (
            "By meter",
            (*_text("meter"), *_exact("exact"), *_money("shown")),
            lambda statement: map(_part, statement.by_meter),
        ),
        "days": (
            "By UTC day",
            (
                Column("day", Kind.DAY),
                *_money("generation", "storage", "delivery", "status_and_retrieval", "other"),
            ),
            lambda statement: ((one.day, *one.shown) for one in statement.days),
        ),
        "rates": (
            "At which prices",
            (
                *_text("spend", "meter", "sku", "price_card"),
                Column("tier", Kind.COUNT),
                *_exact("quantity"),
                *_text("unit"),
                *_exact("unit_price", "exact"),
            ),
            _rates,
        ),
        "cost_per_video": (
            "Cost per published video",
            (
                *_text("tenant", "campaign"),
                *_money("spent"),
                Column("videos_published", Kind.COUNT),
                *_money("per_video"),
            ),
            _unit_costs,
        ),
        "videos": (
            "Videos, with what their attempts cost",
            (
                *_text("spend", "tenant", "campaign", "cost_center", "rendition", "published"),
                *_exact("exact", "waste"),
            ),
            _videos,
        ),
        "attempts": (
            "What became of what was paid for",
            (*_text("outcome", "waste"), *_exact("exact"), *_money("shown")),
            lambda statement: (
                (str(fate), "yes" if is_waste(fate) else "no", part.exact, part.shown)
                for fate, part in statement.fates
            ),
        ),
        "forecast_errors": (
            "The forecast's method, asked about past months",
            (*_text("month"), *_money("forecast", "actual"), Column("error", Kind.SHARE)),
            _tried,
        ),
        "budgets": (
            "Budget against actual, from a campaign's first day on",
            (
                *_text("tenant", "campaign", "budget_currency"),
                *_money("cap", "committed", "held", "actual"),
                *_text("ledger_currency"),
                *_money("left"),
                Column("used", Kind.SHARE),
            ),
            _budgets,
        ),
        "unpriced": (
            "Units without a price: not in any total",
            (
                *_text("tenant", "campaign", "meter", "provider", "model", "region", "spend", "reason"),
                *_exact("units"),
            ),
            lambda statement: (
                (
                    one.tenant, one.campaign or UNATTRIBUTED, one.meter, one.provider, one.model,
                    one.region, one.spend, one.reason, one.units,
                )
                for one in statement.ledger.unpriced
            ),
        ),
        "unattributed": (
            "Units that no object of ours explains",
            (*_text("tenant", "meter"), *_exact("units", "of_units", "exact")),
            lambda statement: (
                (one.tenant or NONE, one.meter, one.units, one.of_units, one.amount)
                for one in statement.ledger.unattributed
            ),
        ),
        "corrections": (
            "Corrections of closed months",
            (*_text("corrects", "cause", "tenant"), _COUNT, *_exact("exact")),
            lambda statement: (
                (str(one.corrects), one.cause, one.tenant, one.lines, one.exact)
                for one in statement.ledger.corrections
            ),
        ),
        "postings": (
            "Why lines were posted",
            _CHANGE_COLUMNS,
            lambda statement: map(_change, statement.changes),
        ),
        "since": (
            "What changed since the issue before",
            _CHANGE_COLUMNS,
            lambda statement: map(_change, statement.since),
        ),
        "invoices": (
            "Providers' invoices beside our attempts",
            (
                *_text("provider", "invoice", "currency"),
                *_exact("total"),
                Column("matched", Kind.COUNT),
                Column("different", Kind.COUNT),
                Column("only_theirs", Kind.COUNT),
                Column("only_ours", Kind.COUNT),
                *_exact("unexplained"),
            ),
            _invoices,
        ),
        "not_billed": (
            "Test and sandbox: counted, never billed",
            (*_text("spend", "tenant", "campaign"), *_exact("exact"), *_money("shown")),
            lambda statement: map(_part, statement.not_billed),
        ),
    }
)  # fmt: skip
NAMES = tuple(_TABLES)


def table_of(statement: Statement, name: str) -> Table:
    title, columns, rows = _TABLES[name]
    return Table(name, title, columns, tuple(rows(statement)))


def tables_of(statement: Statement) -> Sequence[Table]:
    return [table_of(statement, name) for name in NAMES]


LINE_COLUMNS: tuple[Column, ...] = (
    *_text("line", "period"),
    Column("day", Kind.DAY),
    *_text(
        "tenant", "campaign", "cost_center", "rendition", "attempt", "spend", "meter", "provider", "model",
        "region", "outcome",
    ),
    *_exact("units"),
    *_text("price_card", "sku"),
    Column("tier", Kind.COUNT),
    *_text("unit"),
    *_exact("quantity", "unit_price", "amount"),
    *_text("currency", "unpriced_because", "corrects", "cause"),
    Column("posted_at", Kind.TIME),
)  # fmt: skip


def line_row(line: Line, currency: str) -> Row:
    """A ledger line under `LINE_COLUMNS`."""
    measured, account = line.measured, line.measured.account
    return (
        line.id, str(line.period), measured.day, account.tenant, account.campaign, account.cost_center,
        account.rendition, account.attempt, account.spend, measured.meter, measured.provider,
        measured.model, measured.region, str(line.fate), line.units, line.card, line.sku, line.tier,
        line.unit, line.quantity, line.unit_price, line.amount, currency, line.reason,
        str(line.corrects or ""), line.cause, line.posted_at,
    )  # fmt: skip
