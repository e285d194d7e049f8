"""`reelwright api`: a process on loopback that answers and stops cleanly."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pipeline.cli.refusals import ExitCode
from tests.cli.desk import COMMAND, Desk


@contextmanager
def running(desk: Desk) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, and the address that it tells."""
    environment = {**os.environ, **desk.environment}
    with subprocess.Popen(
        [COMMAND, "api", "--port", "0"], cwd=desk.folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            told = re.search(r"http://\S+:\d+", process.stdout.readline())
            assert told
            yield process, told[0]
        finally:
            process.kill()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_a_signal_ends_it(desk: Desk, stop: signal.Signals) -> None:
    with running(desk) as (process, url):
        with urllib.request.urlopen(f"{url}/healthz", timeout=20) as answer:  # noqa: S310  our own
            body = json.load(answer)
        process.send_signal(stop)
        out, err = process.communicate(timeout=20)

    assert body == {"status": "ok"}
    assert (process.returncode, out, err) == (0, "stopped\n", "")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", "::"])  # noqa: S104
def test_nobody_elsewhere_can_reach_it(desk: Desk, host: str) -> None:
    done = desk.run("api", "--host", host, "--port", 0)

    assert done.exit_code == ExitCode.BAD_INPUT
    assert "no access control" in done.stderr


def test_a_port_that_is_taken_is_named(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = desk.run("api", "--port", port)

    assert done.exit_code == ExitCode.BAD_INPUT
    assert f"port {port} cannot be had" in done.stderr
