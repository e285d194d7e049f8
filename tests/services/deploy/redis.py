"""A throw-away broker: Debian's redis-server on a loopback port, in memory alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis
from redis.exceptions import ConnectionError as Refused

from tests.services.deploy.installation import free_port
from tests.services.programs import REMEDIES
from tests.survivors import ends_with_us

START_SECONDS = 20.0


@contextmanager
def running_redis() -> Iterator[str]:
    """Its URL, without the number of a database."""
    program = shutil.which("redis-server")
    assert program, f"redis-server is missing: {REMEDIES['redis-server']}"
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        argv = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", folder]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        ends_with_us(process.pid)
        try:
            _wait(process, port)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    with Redis(port=port) as client:
        while not _answers(client):
            assert process.poll() is None, "redis-server ended by itself"
            assert time.monotonic() < until, "redis-server did not start"
            time.sleep(0.05)


def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except Refused:
        return False
