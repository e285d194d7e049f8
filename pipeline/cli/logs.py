"""The log of a program on its leash: plain lines in one file of bounded size, and the file before it.

Belongs here: taking a program's output to its file. Does not belong here: starting or ending it (`leash`).

Dagster says something every second, day and night, in colours: about 25 MB a day (measured).
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from pathlib import Path

#: A full file becomes NAME.previous.log; both together are bounded by twice this.
MAX_BYTES = 10 * 2**20
READ_BYTES = 64 * 1024
#: How long the last of a program's output is waited for; a process that escaped may hold the pipe open.
DRAIN_SECONDS = 2.0
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


def previous(log: Path) -> Path:
    return log.with_suffix(".previous.log")


class Log:
    """Writes what comes through the pipe *source* to *path*, in a thread of its own until the pipe ends."""

    def __init__(self, path: Path, source: int) -> None:
        self._path, self._source = path, source
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._thread.join(DRAIN_SECONDS)

    def _take(self) -> None:
        rest = b""
        while chunk := os.read(self._source, READ_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            self._write(b"".join(line + b"\n" for line in lines))
            if len(rest) > READ_BYTES:  # a line without an end
                rest = self._write(rest)
        self._write(rest)

    def _write(self, lines: bytes) -> bytes:
        """A full disk costs lines of the log and not the program: its pipe goes on being emptied."""
        with suppress(OSError):
            with self._path.open("ab") as log:
                log.write(_COLOURS.sub(b"", lines))
                is_full = log.tell() > MAX_BYTES
            if is_full:
                self._path.replace(previous(self._path))
        return b""
