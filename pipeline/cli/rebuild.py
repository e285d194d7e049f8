"""`reelwright rebuild`: the tag index anew, beside the live one (T5).

Arguments and lines only; the work is `pipeline.steps.operate.rebuild_index`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.opening import Json, acting, opened_database
from pipeline.cli.printing import emit, show, working


def rebuild(
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up the rebuild that was begun, and leave nothing of it.")
    ] = False,
    json: Json = False,
) -> None:
    """Build the tag index anew beside the live one, and put it in its place."""
    from pipeline.steps.operate.rebuild_index import rebuild_index
    from resources.connect import index_rebuild

    settings = acting()
    rebuilt = index_rebuild(settings)
    if abandon:
        _abandoned(rebuilt.abandon(), json=json)
        return
    with opened_database(settings) as database, working("building the tag index anew …", quiet=json):
        report = rebuild_index(database, rebuilt)
    if json:
        emit(report)
    else:
        on = "gone on with, " if report.gone_on_with else ""
        done = f"{on}{report.filled} entries in {report.seconds:.0f} s"
        show(("entry", "refused"), list(report.refused.items()), f"tag index: {done}")
    if report.refused:
        raise typer.Exit(1)


def _abandoned(was_begun: bool, *, json: bool) -> None:
    if json:
        emit({"abandoned": was_begun})
    else:
        show((), (), "given up" if was_begun else "no rebuild had been begun")
