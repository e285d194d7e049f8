"""`reelwright dev`: Dagster's window and daemon, the local renderer and the HTTP API, until it is stopped."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pipeline.cli import health
from pipeline.cli.findings import Level
from pipeline.cli.processes import FAMILY_SECONDS, RENDERER_PORT, Running, running, stopped_by_signals
from pipeline.documents.settings import Settings, read_settings

PORT_HELP = "Port of Dagster's window; 0 takes a free one.  [default: 3000]"
API_HELP = "Port of the HTTP API; 0 takes a free one.  [default: 3001]"


def dev(
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help=PORT_HELP)] = None,
    renderer_port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of the local renderer; 0 takes a free one.")
    ] = RENDERER_PORT,
    api_port: Annotated[int | None, typer.Option(min=0, max=65_535, help=API_HELP)] = None,
) -> None:
    """Start Dagster's UI and daemon, the local renderer and the HTTP API together."""
    settings = read_settings()
    warn_of_disk(settings)
    try:
        with (
            stopped_by_signals(),
            running(
                settings,
                dagster_port=settings.dagster_port if port is None else port,
                renderer_port=renderer_port,
                api_port=settings.api_port if api_port is None else api_port,
                say=_say,
            ) as found,
        ):
            _greet(found, settings)
            while True:
                for what in found.revive():
                    _say(f"{what}, starting it again ({found.logs})")
                time.sleep(FAMILY_SECONDS)
    except KeyboardInterrupt:
        typer.echo("stopped")


def warn_of_disk(settings: Settings) -> None:
    """Everything waits on a full disk and nothing is lost; but who starts on one should know."""
    found = health.disk(settings)
    if found.level is not Level.OK:
        typer.echo(f"{found.level}: {found.detail}; {found.remedy}", err=True)


def _say(what: str) -> None:
    typer.echo(f"{what} …")


def _greet(found: Running, settings: Settings) -> None:
    lines = {
        "Dagster": found.dagster_url,
        "API": f"{found.api_url}/status?campaign=TENANT.CAMPAIGN, {found.api_url}/metrics",
        "renderer": found.renderer_url,
        "intake": f"{settings.intake}/TENANT/FOLDER/NAME.yaml, images beside it",
        "logs": str(found.logs),
    }
    typer.echo("Reelwright runs; Ctrl-C stops it.")
    for name, where in lines.items():
        typer.echo(f"  {name:<9} {where}")
