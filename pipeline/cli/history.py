"""`reelwright history`: what happened, in order of time, and what slots showed, by number.

Arguments and tables only; the answer is `pipeline.steps.answer.history`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, say, show

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.steps.answer.history import Event, Publication

EVENTS = ("at (UTC)", "subject", "what", "by", "why")
PUBLICATIONS = ("slot", "number", "move", "video", "from (UTC)", "until (UTC)", "by", "why")


def history(
    subject: Annotated[
        str,
        typer.Argument(metavar="SUBJECT", help="A campaign, a slot, a variant, a rendition or an attempt."),
    ],
    json: Json = False,
) -> None:
    """Say what happened: every move, send, look and decision, and every publication by its number."""
    from pipeline.steps.answer.history import history as answer

    with opened_database(acting()) as database, database.reading() as connection:
        found = answer(connection, subject)
    if json:
        emit(found)
        return
    show(EVENTS, [_event(one) for one in found.events], "" if found.events else "nothing happened yet")
    say("")
    said = "" if found.publications else "nothing was published yet"
    show(PUBLICATIONS, [_publication(one) for one in found.publications], said)


def _event(one: Event) -> tuple[object, ...]:
    return (_time(one.at), one.subject, one.what, one.actor, one.reason)


def _publication(one: Publication) -> tuple[object, ...]:
    until = "shown now" if one.is_shown else _time(one.until_at)
    video = one.rendition or "nothing"
    return (one.slot, one.number, one.move, video, _time(one.from_at), until, one.actor, one.reason)


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
