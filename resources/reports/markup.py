"""Pieces of the page: tables, bars, numbers as people read them.

Belongs here: HTML of one piece. Does not belong here: which pieces a report has (`page`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from html import escape

from pipeline.domain.statement import Part
from resources.reports.cells import Cell, Kind
from resources.reports.charts import bar
from resources.reports.tables import UNATTRIBUTED, Column, Row, Table

#: Rows of a table on the page; the workbook has them all.
SHOWN_ROWS = 25
#: More columns than these stand below each other on a narrow screen.
WIDE_COLUMNS = 4
_ENDS = re.compile(r"([_./-])(?=\w)")
_MINUS = "\N{MINUS SIGN}"
_NUMBERS = (Kind.COUNT, Kind.MONEY, Kind.EXACT, Kind.SHARE)
#: Places of an exact number on the page, whose digits are in lines.csv.
_EXACT_PLACES = Decimal("0.000001")


def money(value: Decimal, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", _MINUS)


def share(value: Decimal | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %".replace("-", _MINUS)


def moment(value: datetime | None) -> str:
    return value.strftime("%Y-%m-%d %H:%M UTC") if value else "never"


def cell(value: Cell, kind: Kind, places: int) -> str:
    """A cell as text; an exact number keeps six places here."""
    if value is None:
        return ""
    if kind is Kind.MONEY and isinstance(value, Decimal):
        return money(value, places)
    if kind is Kind.SHARE and isinstance(value, Decimal):
        return share(value)
    if kind is Kind.EXACT and isinstance(value, Decimal):
        return _exact(value)
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:,}" if isinstance(value, int) else breakable(str(value))


def _exact(value: Decimal) -> str:
    short = value.quantize(_EXACT_PLACES, rounding=ROUND_HALF_EVEN) if value.adjusted() < 20 else value
    text = f"{short:,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{'' if short == value else '≈ '}{text}".replace("-", _MINUS)


def table(made: Table, places: int, *, caption: str = "") -> str:
    """A table that scrolls sideways by itself where it is too wide; long ones are cut, and say so."""
    head = "".join(f'<th scope="col"{_aligned(one)}>{escape(_words(one.name))}</th>' for one in made.columns)
    body = "".join(_row(made.columns, row, places) for row in made.rows[:SHOWN_ROWS])
    left = len(made.rows) - SHOWN_ROWS
    more = (
        f'<p class="note">{left:,} more rows: sheet “{escape(made.name)}” of report.xlsx.</p>'
        if left > 0
        else ""
    )
    words = f"<caption>{escape(caption or made.title)}</caption>"
    wide = ' class="wide"' if len(made.columns) > WIDE_COLUMNS else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table{wide}>{words}{rows}</table></div>{more}'


def _words(name: str) -> str:
    return name.replace("_", " ")


def _aligned(column: Column) -> str:
    return ' class="number"' if column.kind in _NUMBERS else ""


def _row(columns: Sequence[Column], row: Row, places: int) -> str:
    cells = "".join(_cell(column, value, places) for column, value in zip(columns, row, strict=True))
    return f"<tr>{cells}</tr>"


def _cell(column: Column, value: Cell, places: int) -> str:
    """With its column's name, which a narrow screen shows beside it."""
    name = escape(_words(column.name))
    return f'<td{_aligned(column)} data-name="{name}">{cell(value, column.kind, places)}</td>'


def bars(
    parts: Sequence[Part],
    total: Decimal,
    places: int,
    *,
    caption: str,
    look: int = 0,
    nameless: str = UNATTRIBUTED,
) -> str:
    """Parts of a total, the largest first, each with its bar; what does not fit is one part more."""
    shown = list(parts[:SHOWN_ROWS])
    rest = parts[SHOWN_ROWS:]
    if rest:
        left = sum((part.shown for part in rest), Decimal(0))
        shown.append(Part((f"{len(rest):,} more",), left, left))
    most = max((part.shown for part in shown), default=Decimal(0))
    rows = "".join(
        f'<tr><th scope="row">{_name(part, nameless)}</th><td class="bar">{bar(part.shown, most, look)}</td>'
        f'<td class="number">{money(part.shown, places)}</td>'
        f'<td class="number">{share(part.shown / total if total else None)}</td></tr>'
        for part in shown
    )
    foot = (
        f'<tr><th scope="row">total</th><td></td><td class="number">{money(total, places)}</td><td></td></tr>'
    )
    words = f"<caption>{escape(caption)}</caption>"
    return f'<table class="bars">{words}<tbody>{rows}</tbody><tfoot>{foot}</tfoot></table>'


def _name(part: Part, nameless: str) -> str:
    """`tenant / campaign`, once where the second says the first; broken where words end."""
    names = [name or nameless for name in part.name]
    if len(names) > 1 and names[-1].startswith(f"{names[-2]}."):
        del names[-2]
    return breakable(" / ".join(names))


def breakable(text: str) -> str:
    """*text*, with places at which a narrow column may break it."""
    return _ENDS.sub(r"\1<wbr>", escape(text))
