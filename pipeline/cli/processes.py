"""The processes of a local Reelwright: Dagster's window, daemon and code server, the renderer, the API.

Belongs here: preparing their folders, starting, watching and stopping them, for `dev` and `demo`. Does not
belong here: what is shown meanwhile.

All listen on loopback alone. They die with this process, however it ends (`leash`).
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

import pipeline
from pipeline.cli.leash import end_session
from pipeline.cli.programs import HOST, Child, Program, start, stop, wait_for_answer
from pipeline.documents.settings import PREFIX, Settings
from pipeline.domain.errors import BadSettings, NotAllowed
from resources.database.migrate import migrate

RENDERER_PORT = 8791
#: Between two looks at whether Dagster's code server lives: each goes through all processes.
FAMILY_SECONDS = 5.0
_PORT_SETTINGS = {"--port": f"{PREFIX}DAGSTER_PORT", "--api-port": f"{PREFIX}API_PORT"}
#: A program that ends so often within so long is not started again: something kills it.
MOST_ENDS, ENDS_SECONDS = 6, 120.0


@dataclass(frozen=True, slots=True)
class Running:
    """What runs, and where a person looks."""

    dagster_url: str
    renderer_url: str
    api_url: str  #: empty where it does not run
    logs: Path
    start: Callable[[Program], Child]
    programs: Sequence[Program]
    children: dict[str, Child] = field(default_factory=dict)
    ends: dict[str, deque[float]] = field(default_factory=dict)  #: when each ended last, by its name

    def require_alive(self) -> None:
        for child in self.children.values():
            child.require_alive()

    def bring_up(self, program: Program) -> None:
        """Start it and wait until it answers; NotAllowed when it does not."""
        child = self.children[program.name] = self.start(program)
        wait_for_answer(child, program.port)

    def revive(self) -> Iterator[str]:
        """Say what ended or lost a part, and start it again; NotAllowed when it keeps ending.

        What was left of it ends first, its run workers too: their items come free with their leases.
        """
        for program in self.programs:
            while not program.is_whole(child := self.children[program.name]):
                yield f"{program.name} {child.ending()}"
                self._require_patience(child)
                stop([child])
                end_session(child.process.pid)  # where the leash itself was killed
                self._start_again(program)

    def _start_again(self, program: Program) -> None:
        """What ends before it answers is looked at like what ends later; what never answers is refused."""
        try:
            self.bring_up(program)
        except NotAllowed:
            if self.children[program.name].process.poll() is None:
                raise

    def _require_patience(self, child: Child) -> None:
        now = time.monotonic()
        ends = self.ends.setdefault(child.name, deque(maxlen=MOST_ENDS))
        ends.append(now)
        if len(ends) == MOST_ENDS and now - ends[0] < ENDS_SECONDS:
            raise child.gone(f"{child.ending()}, for the {MOST_ENDS}th time within {now - ends[0]:.0f} s")

    def stop(self) -> None:
        stop(list(self.children.values()))


@dataclass(frozen=True, slots=True)
class _Ports:
    dagster: int
    renderer: int
    api: int | None

    def settings(self) -> dict[str, int]:
        """As the children are told them: links lead to where things really listen."""
        return {"dagster_port": self.dagster} | ({} if self.api is None else {"api_port": self.api})


@contextmanager
def running(
    settings: Settings,
    *,
    dagster_port: int,
    renderer_port: int,
    say: Callable[[str], None],
    api_port: int | None = None,
) -> Iterator[Running]:
    """Migrate, start everything, wait until it answers; stop everything at the end.

    A port of 0 takes a free one; without *api_port* there is no API. Raises NotAllowed when one runs already
    or a program ends by itself, and BadSettings for a port in use.
    """
    with ExitStack() as stack:
        settings.home.mkdir(parents=True, exist_ok=True)
        stack.enter_context(only_one(settings.home))
        ports = _Ports(
            free_port("--port", dagster_port),
            free_port("--renderer-port", renderer_port),
            None if api_port is None else free_port("--api-port", api_port),
        )
        say("preparing the database")
        migrate(settings.database)
        home = dagster_home(settings.home)
        known = settings.model_copy(update=ports.settings())
        environment = {**environment_of(known, _url(ports.renderer)), "DAGSTER_HOME": str(home)}
        logs = settings.home / "logs"
        logs.mkdir(exist_ok=True)
        say("starting the renderer and Dagster")
        found = Running(
            _url(ports.dagster),
            _url(ports.renderer),
            "" if ports.api is None else _url(ports.api),
            logs,
            lambda one: start(one.name, one.argv, environment, home, logs / f"{one.name}.log"),
            _programs(settings, ports),
        )
        stack.callback(found.stop)
        for program in found.programs:
            found.bring_up(program)
        stack.callback(say, "stopping")
        yield found


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
                f"stop what listens there, or {_another_port(option)}",
            ) from error
        return int(probe.getsockname()[1])


def _another_port(option: str) -> str:
    """`make dev` takes no options: there a setting says it, or the command itself is called."""
    if option in _PORT_SETTINGS:
        return f"give another port with {_PORT_SETTINGS[option]}, or with {option}"
    return f"take another with `.venv/bin/reelwright dev {option} 0`"


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


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"


def _programs(settings: Settings, ports: _Ports) -> list[Program]:
    """In the order of their start: people wait for the window, not for the API."""
    programs = [
        Program("renderer", _renderer(settings, ports.renderer), ports.renderer),
        Program("dagster", _dagster(ports.dagster), ports.dagster, has_code_server=True),
    ]
    if ports.api is not None:
        programs.append(Program("api", _api(ports.api), ports.api))
    return programs


def _api(port: int) -> list[str]:
    return [sys.executable, "-m", "pipeline.cli.main", "api", "--port", str(port)]


def _renderer(settings: Settings, port: int) -> list[str]:
    store = str(settings.home / "renderer")
    return [sys.executable, "-m", "resources.local_renderer.main", "--port", str(port), "--store", store]


def _dagster(port: int) -> list[str]:
    workspace = str(project_file("workspace.yaml"))
    return [sys.executable, "-m", "dagster", "dev", "-w", workspace, "-h", HOST, "-p", str(port)]
