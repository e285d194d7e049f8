"""The processes of a local Reelwright: Dagster's window, daemon and code server, and the local renderer.

Belongs here: preparing their folders, starting, watching and stopping them, for `dev` and `demo`. Does not
belong here: what is shown meanwhile.

All listen on loopback alone. They die with this process, however it ends (`leash`).
"""

from __future__ import annotations

import fcntl
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

import pipeline
from pipeline.documents.settings import PREFIX, Settings
from pipeline.domain.errors import BadSettings, NotAllowed
from resources.database.migrate import migrate

HOST = "127.0.0.1"
RENDERER_PORT = 8791
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
        """Raise NotAllowed, with the end of its log, when it ended by itself."""
        if self.process.poll() is not None:
            tail = "\n  ".join(self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
            raise NotAllowed(self.name, f"ended by itself\n  {tail}", f"read {self.log}")


@dataclass(frozen=True, slots=True)
class Running:
    """What runs, and where a person looks."""

    dagster_url: str
    renderer_url: str
    logs: Path
    children: tuple[Child, ...]

    def require_alive(self) -> None:
        for child in self.children:
            child.require_alive()


@contextmanager
def running(
    settings: Settings,
    *,
    dagster_port: int,
    renderer_port: int,
    say: Callable[[str], None],
) -> Iterator[Running]:
    """Migrate, start everything, wait until it answers; stop everything at the end.

    A port of 0 takes a free one. Raises NotAllowed when one runs already or a program ends by itself, and
    BadSettings for a port in use.
    """
    with ExitStack() as stack:
        settings.home.mkdir(parents=True, exist_ok=True)
        stack.enter_context(only_one(settings.home))
        ports = free_port("--port", dagster_port), free_port("--renderer-port", renderer_port)
        dagster_url, renderer_url = (f"http://{HOST}:{port}" for port in ports)
        say("preparing the database")
        migrate(settings.database)
        home = dagster_home(settings.home)
        environment = {**environment_of(settings, renderer_url), "DAGSTER_HOME": str(home)}
        logs = settings.home / "logs"
        logs.mkdir(exist_ok=True)
        say("starting the renderer and Dagster")
        children: list[Child] = []
        stack.callback(stop, children)
        for name, argv, port in (
            ("renderer", _renderer(settings, ports[1]), ports[1]),
            ("dagster", _dagster(ports[0]), ports[0]),
        ):
            child = start(name, argv, environment, home, logs / f"{name}.log")
            children.append(child)
            wait_for_answer(child, port)
        stack.callback(say, "stopping")
        yield Running(dagster_url, renderer_url, logs, tuple(children))


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGINT and SIGTERM end the block as KeyboardInterrupt, also where a shell had SIGINT ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Hold the home's lock; NotAllowed when another process does. The system frees it when we end."""
    with (home / "dev.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise NotAllowed(
                "reelwright dev",
                f"it runs already in {home} (process {holder})",
                f"use that one, stop it, or set {PREFIX}HOME to another folder",
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def free_port(option: str, wanted: int) -> int:
    """*wanted* if nobody listens there, or any free one for 0; BadSettings when it is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as error:
            raise BadSettings(
                option,
                f"port {wanted} is in use",
                f"stop what listens there, or give another port with {option}",
            ) from error
        return int(probe.getsockname()[1])


def dagster_home(home: Path) -> Path:
    """Dagster's folder, with this project's dagster.yaml linked into it; a file of the user's own stays."""
    folder, link = home / "dagster", home / "dagster" / "dagster.yaml"
    shipped = project_file("dagster.yaml")
    folder.mkdir(parents=True, exist_ok=True)
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(shipped)
    return folder


def project_file(name: str) -> Path:
    """A file of the project's top level; BadSettings where Reelwright was installed without one."""
    path = Path(str(pipeline.__file__)).resolve().parents[1] / name
    if not path.is_file():
        raise BadSettings(name, f"not found at {path}", "install Reelwright from its checkout: `make setup`")
    return path


def environment_of(settings: Settings, renderer_url: str) -> dict[str, str]:
    """This process's environment with every setting named in it: the children start in another folder."""
    named = {name: getattr(settings, name) for name in Settings.model_fields} | {"renderer_url": renderer_url}
    written = {
        f"{PREFIX}{name.upper()}": _as_text(value) for name, value in named.items() if value is not None
    }
    unsettled = {name: value for name, value in os.environ.items() if name != f"{PREFIX}SETTINGS"}
    return unsettled | {name: text for name, text in written.items() if text}


def _as_text(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return str(value.absolute()) if isinstance(value, Path) else str(value)


def _renderer(settings: Settings, port: int) -> list[str]:
    store = str(settings.home / "renderer")
    return [sys.executable, "-m", "resources.local_renderer.main", "--port", str(port), "--store", store]


def _dagster(port: int) -> list[str]:
    workspace = str(project_file("workspace.yaml"))
    return [sys.executable, "-m", "dagster", "dev", "-w", workspace, "-h", HOST, "-p", str(port)]


def start(name: str, argv: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> Child:
    """A program on a leash, its output in *log*; the log of the start before is kept as NAME.previous.log."""
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli.leash", *argv],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    return Child(name, process, log)


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
