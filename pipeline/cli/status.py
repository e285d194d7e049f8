"""`reelwright status`: one line a wanted video, once or until nothing moves any more.

Arguments, tables and the live view only; the answer is `pipeline.steps.answer.status`.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import console, emit, say, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from pipeline.domain.completion import Counts
    from pipeline.steps.answer.status import Wanted, WishStatus
    from resources.database.database import Database

LOOK_SECONDS = 2.0
COLUMNS = ("campaign", "rev", "variant", "state", "why", "made", "video")


def status(
    campaign: Annotated[
        str | None,
        typer.Argument(metavar="[CAMPAIGN]", help="TENANT.CAMPAIGN or TENANT.CAMPAIGN/rN; without it, all."),
    ] = None,
    revision: Annotated[int | None, typer.Option("--revision", min=1, help="Not the newest one.")] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow until nothing moves; with --json a line a change.")
    ] = False,
    json: Json = False,
) -> None:
    """Say how every wanted video stands."""
    if revision is not None and campaign is None:
        raise typer.BadParameter("--revision needs a campaign")
    with opened_database(acting()) as database:
        wanted = _wanted(database, campaign, revision)
        if watch:
            (_watch_lines if json else _watch_table)(database, wanted)
        else:
            _print(database, wanted, json=json)


def _wanted(database: Database, campaign: str | None, revision: int | None) -> Wanted:
    from pipeline.steps.answer.find import find_revision
    from pipeline.steps.answer.status import Wanted

    if campaign is None:
        return Wanted()
    with database.reading() as connection:
        found = find_revision(connection, campaign, revision)
    is_newest = revision is None and campaign == found.campaign
    return Wanted(campaign=found.campaign, revision=None if is_newest else found.number)


def _print(database: Database, wanted: Wanted, *, json: bool) -> None:
    from pipeline.steps.answer.status import counts, status

    wishes = status(database, wanted)
    heads, steps = counts(wishes), _next_steps(database, wanted, wishes)
    if json:
        counted = {"counts": heads, "success_rate": heads.success_rate}
        emit({**counted, "next_steps": steps, "wishes": wishes})
    else:
        show(COLUMNS, _rows(wishes), _caption(heads))
        for step in steps:
            say(f"next: {step}")


def _next_steps(database: Database, wanted: Wanted, wishes: Sequence[WishStatus]) -> tuple[str, ...]:
    """What the receipt of one campaign says that its author can do; of all of them nobody asks."""
    from pipeline.steps.produce.receipts import receipt_of

    if wanted.campaign is None or not wishes:
        return ()
    revision = f"{wanted.campaign}/r{wishes[0].revision}"
    with database.reading() as connection:
        receipt = receipt_of(connection, revision, database.clock(connection))
    remedies = Counter(one.remedy for one in receipt.variants if one.remedy)
    return (
        *receipt.next_steps,
        *(f"{number} of the videos: {remedy}" for remedy, number in remedies.items()),
    )


def _watch_table(database: Database, wanted: Wanted) -> None:
    from rich.live import Live

    from pipeline.steps.answer.status import status

    wishes = status(database, wanted)
    with Live(_live(wishes), console=console(), auto_refresh=False) as live:
        while _moves(wishes):
            time.sleep(LOOK_SECONDS)
            wishes = status(database, wanted)
            live.update(_live(wishes), refresh=True)
    if not live.console.is_terminal:
        say("")  # rich ends the last line on a terminal alone


def _watch_lines(database: Database, wanted: Wanted) -> None:
    """A line for each wish whose entity version rose; the first look prints them all."""
    from pipeline.steps.answer.status import status

    seen: dict[str, int] = {}
    while True:
        wishes = status(database, wanted)
        for wish in wishes:
            if seen.get(wish.wish) != wish.entity_version:
                emit(wish)
        seen = {wish.wish: wish.entity_version for wish in wishes}
        if not _moves(wishes):
            return
        time.sleep(LOOK_SECONDS)


def _moves(wishes: Sequence[WishStatus]) -> bool:
    """Whether asking again makes sense for any of them (L8): a person, a pause or an end stops it."""
    return any(wish.retry_after_seconds is not None for wish in wishes)


def _live(wishes: Sequence[WishStatus]) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar

    from pipeline.steps.answer.status import counts

    heads = counts(wishes)
    bar = ProgressBar(total=max(1, heads.total), completed=heads.total - heads.active, width=40)
    return Group(table(COLUMNS, _rows(wishes), _caption(heads)), bar)


def _rows(wishes: Sequence[WishStatus]) -> list[tuple[object, ...]]:
    return [
        (
            wish.campaign,
            wish.revision,
            wish.variant,
            wish.word,
            ", ".join((*wish.why, *([wish.outcome] if wish.outcome and wish.ended_at else []))),
            wish.origin,
            wish.object_key or wish.rendition,
        )
        for wish in wishes
    ]


def _caption(heads: Counts) -> str:
    if not heads.total:
        return "nothing is wanted yet: deliver a brief with `reelwright submit BRIEF`"
    return (
        f"{heads.total} wanted: {heads.usable} usable, {heads.active} active,"
        f" {heads.unsuccessful} unsuccessful, {heads.unresolved} unresolved"
    )
