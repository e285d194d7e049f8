"""`python -m tests.faults.renderer --store DIR`: serves until killed, prints its port as one JSON line."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from aiohttp import web

from pipeline.domain.outcomes import Reconciliation
from tests.faults.renderer.server import Conduct, Renderer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.renderer")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--mode", choices=[kind.value.lower() for kind in Reconciliation], default="k")
    parser.add_argument("--work-seconds", type=float, default=0.0, help="0: done as soon as taken")
    parser.add_argument("--lag-seconds", type=float, default=0.0, help="until look-up and listing show a job")
    parser.add_argument("--url-seconds", type=float, default=900.0, help="life of an output URL")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    conduct = Conduct(
        store=arguments.store,
        mode=Reconciliation(arguments.mode.upper()),
        work_seconds=arguments.work_seconds,
        lag_seconds=arguments.lag_seconds,
        url_seconds=arguments.url_seconds,
    )
    runner = web.AppRunner(Renderer(conduct).app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", arguments.port).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


asyncio.run(_serve(_arguments()))
