"""One program on a leash: started, known to answer and to be whole, stopped.

Belongs here: what holds for any of them. Does not belong here: which there are (`processes`), or how a leash
works (`leash`).
"""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pipeline.cli.leash import KILLED, session_of
from pipeline.cli.logs import previous
from pipeline.domain.errors import NotAllowed

HOST = "127.0.0.1"
#: A cold start on two busy cores took 49 s (measured); one of a renderer 3 s.
START_SECONDS = 180.0
STOP_SECONDS = 40.0
LOOK_SECONDS = 0.25
TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Child:
    """One program on its leash, with the file that its output goes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def require_alive(self) -> None:
        """Raise NotAllowed, with how it ended and the end of its log, when it ended by itself."""
        if self.process.poll() is not None:
            raise self.gone(self.ending())

    def gone(self, problem: str) -> NotAllowed:
        """The refusal to go on without it: *problem*, and the end of its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        tail = "".join(f"\n  {line}" for line in lines[-TAIL_LINES:]) or "; its log is empty"
        return NotAllowed(self.name, problem + tail, f"read {self.log}, then run `reelwright doctor`")

    def ending(self) -> str:
        """How it ended by itself, in words; what lost a part alone still runs."""
        status = self.process.poll()
        if status is None:
            return "lost a part"
        number = -status if status < 0 else status - KILLED
        if number in set(signal.Signals):
            return f"was killed by {signal.Signals(number).name} (exit status {KILLED + number})"
        return f"ended by itself with exit status {status}"


@dataclass(frozen=True, slots=True)
class Program:
    """How one of ours is started, and how it is known to be whole."""

    name: str
    argv: Sequence[str]
    port: int
    has_code_server: bool = False

    def is_whole(self, child: Child) -> bool:
        """Nothing of it is missing. Dagster itself does not notice a dead code server (measured)."""
        return child.process.poll() is None and (
            not self.has_code_server or has_code_server(child.process.pid)
        )


def start(name: str, argv: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> Child:
    """A program on a leash, its output in *log*; the log of the start before is kept as NAME.previous.log."""
    if log.exists():
        log.replace(previous(log))
    with log.open("ab") as output:  # what the leash itself has to say
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli.leash", str(log), *argv],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    return Child(name, process, log)


def has_code_server(leash: int) -> bool:
    """Whether the code server that `dagster dev` started on that leash lives."""
    return any({"api", "grpc"} <= set(words) for words in map(_words, session_of(leash)))


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it ended meanwhile; a zombie has no words either
        return []


def wait_for_answer(child: Child, port: int) -> None:
    """Until it answers HTTP; NotAllowed when it ends before, or does not answer in time."""
    until = time.monotonic() + START_SECONDS
    while not _answers(port):
        child.require_alive()
        if time.monotonic() > until:
            raise NotAllowed(
                child.name, f"does not answer on port {port} after {START_SECONDS:.0f} s", f"read {child.log}"
            )
        time.sleep(LOOK_SECONDS)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2.0)
    with suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/server_info")
        connection.getresponse().read()
        connection.close()
        return True
    connection.close()
    return False


def stop(children: Sequence[Child]) -> None:
    """Let go of every leash, last started first, and wait until all are gone."""
    for child in reversed(children):
        if child.process.stdin is not None:
            child.process.stdin.close()
    for child in reversed(children):
        try:
            child.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
