"""`reelwright demo`: the sample campaign from a dropped brief to published videos, by the real processes.

Belongs here: the order of things, and following them. Does not belong here: starting and stopping processes
(`processes`), or the tables at the end (`demo_summary`).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pipeline.cli.demo_summary import print_summary
from pipeline.cli.dev import warn_of_disk
from pipeline.cli.printing import console, say
from pipeline.cli.processes import Running, running, stopped_by_signals
from pipeline.cli.refusals import ExitCode
from pipeline.cli.sample import write_sample
from pipeline.documents.settings import Settings, read_settings
from pipeline.domain.errors import NotAllowed
from pipeline.domain.lifecycle import Word
from pipeline.domain.renditions import INTAKE
from pipeline.steps.answer.status import WishStatus, counts, status
from pipeline.steps.operate.mark_partitions import is_green
from pipeline.steps.produce.deliver import submit_brief
from pipeline.steps.produce.stages import intake_of
from resources.connect import connected
from resources.database.database import Database
from resources.database.due import due_by_stage
from resources.database.migrate import migrate
from resources.database.shown import metered
from resources.database.wish_facts import Wanted

TENANT, FOLDER = "northwind", "spring-depot"
CAMPAIGN = f"{TENANT}.{FOLDER}"
STARTS = "generation_starts"
#: The whole takes two minutes on two busy cores; past this something is wrong.
DEMO_SECONDS = 600.0
#: How long the end waits for Dagster's window to hear that everything is complete, and for the receipt.
TOLD_SECONDS = 60.0
LOOK_SECONDS = 1.0

Show = Callable[[str, int, int], None]


def demo() -> None:
    """Run a sample campaign from brief to published videos."""
    settings = read_settings()
    began = time.monotonic()
    warn_of_disk(settings)
    try:
        with stopped_by_signals():
            migrate(settings.database)
            was_complete, starts = _before(settings)
            if not was_complete:
                _run(settings)
    except KeyboardInterrupt:
        say("stopped before it was complete; run it again to go on where it stopped")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    wishes = _summary(settings, time.monotonic() - began, starts if was_complete else None)
    if not wishes or any(wish.word is not Word.READY for wish in wishes):
        raise typer.Exit(ExitCode.REFUSED)


def _before(settings: Settings) -> tuple[bool, int]:
    """Whether an earlier run completed the campaign, and the generation starts that were paid for by then."""
    database = Database.at(settings.database)
    try:
        is_complete = _is_over(status(database, Wanted(campaign=CAMPAIGN)))
        with database.reading() as connection:
            return is_complete, metered(connection, CAMPAIGN).get(STARTS, 0)
    finally:
        database.close()


def _run(settings: Settings) -> None:
    with running(settings, dagster_port=0, renderer_port=0, say=_step) as found:
        say(f"  Dagster's window: {found.dagster_url}, until the demo ends")
        say(f"dropped {_drop(settings)}")
        database = Database.at(settings.database)
        try:
            _follow(database, found)
        finally:
            database.close()


def _drop(settings: Settings) -> str:
    """The sample into the intake; where that lies in a bucket, as `reelwright submit` would."""
    brief = write_sample(settings.objects / INTAKE / TENANT / FOLDER)
    if settings.intake.startswith("s3://"):
        with connected(settings) as adapters:
            return submit_brief(intake_of(adapters, settings.actor), brief).path
    return str(brief)


def _follow(database: Database, found: Running) -> None:
    """Show progress until nothing moves any more and Dagster was told; NotAllowed past the time limit."""
    until = time.monotonic() + DEMO_SECONDS
    with _progress() as show:
        while not _is_over(wishes := status(database, Wanted(campaign=CAMPAIGN))):
            show(_words(wishes), counts(wishes).ready, len(wishes))
            _wait(found, until)
        show(_words(wishes), counts(wishes).ready, len(wishes))
    say("telling Dagster, and writing the receipt …")
    until = time.monotonic() + TOLD_SECONDS
    while not _is_settled(database) and time.monotonic() < until:
        found.require_alive()
        time.sleep(LOOK_SECONDS)


def _is_settled(database: Database) -> bool:
    """Dagster was told, and nothing is left to do: the receipt is written too."""
    with database.reading() as connection:
        is_due = any(due_by_stage(connection, database.clock(connection)).values())
    return not is_due and is_green(database, CAMPAIGN)


def _wait(found: Running, until: float) -> None:
    found.require_alive()
    if time.monotonic() > until:
        raise NotAllowed(
            "demo", f"not complete after {DEMO_SECONDS:.0f} s", f"read {found.logs}, and `reelwright plan`"
        )
    time.sleep(LOOK_SECONDS)


def _is_over(wishes: Sequence[WishStatus]) -> bool:
    return bool(wishes) and not counts(wishes).active


def _words(wishes: Sequence[WishStatus]) -> str:
    if not wishes:
        return "the intake looks twice, five seconds apart"
    found = Counter(str(wish.word) for wish in wishes)
    return ", ".join(f"{number} {word}" for word, number in found.most_common())


@contextmanager
def _progress() -> Iterator[Show]:
    """A bar on a terminal; elsewhere a line whenever something changed."""
    if not sys.stdout.isatty():
        yield _lines()
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console()) as progress:
        task = progress.add_task("", total=None)
        yield lambda words, ready, total: progress.update(
            task, description=f"{words:<44}", completed=ready, total=total or None
        )


def _lines() -> Show:
    began, last = time.monotonic(), ""

    def show(words: str, _ready: int, _total: int) -> None:
        nonlocal last
        if words != last:
            say(f"  {time.monotonic() - began:5.0f} s  {words}")
            sys.stdout.flush()
            last = words

    return show


def _step(what: str) -> None:
    say(f"{what} …")
    sys.stdout.flush()


def _summary(settings: Settings, seconds: float, starts_before: int | None) -> list[WishStatus]:
    with connected(settings) as adapters:
        wishes = status(adapters.database, Wanted(campaign=CAMPAIGN))
        print_summary(adapters, settings, CAMPAIGN, wishes, seconds, starts_before)
    return wishes
