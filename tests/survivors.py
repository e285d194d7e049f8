"""Ends what a killed test session would leave behind: servers, and their folders.

Belongs here: a small process beside the session that outlives it, and what it is told. Does not belong here:
how a session that ends by itself stops its servers (each server's context manager).

    python -m tests.survivors       lines of JSON on standard input, see `_Told`

The session may be killed by SIGKILL, and then says nothing any more. Its end of the pipe is closed by the
system; where a forked child still holds that, our parent has changed.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[1]
LOOK_SECONDS = 0.5
#: Children of a killed server end by themselves, and write until they do.
LAST_WRITES_SECONDS = 5.0

_watchers: dict[int, subprocess.Popen[str]] = {}


def ends_with_us(pid: int) -> None:
    """*pid* is killed once this process is gone, with all its children."""
    _tell(process=pid, began=psutil.Process(pid).create_time())


def goes_with_us(folder: Path) -> None:
    """*folder* is removed once this process is gone."""
    _tell(folder=str(folder))


def _tell(**what: Any) -> None:
    watcher = _watchers.get(os.getpid()) or _watch()
    assert watcher.stdin is not None
    watcher.stdin.write(json.dumps(what) + "\n")
    watcher.stdin.flush()


def _watch() -> subprocess.Popen[str]:
    watcher = subprocess.Popen(
        [sys.executable, "-m", "tests.survivors"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT,
        start_new_session=True,  # Ctrl-C is for the session alone
    )  # fmt: skip
    _watchers[os.getpid()] = watcher
    atexit.register(_let_go, watcher)
    return watcher


def _let_go(watcher: subprocess.Popen[str]) -> None:
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait()


def main() -> None:
    told = _Told()
    for line in _lines():
        told.hear(json.loads(line))
    told.end()


def _lines() -> Any:
    """What the holder says, until it is gone."""
    holder, kept = os.getppid(), b""
    while os.getppid() == holder:
        readable, _, _ = select.select([sys.stdin], [], [], LOOK_SECONDS)
        if not readable:
            continue
        said = os.read(sys.stdin.fileno(), 1 << 16)
        if not said:
            return
        *whole, kept = (kept + said).split(b"\n")
        yield from whole


class _Told:
    """Processes by id and beginning, since ids come again; folders."""

    def __init__(self) -> None:
        self._processes: set[tuple[int, float]] = set()
        self._folders: set[Path] = set()

    def hear(self, what: dict[str, Any]) -> None:
        if "folder" in what:
            self._folders.add(Path(what["folder"]))
        else:
            self._processes.add((what["process"], what["began"]))

    def end(self) -> None:
        left = [one for pid, began in self._processes for one in _family(pid, began)]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, LAST_WRITES_SECONDS)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _family(pid: int, began: float) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)] if process.create_time() == began else []
    except psutil.NoSuchProcess:
        return []


if __name__ == "__main__":
    main()
