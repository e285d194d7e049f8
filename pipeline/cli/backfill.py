"""`reelwright backfill`: bring what is owned to the pictures, index and tags that hold now (E3).

Arguments and lines only; the work is `pipeline.steps.operate.backfill`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, show, working

if TYPE_CHECKING:
    from pipeline.steps.operate.backfilled import BackfillReport


class Kind(enum.StrEnum):
    """As `steps.operate.backfill` names them, without importing it for `--help`."""

    THUMBNAILS = "thumbnails"
    INDEX = "index"
    TAGS = "tags"


def backfill(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="thumbnails, index or tags.")],
    campaigns: Annotated[
        list[str] | None, typer.Argument(metavar="[CAMPAIGN...]", help="TENANT.CAMPAIGN, any number of them.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every campaign.")] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Make pictures anew, or tell the index or the tags again; nothing is made twice."""
    from pipeline.steps.operate.backfill import Backfill
    from pipeline.steps.operate.backfill import backfill as step
    from pipeline.steps.operate.backfilled import FAILED

    if bool(campaigns) is all_:
        raise typer.BadParameter("name campaigns, or give --all")
    settings = acting(as_)
    with opened(settings) as adapters, working(f"backfilling {kind} …", quiet=json):
        report = step(adapters, Backfill(kind), None if all_ else campaigns, actor=settings.actor)
    if json:
        emit({"kind": report.kind, "version": report.version, "counts": report.counts, "left": report.left})
    else:
        _show(report)
    if any(one.word == FAILED for one in report.left):
        raise typer.Exit(1)


def _show(report: BackfillReport) -> None:
    done = ", ".join(f"{number} {word}" for word, number in report.counts.items()) or "nothing to do"
    under = f" to {report.version}" if report.version else ""
    left = [(one.subject, one.campaign, one.word, one.reason) for one in report.left]
    show(("left", "campaign", "", "why"), left, f"{report.kind}{under}: {done}")
