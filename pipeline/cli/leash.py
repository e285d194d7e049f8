"""A program that keeps one other program on a leash: it ends when whoever holds the leash lets go or dies.

    python -m pipeline.cli.leash LOG PROGRAM ARGUMENT...

Belongs here: ending a program and everything it started. Does not belong here: which programs (`processes`),
or how its output is kept (`logs`).

The holder keeps our standard input open; the system closes it when the holder ends, however it ends. We
started in a session of our own, so that whatever the program left behind (a killed parent's workers) is found
by its session.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from pipeline.cli.logs import Log

LOOK_SECONDS = 0.2
#: Dagster takes 3 to 8 seconds to end its four processes.
STOP_SECONDS = 20.0
LEFTOVER_SECONDS = 3.0
KILLED = 128


def main(log: str, program: Sequence[str]) -> int:
    """The program's own exit status, 128 and the signal's number where one killed it (as a shell says it);
    0 when it was ended by us."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an ignored one would be inherited by the program
    child = subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert child.stdout is not None  # noqa: S101 - we asked for it
    kept = Log(Path(log), child.stdout.fileno())
    released = _Release()
    while child.poll() is None and not released.is_true():
        continue
    status = child.returncode
    if status is None:
        child.send_signal(signal.SIGINT)
        _wait(child, STOP_SECONDS)
        status = 0
    end_session(os.getsid(0))
    kept.end()
    return status if status >= 0 else KILLED - status


class _Release:
    """Whether the holder let go: its end of the pipe is closed, or it sent SIGTERM."""

    def __init__(self) -> None:
        self._told = False
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, _number: int, _frame: object) -> None:
        self._told = True

    def is_true(self) -> bool:
        """Takes up to `LOOK_SECONDS`."""
        readable, _, _ = select.select([sys.stdin], [], [], LOOK_SECONDS)
        return self._told or (bool(readable) and not os.read(sys.stdin.fileno(), 1))


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def end_session(leader: int) -> None:
    """Ask, then kill, whatever else still runs in the session that *leader* began."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = session_of(leader)
        for process in left:
            _send(process, number)
        psutil.wait_procs(left, timeout=LEFTOVER_SECONDS)


def session_of(leader: int) -> list[psutil.Process]:
    """Every other process of the session that *leader* began: the program on its leash, and what it left."""
    return [process for process in psutil.process_iter() if process.pid != leader and _sid(process) == leader]


def _sid(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return -1


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
