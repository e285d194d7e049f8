"""A program's log: whole, without colours, of bounded size; its program never waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.cli import logs
from pipeline.cli.logs import Log, previous


@contextmanager
def logging(path: Path) -> Iterator[int]:
    """The end of a pipe that a program would write to."""
    out, into = os.pipe()
    log = Log(path, out)
    try:
        yield into
    finally:
        os.close(into)
        log.end()
        os.close(out)


def test_what_is_said_is_kept_without_its_colours(tmp_path: Path) -> None:
    with logging(tmp_path / "dagster.log") as into:
        for piece in (b"\x1b[32m12:00\x1b", b"[0m - \x1b[34mINFO\x1b[0m - gr\xc3", b"\xbcn\nno end"):
            os.write(into, piece)

    assert (tmp_path / "dagster.log").read_text("utf-8") == "12:00 - INFO - grün\nno end"


def test_a_full_file_makes_room_and_the_one_before_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 4096)
    path = tmp_path / "dagster.log"
    with logging(path) as into:
        for number in range(2000):
            os.write(into, f"line {number:05}\n".encode())
    kept = previous(path).read_text() + path.read_text()

    assert kept.endswith("line 01999\n")
    assert kept.splitlines() == [f"line {number:05}" for number in range(2000)][-len(kept.splitlines()) :]
    assert 0 < len(kept) < 2 * (4096 + logs.READ_BYTES)


def test_a_log_that_cannot_be_written_holds_nobody_up(tmp_path: Path) -> None:
    with logging(tmp_path / "gone" / "dagster.log") as into:
        for _ in range(100):
            os.write(into, b"x" * 8191 + b"\n")  # many times what a pipe holds

    assert not (tmp_path / "gone").exists()
