"""`reelwright accept`, `decline`, `retry`, `cancel`: a person's word about one video.

Arguments and lines only; the work is `pipeline.steps.operate`. A video is named as `steps.answer.find` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened, opened_database
from pipeline.cli.printing import emit, say

if TYPE_CHECKING:
    from pipeline.steps.answer.find import FoundRendition
    from resources.database.database import Database

Video = Annotated[
    str,
    typer.Argument(metavar="VIDEO", help="A rendition, TENANT.CAMPAIGN/LOCALE/RATIO/SECONDSs or a variant."),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; recorded for good.")]
BY_HAND = "by_hand"
RECORDED = "recorded"  #: `accept.Said.RECORDED`, which is imported with the step


def retry(video: Video, reason: Reason = BY_HAND, as_: As = None, json: Json = False) -> None:
    """Make a new attempt of a failed, cancelled or overdue video."""
    from pipeline.steps.operate.retry import retry as step

    settings = acting(as_)
    with opened_database(settings) as database:
        found = _found(database, video)
        attempt = step(database, found.id, found.tenant, actor=settings.actor, reason=reason)
    _tell(found, "queued", {"attempt": attempt}, json=json)


def cancel(video: Video, reason: Reason = BY_HAND, as_: As = None, json: Json = False) -> None:
    """Cancel a video that is not made yet."""
    from pipeline.steps.operate.cancel import cancel as step

    settings = acting(as_)
    with opened_database(settings) as database:
        found = _found(database, video)
        outcome = step(database, found.id, found.tenant, actor=settings.actor, reason=reason)
    _tell(found, str(outcome), {"attempt": found.attempt}, json=json)


def accept(video: Video, reason: Reason = BY_HAND, as_: As = None, json: Json = False) -> None:
    """Let a finished video into its slot."""
    from pipeline.steps.operate.accept import accept as step

    settings = acting(as_)
    with opened_database(settings) as database:
        found = _found(database, video)
        said = step(database, found.id, found.tenant, actor=settings.actor, reason=reason)
    _tell(found, "accepted" if said == RECORDED else "accepted_before", {"attempt": found.attempt}, json=json)


def decline(
    video: Video,
    reason: Annotated[str, typer.Option("--reason", help="Why; recorded for good.")],
    as_: As = None,
    json: Json = False,
) -> None:
    """Keep a finished video out of its slot, or take it out."""
    from pipeline.steps.operate.accept import decline as step

    settings = acting(as_)
    with opened(settings) as adapters:
        found = _found(adapters.database, video)
        said = step(
            adapters.database, adapters.index, found.id, found.tenant, actor=settings.actor, reason=reason
        )
    _tell(found, "declined" if said == RECORDED else "declined_before", {"attempt": found.attempt}, json=json)


def _found(database: Database, name: str) -> FoundRendition:
    from pipeline.steps.answer.find import find_rendition

    with database.reading() as connection:
        return find_rendition(connection, name)


def _tell(found: FoundRendition, outcome: str, more: dict[str, object], *, json: bool) -> None:
    if json:
        emit({"rendition": found.id, "slot": found.slot, "outcome": outcome, **more})
    else:
        detail = ", ".join(f"{name} {value}" for name, value in more.items())
        say(f"{found.slot} ({found.id}): {outcome.replace('_', ' ')}; {detail}")
