"""`reelwright usage read`: what delivery logs say, a file at a time.

Arguments and lines only; the work is `pipeline.steps.account.meter_delivery`, as the asset `delivery_usage`
does it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, show
from pipeline.cli.refusals import ExitCode

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from pipeline.steps.account.meter_delivery import Book, LogReading
    from resources.database.database import Database

COLUMNS = (
    "file", "verdict", "lines", "events", "duplicates", "ignored", "quarantined", "bytes sent",
    "unattributed", "why",
)  # fmt: skip


class Deed(enum.StrEnum):
    READ = "read"


def usage(
    deed: Annotated[Deed, typer.Argument(metavar="read", help="What to do: read.")],  # noqa: ARG001  the only one
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="CloudFront, S3 or generic logs, gzip or plain.")
    ],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run/--no-dry-run",
            " /--keep",
            help="Keep nothing, which is the default; or keep the facts.",
        ),
    ] = True,
    json: Json = False,
) -> None:
    """Read delivery logs: how many lines count, and how many bytes they say were sent."""
    from pipeline.steps.account.meter_delivery import READ, REFUSED, read_file
    from resources.connect import delivery_rules

    settings = acting()
    rules = delivery_rules(settings)
    readings: list[LogReading] = []
    with _book(settings, keeps=not dry_run) as book:
        for file in files:
            readings.append(read_file(book, rules, file, str(file)))
            if json:
                emit(readings[-1])
    if not json:
        read = [one for one in readings if one.verdict == READ]
        show(COLUMNS, [_row(one) for one in readings], _caption(read, kept=not dry_run))
    if any(one.verdict == REFUSED for one in readings):
        raise typer.Exit(ExitCode.REFUSED)


@contextmanager
def _book(settings: Settings, *, keeps: bool) -> Iterator[Book]:
    """Without `--keep` no database is needed: then no file is known and no byte has an owner."""
    from pipeline.domain.errors import SchemaMismatch
    from pipeline.steps.account.meter_delivery import Keeping, Looking, wall_clock

    if keeps:
        with opened_database(settings) as opened:
            yield Keeping(opened)
        return
    database: Database | None = None
    with ExitStack() as stack:
        with suppress(SchemaMismatch):
            database = stack.enter_context(opened_database(settings))
        yield Looking(database, wall_clock())


def _row(one: LogReading) -> tuple[object, ...]:
    return (
        one.file, one.verdict, one.lines, one.events, one.duplicates, one.ignored, one.quarantined,
        one.bytes_sent, one.unattributed_bytes, one.reason,
    )  # fmt: skip


def _caption(read: list[LogReading], *, kept: bool) -> str:
    events, sent = sum(one.events for one in read), sum(one.bytes_sent for one in read)
    nobodys = sum(one.unattributed_bytes for one in read)
    done = "kept" if kept else "nothing was kept; --keep keeps them"
    return f"{events} events, {sent} bytes, {nobodys} of them of no object of ours; {done}"
