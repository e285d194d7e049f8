"""`reelwright inspect`: look at files as intake and retrieval would, one line each.

Arguments and lines only; the answer is `pipeline.steps.answer.inspect`.
"""

from __future__ import annotations

import json as json_lines
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from pipeline.documents.target_profile import default_target_profile
from pipeline.documents.transform_set import default_transform_set
from pipeline.domain.errors import StoreUnavailable
from pipeline.steps.answer.inspect import Inspection, as_json, inspect_file
from resources.media import Sandbox


def inspect(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Videos or pictures, by any name.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    thumbnails: Annotated[
        Path | None, typer.Option("--thumbnails", metavar="DIR", help="Write the derivative set below DIR.")
    ] = None,
) -> None:
    """Say what each file is and whether it would be taken; exit status 1 when one would not."""
    refused = False
    try:
        for inspection in _inspections(files, thumbnails):
            typer.echo(json_lines.dumps(as_json(inspection)) if json else _line(inspection))
            refused = refused or not inspection.accepted
    except StoreUnavailable as error:
        typer.echo(f"{error}; {error.remedy}", err=True)
        raise typer.Exit(2) from error
    if refused:
        raise typer.Exit(1)


def _inspections(files: list[Path], thumbnails: Path | None) -> Iterator[Inspection]:
    """In the order given, as many at a time as there are cores."""
    profile, transforms = default_target_profile(), default_transform_set()
    with Sandbox() as sandbox, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(lambda path: inspect_file(path, sandbox, profile, transforms, thumbnails), files)


def _line(inspection: Inspection) -> str:
    name = inspection.file.encode("utf-8", "replace").decode()
    if not inspection.accepted:
        return f"refused   {inspection.reason}: {inspection.problem}  {name!r}"
    parts = [f"{inspection.display_width}x{inspection.display_height}", inspection.container or ""]
    if inspection.duration_seconds is not None:
        parts.append(f"{float(inspection.duration_seconds):.3f} s")
    if inspection.frame_rate is not None:
        parts.append(f"{float(inspection.frame_rate):.3f} frames/s")
    return f"accepted  {inspection.kind} {' '.join(parts)}  {name!r}"
