"""What ends by itself is started again, a few times; what keeps ending is named, with how and its log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from pipeline.cli.leash import session_of
from pipeline.cli.processes import MOST_ENDS, Running, free_port
from pipeline.cli.programs import Program, start
from pipeline.domain.errors import NotAllowed

#: Says its number and serves; where a file named `broken` lies, it is killed before it serves.
SERVER = """
import os, pathlib, signal, sys
from http.server import HTTPServer, BaseHTTPRequestHandler
print("here I am", flush=True)
if pathlib.Path("broken").exists():
    os.kill(os.getpid(), signal.SIGKILL)
HTTPServer(("127.0.0.1", int(sys.argv[1])), BaseHTTPRequestHandler).serve_forever()
"""


@contextmanager
def one_running(folder: Path) -> Iterator[Running]:
    port = free_port("--renderer-port", 0)
    program = Program("renderer", [sys.executable, "-c", SERVER, str(port)], port)
    found = Running(
        "", "", "", folder,
        lambda one: start(one.name, one.argv, os.environ, folder, folder / f"{one.name}.log"),
        [program],
    )  # fmt: skip
    try:
        found.bring_up(program)
        yield found
    finally:
        found.stop()


def kill(found: Running) -> None:
    """As somebody who is short of memory does; until its leash has noticed."""
    leash = found.children["renderer"].process
    [victim] = session_of(leash.pid)
    victim.kill()
    psutil.wait_procs([victim], timeout=10)
    leash.wait(30)


def test_what_was_killed_is_named_with_how_and_started_again(tmp_path: Path) -> None:
    with one_running(tmp_path) as found:
        kill(found)
        said = list(found.revive())
        afterwards = list(found.revive())

    assert said == ["renderer was killed by SIGKILL (exit status 137)"]
    assert afterwards == []


def test_what_is_killed_while_it_starts_is_started_again_too(tmp_path: Path) -> None:
    with one_running(tmp_path) as found:
        kill(found)
        (tmp_path / "broken").touch()
        said = []
        for what in found.revive():
            said.append(what)
            if len(said) == 3:
                (tmp_path / "broken").unlink()
        found.require_alive()

    assert len(said) == 3


def test_what_keeps_ending_is_refused_with_how_it_ended_and_its_log(tmp_path: Path) -> None:
    with one_running(tmp_path) as found:
        kill(found)
        (tmp_path / "broken").touch()
        with pytest.raises(NotAllowed) as refusal:
            list(found.revive())

    told = str(refusal.value)
    assert told.startswith("renderer: was killed by SIGKILL (exit status 137)")
    assert f"{MOST_ENDS}th time" in told
    assert "here I am" in told
    assert str(tmp_path / "renderer.log") in refusal.value.remedy


def test_what_ended_long_ago_is_forgotten(tmp_path: Path) -> None:
    with one_running(tmp_path) as found:
        kill(found)
        list(found.revive())
        for ends in found.ends.values():
            ends.extend([time.monotonic() - 1000.0] * MOST_ENDS)
        kill(found)

        assert len(list(found.revive())) == 1
