"""What commands put on standard output: a table or lines for people, one JSON document for programs.

Belongs here: the form of output. Does not belong here: what it says (commands), refusals (`refusals`).

Data is never read as markup: a tag named `[bold]` prints as it is.
"""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Columns of a table that goes to a file or a pipe, where no terminal says how wide it is.
PIPE_WIDTH = 200


def console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def emit(document: Any) -> None:
    """One JSON document, on one line: also a line of JSON lines."""
    sys.stdout.write(json.dumps(plain(document), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> Table:
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    if caption:
        made.caption, made.caption_justify = Text(caption), "left"
    return made


def show(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> None:
    """A table for people; no rows say so in the caption alone."""
    if rows:
        console().print(table(columns, rows, caption))
    elif caption:
        say(caption)


@contextmanager
def working(what: str, *, quiet: bool) -> Iterator[None]:
    """A moving line on standard error while something takes its time, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def plain(value: Any) -> Any:
    """*value* as JSON can hold it: times in ISO 8601 UTC, exact numbers as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | Fraction) else value
