"""`reelwright api`: the HTTP API on this machine, until somebody stops it."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.opening import acting, opened

PORT_HELP = "Port of the API; 0 takes a free one.  [default: 3001]"
HOST_HELP = "A loopback address: there is no access control yet."


def api(
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help=PORT_HELP)] = None,
    host: Annotated[str, typer.Option("--host", help=HOST_HELP, show_default=False)] = "127.0.0.1",
) -> None:
    """Serve status, previews and metrics over HTTP, to this machine alone."""
    from pipeline.api.app import create_app
    from pipeline.api.serve import host_of, loopback_socket, serve
    from pipeline.cli.processes import stopped_by_signals

    settings = acting()
    try:
        with (
            stopped_by_signals(),
            loopback_socket(host, settings.api_port if port is None else port) as bound,
            opened(settings) as adapters,
        ):
            typer.echo(f"Reelwright's API answers on {_url(bound.getsockname())}; Ctrl-C stops it.")
            serve(create_app(adapters, host_of(settings.api_url)), bound)
    except KeyboardInterrupt:
        typer.echo("stopped")


def _url(name: tuple[str, int]) -> str:
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
