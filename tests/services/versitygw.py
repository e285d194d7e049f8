"""A throw-away S3 server: versitygw, built by Go's own client once, run on a loopback port without Docker.

The binary is kept in `CACHE`. Objects are files below a folder that must lie on a file system with extended
attributes; it is removed at the end.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.go import CACHE as PROGRAMS
from tests.services.go import run_go
from tests.survivors import ends_with_us, goes_with_us

VERSION = "1.8.0"
MODULE = f"github.com/versity/versitygw/cmd/versitygw@v{VERSION}"
CACHE = PROGRAMS / f"versitygw-{VERSION}"
ACCESS_KEY, SECRET_KEY, REGION = "rootkey", "rootsecret0123456789", "us-east-1"
START_SECONDS = 30


def binary() -> Path:
    """The server's program; built when it is not there yet (four minutes on two cores)."""
    program = CACHE / "versitygw"
    if not program.exists():
        _build(program)
    return program


def _build(program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        run_go(["install", "-trimpath", "-ldflags", "-s -w", MODULE], binaries=Path(folder))
        Path(folder, program.name).replace(program)


class VersityGw:
    """One server in *root*: start, stop, kill, start again; it keeps its port."""

    def __init__(self, root: Path, *, certificate: tuple[Path, Path] | None = None) -> None:
        self.root = root
        self.port = _free_port()
        self._certificate = certificate
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("objects", "versions", "iam"):
            (root / name).mkdir()

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [
            str(binary()), "--port", f"127.0.0.1:{self.port}", "--region", REGION,
            "--iam-dir", str(self.root / "iam"), "--keep-alive", "--quiet", "--health", "/health",
        ]  # fmt: skip
        if self._certificate:
            command += ["--cert", str(self._certificate[0]), "--key", str(self._certificate[1])]
        command += ["posix", "--versioning-dir", str(self.root / "versions"), str(self.root / "objects")]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=os.environ | {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        ends_with_us(self._process.pid)
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._is_up():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"versitygw did not start: {(self.root / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def _is_up(self) -> bool:
        if self._certificate:
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", self.port)) == 0
        try:
            with urllib.request.urlopen(f"{self.endpoint}/health", timeout=1):  # noqa: S310  our own
                return True
        except OSError:
            return False

    def stop(self) -> None:
        self._end("terminate")

    def kill(self) -> None:
        self._end("kill")

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            getattr(process, how)()
            process.wait(20)


@contextmanager
def running_versitygw(*, certificate: tuple[Path, Path] | None = None) -> Iterator[VersityGw]:
    # Not below a memory file system: they have no extended attributes of users.
    with tempfile.TemporaryDirectory(prefix="rws3-", dir="/var/tmp") as root:
        goes_with_us(Path(root))
        server = VersityGw(Path(root), certificate=certificate)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
