"""The renderer's memory: one append-only file, fsynced before any answer, and read back after a kill.

Belongs here: durable lines and the bill as tests read it. Does not belong here: what the lines mean
for a job (`jobs`).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE_NAME = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class BillLine:
    """One accepted, paid job."""

    id: str
    reference: str
    key: str


def read_bill(store: Path) -> list[BillLine]:
    """What the provider would charge for, oldest first; works while the program runs or lies dead."""
    return [
        BillLine(entry["id"], entry["body"]["reference"], entry["key"])
        for entry in read_entries(store / FILE_NAME)
        if entry["event"] == "accepted"
    ]


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line; a torn last one was never answered for and counts as not written."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)


class Journal:
    """Appends in groups: whoever comes while a flush is under way shares the next one."""

    def __init__(self, store: Path) -> None:
        store.mkdir(parents=True, exist_ok=True)
        self._path = store / FILE_NAME
        self.entries = list(read_entries(self._path))
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._drop_torn_line()
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None

    def _drop_torn_line(self) -> None:
        content = self._path.read_bytes()
        os.ftruncate(self._file, content.rfind(b"\n") + 1)

    async def append(self, entry: dict[str, Any]) -> None:
        """Durable when this returns."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((json.dumps(entry).encode() + b"\n", done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        await done

    async def _flush(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            os.write(self._file, b"".join(line for line, _ in group))
            await asyncio.to_thread(os.fsync, self._file)
            for _, done in group:
                if not done.done():
                    done.set_result(None)
