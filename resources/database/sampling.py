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
    of: int  #: rows in all

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == self.of


def window(
    connection: sa.Connection, wanted: sa.Select[Any], by: sa.Column[str], *, size: int, now: int
) -> Window:
    """The window of *now*'s turn over *wanted*, in the order of the unique column *by*."""
    of = int(connection.scalar(sa.select(sa.func.count()).select_from(wanted.subquery())) or 0)
    turns = -(-of // size)
    start = (now // HOUR) % turns * size if turns else 0
    return Window(connection.execute(wanted.order_by(by).limit(size).offset(start)).all(), of)
