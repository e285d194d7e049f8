"""`reelwright-renderer`: start the local renderer, say where it listens, stop it cleanly.

Belongs here: arguments, order of start and stop, signals. Does not belong here: anything it does meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from pipeline.domain.errors import ReelwrightError
from resources.local_renderer import fonts
from resources.local_renderer.job_store import JobStore
from resources.local_renderer.server import RendererApi
from resources.local_renderer.signed_urls import UrlSigner
from resources.local_renderer.store_folder import StoreFolder, StoreLock
from resources.local_renderer.upkeep import keep_forgetting
from resources.local_renderer.workers import Workers
from resources.media import Sandbox

_PARENT_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Options:
    port: int
    store: Path
    workers: int
    queue: int
    url_seconds: int
    with_parent: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """0 after a clean stop, 2 when it cannot start; what and why goes to standard error."""
    options = _options(arguments)
    folder = StoreFolder(options.store.absolute())
    try:
        with StoreLock(folder):
            asyncio.run(_serve(options, folder))
    except ReelwrightError as error:
        print(f"reelwright-renderer: {error}\n  {error.remedy}", file=sys.stderr)
        return 2
    except (OSError, sqlite3.Error) as error:
        print(
            f"reelwright-renderer: cannot start on port {options.port} with {folder.root}: {error}",
            file=sys.stderr,
        )
        return 2
    return 0


def now_microseconds() -> int:
    return time.time_ns() // 1000


async def _serve(options: Options, folder: StoreFolder) -> None:
    stopped = _stop_event(options)
    folder.prepare()
    fonts.use_shipped_fonts(folder.fonts)
    store = JobStore(folder.database, options.queue)
    sandbox = Sandbox()
    try:
        _recover(store, folder)
        workers = Workers(store, folder, options.workers, sandbox, now_microseconds)
        signer = UrlSigner(folder.secret(), options.url_seconds)
        api = RendererApi(store, folder, workers, signer, now_microseconds)
        runner = web.AppRunner(api.application(), access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        port = await _listen(runner, options.port)
        workers.start()
        upkeep = asyncio.create_task(keep_forgetting(store, folder, now_microseconds))
        print(json.dumps({"port": port}), flush=True)
        await stopped.wait()
        upkeep.cancel()
        await runner.cleanup()
        await workers.stop()
    finally:
        sandbox.close()
        store.close()


def _recover(store: JobStore, folder: StoreFolder) -> None:
    """Jobs first, then files: an output without its record is from a process that died before saying so."""
    store.recover(now_microseconds())
    owned = store.outputs()
    for path in folder.output("any").parent.iterdir():
        if path.stem not in owned:
            path.unlink()


async def _listen(runner: web.AppRunner, port: int) -> int:
    listener = socket.create_server(("127.0.0.1", port))
    await web.SockSite(runner, listener).start()
    return int(listener.getsockname()[1])


def _stop_event(options: Options) -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if options.with_parent:
        _watch_parent(loop, stopped, os.getppid())
    return stopped


def _watch_parent(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event, parent: int) -> None:
    if os.getppid() != parent:
        stopped.set()
    else:
        loop.call_later(_PARENT_LOOK_SECONDS, _watch_parent, loop, stopped, parent)


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="reelwright-renderer", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--port", type=_whole(0, 65535), default=8791, help="0 takes a free one (default %(default)s)"
    )
    parser.add_argument("--store", type=Path, required=True, help="folder of its jobs, stills and videos")
    parser.add_argument(
        "--workers",
        type=_whole(1, 64),
        default=min(2, os.cpu_count() or 1),
        help="videos at a time (default %(default)s)",
    )
    parser.add_argument("--queue", type=_whole(1, 1_000_000), default=1000, help="jobs that may wait or run")
    parser.add_argument(
        "--url-seconds", type=_whole(1, 86400), default=900, help="how long an output URL lives"
    )
    parser.add_argument(
        "--with-parent", action="store_true", help="stop when the process that started it ends"
    )
    return Options(**vars(parser.parse_args(arguments)))


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        value = int(raw)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be from {low} to {high}")
        return value

    return parse


if __name__ == "__main__":
    sys.exit(main())
