"""A window of rows a turn, so that a look outside stays short and still comes round to everything.

The rule: rows in the order of their ids, `size` of them, beginning where the turn before ended, and from the
start again after the last. A turn is an hour, so that everything is seen once in rows / size hours. No more
rows than `size` are always all seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

HOUR = 3_600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Window:
    rows: Sequence[sa.Row[Any]]
    start: int  #: rows before it
    of: int  #: rows in all
    next: sa.Row[Any] | None  #: the first row after it, None at the end


def window(
    connection: sa.Connection, wanted: sa.Select[Any], by: sa.ColumnElement[str], *, size: int, now: int
) -> Window:
    """The window of *now*'s turn over *wanted*, in the order of the unique column *by*."""
    of = int(connection.scalar(sa.select(sa.func.count()).select_from(wanted.subquery())) or 0)
    turns = -(-of // size)
    start = (now // HOUR) % turns * size if turns else 0
    found = connection.execute(wanted.order_by(by).limit(size + 1).offset(start)).all()
    return Window(found[:size], start, of, found[size] if len(found) > size else None)
