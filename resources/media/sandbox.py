"""The bounded child, as the rest of Reelwright sees it: an order and an open file go in, facts come out.

A crash, a hang or a memory hog of a child is `SandboxFailed` for that one file; the caller lives on and so
does the warm parent (`resources.media.warm`). Safe to use from many threads; a forked copy starts anew.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from pipeline.domain.errors import MediaRefused, MediaUnproven, SandboxFailed
from resources.media import walls, wire
from resources.media.limits import MAX_OUTPUT_BYTES, Limits

_START_SECONDS = 60.0
_GRACE_SECONDS = 2.0  #: the child's own clock should end it first
_TIME_SIGNALS = frozenset({signal.SIGXCPU, signal.SIGALRM})


class Sandbox:
    """One warm parent, started by the first order and again after it died. Close it, or use `with`."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._warm: _Warm | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the warm parent and every child it still has. A later order starts a new one."""
        with self._lock:
            if self._warm is not None:
                self._warm.end()
                self._warm = None

    def wall_level(self) -> walls.WallLevel:
        """Which walls hold on this machine, found by starting the warm parent."""
        with self._lock:
            return walls.level(self._alive().network)

    def run(self, work: str, fd: int, order: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """One order on one open file -> what was found, and its pictures.

        `order` needs `size_bytes` and `container`. Raises MediaRefused, MediaUnproven, SandboxFailed.
        """
        message = {**order, "work": work, "limits": asdict(self.limits)}
        peer, theirs = socket.socketpair()
        status, report = socket.socketpair()
        with peer, status:
            with theirs, report:
                self._hand_over([theirs.fileno(), fd, report.fileno()])
            return _Conversation(peer, status, self.limits, int(order["size_bytes"])).hold(message)

    def _hand_over(self, fds: list[int]) -> None:
        with self._lock:
            try:
                socket.send_fds(self._alive().control, [b"o"], fds)
            except OSError:  # it died since; its successor gets the order
                self._forget()
                socket.send_fds(self._alive().control, [b"o"], fds)

    def _alive(self) -> _Warm:
        warm = self._warm
        if warm is None or not warm.usable():
            self._forget()
            self._warm = warm = _Warm()
        return warm

    def _forget(self) -> None:
        if self._warm is not None:
            self._warm.end()
            self._warm = None


class _Warm:
    """The process and our end of its control socket."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        self._owner = os.getpid()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "resources.media.warm"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={"OPENBLAS_NUM_THREADS": "1"},  # a forking process must have one thread
            )
        self.end = weakref.finalize(self, _end, self.control, self._process, self._owner)
        try:
            head = wire.receive_head(self.control, time.monotonic() + _START_SECONDS)
            self.control.settimeout(None)
            self.network = walls.Network(head["network"])
        except (wire.Broken, wire.Late, KeyError, ValueError) as error:
            self.end()
            raise SandboxFailed("no_answer", f"the media process did not start: {error}") from error

    def usable(self) -> bool:
        """False for a dead process, and in a forked copy of its owner."""
        return self._owner == os.getpid() and self._process.poll() is None


def _end(control: socket.socket, process: subprocess.Popen[bytes], owner: int) -> None:
    control.close()
    if owner != os.getpid():
        process.returncode = 0  # a forked copy has no child to wait for
        return
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Conversation:
    """Order, declared work, answer; then how the child ended, when there was no answer."""

    def __init__(self, peer: socket.socket, status: socket.socket, limits: Limits, size_bytes: int) -> None:
        self._peer = peer
        self._status = status
        self._limits = limits
        self._size_bytes = size_bytes

    def hold(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        deadline = self._deadline(0)
        try:
            wire.send_head(self._peer, message)
            head = wire.receive_head(self._peer, deadline)
            while "work" in head:
                deadline = self._deadline(_count(head["work"]))
                head = wire.receive_head(self._peer, deadline)
            blobs = [wire.receive(self._peer, length, deadline) for length in _lengths(head)]
        except wire.Late:
            raise SandboxFailed("timed_out", f"no answer within {self._allowed:.0f} s") from None
        except (wire.Broken, OSError) as error:
            raise self._ended() from error
        _raise_refusal(head)
        return head["found"], blobs

    def _deadline(self, pixels: int) -> float:
        self._allowed = self._limits.wall_seconds(self._size_bytes, pixels) + _GRACE_SECONDS
        return time.monotonic() + self._allowed

    def _ended(self) -> SandboxFailed:
        """Named by the exit status, which the warm parent reports."""
        try:
            code = int(wire.receive_head(self._status, time.monotonic() + 10)["exit"])
        except (wire.Broken, wire.Late, KeyError, TypeError, ValueError):
            return SandboxFailed("no_answer", "the media process died")
        if code < 0 and -code in _TIME_SIGNALS:
            return SandboxFailed("timed_out", f"stopped after {self._allowed - _GRACE_SECONDS:.0f} s")
        if code < 0:
            return SandboxFailed("crashed", f"the child was ended by {signal.Signals(-code).name}")
        return SandboxFailed("crashed" if code else "no_answer", f"the child ended with status {code}")


def _raise_refusal(head: dict[str, Any]) -> None:
    if "refused" in head:
        raise MediaRefused(str(head["refused"]), str(head.get("problem")), str(head.get("remedy", "")))
    if "unproven" in head:
        raise MediaUnproven(str(head["unproven"]), str(head.get("problem")))
    if "out_of_memory" in head:
        raise SandboxFailed("out_of_memory", "the file needs more memory than its size justifies")
    if "crashed" in head:
        raise SandboxFailed("crashed", f"the child gave up: {head['crashed']}")
    if not isinstance(head.get("found"), dict):
        raise SandboxFailed("no_answer", "the child answered with something else")


def _lengths(head: dict[str, Any]) -> list[int]:
    lengths = [_count(length) for length in head.get("blobs", ())]
    if sum(lengths) > MAX_OUTPUT_BYTES:
        raise wire.Broken("an answer beyond all bounds")
    return lengths


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise wire.Broken("no count")
    return value
