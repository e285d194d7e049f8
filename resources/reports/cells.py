"""One cell of a table: what kind of thing it is, and how it is written where programs read it.

Belongs here: kinds, and their spelling. Does not belong here: which columns there are, or any file.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType

#: A spreadsheet takes what begins so for a formula, a command or another cell, in quotes or not.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

Cell = str | Decimal | int | date | datetime | None


class Kind(enum.Enum):
    TEXT = "text"
    COUNT = "count"
    MONEY = "money"  #: rounded, to the currency's places
    EXACT = "exact"  #: every digit
    SHARE = "share"  #: 1 is everything
    DAY = "day"
    TIME = "time"


def harmless(text: str) -> str:
    """*text* so that no spreadsheet runs it: an apostrophe before what would begin a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def spelled(cell: Cell) -> str:
    """As CSV has it: numbers plain, times in ISO 8601 with Z, text as it is, None as nothing."""
    if cell is None:
        return ""
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, datetime):
        return cell.isoformat().replace("+00:00", "Z")
    return str(cell)


def safe(cell: Cell) -> str:
    """As `spelled`, with text made harmless; numbers stay numbers, negative ones too."""
    return harmless(cell) if isinstance(cell, str) else spelled(cell)


_SQL: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.TEXT: "VARCHAR",
        Kind.COUNT: "BIGINT",
        Kind.SHARE: "DECIMAL(38, 9)",
        Kind.DAY: "DATE",
        Kind.TIME: "TIMESTAMPTZ",
    }
)


def sql_type(kind: Kind, scale: int) -> str:
    """DuckDB's name for the Parquet type: a number of money or quantity is decimal128, never a float."""
    return _SQL.get(kind, f"DECIMAL(38, {scale})")
