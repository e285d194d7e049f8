"""`reelwright explain`: which inputs and decisions made a video, and what of it is proven.

Arguments and lines only; the answer is `pipeline.steps.answer.explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, say

if TYPE_CHECKING:
    from pipeline.steps.answer.explain import Explanation

#: Said in the lines above the headings.
_FIRST = ("asked", "rendition", "attempt", "proof")


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT", help="A slot, a variant, a rendition, an attempt, or an object by id or key."
        ),
    ],
    json: Json = False,
) -> None:
    """Prove from the database alone which inputs and decisions made a video, also after its purge."""
    from pipeline.steps.answer.explain import explain as answer

    with opened_database(acting()) as database, database.reading() as connection:
        found = answer(connection, subject)
    if json:
        emit(found)
        return
    for line in _lines(found):
        say(line)


def _lines(found: Explanation) -> Iterator[str]:
    yield f"{found.rendition}, attempt {found.attempt or 'none'}"
    yield f"provable: {'yes' if found.proof.provable else 'no'}, because {found.proof.because}"
    yield from (f"  proven: {one}" for one in found.proof.proven)
    yield from (f"  missing: {one}" for one in found.proof.missing)
    for field in fields(found):
        if field.name not in (*_FIRST, "money"):
            yield from _section(field.name.replace("_", " "), getattr(found, field.name))
    for name in ("sums", "usage", "storage", "delivery"):
        yield from _section(f"money: {name}", getattr(found.money, name))
    if found.money.not_rated:
        yield f"  not rated yet: {', '.join(found.money.not_rated)}"


def _section(heading: str, said: Any) -> Iterator[str]:
    yield ""
    yield heading
    if isinstance(said, Mapping):
        yield from (f"  {name}: {_word(value)}" for name, value in said.items() if _is_said(value))
        return
    for record in said:
        (_, first), *rest = record.items()
        yield f"  {_word(first)}"
        yield from (f"    {name}: {_word(value)}" for name, value in rest if _is_said(value))
    if not said:
        yield "  none"


def _is_said(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}


def _word(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}={_word(one)}" for name, one in value.items())
    return " ".join(_word(one) for one in value) if isinstance(value, list | tuple) else str(value)
