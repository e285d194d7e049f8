"""A real `reelwright dev` with a null renderer that bills every job, whose processes are killed one by one.

Belongs here: starting it, dropping a campaign of sixty renditions, finding and killing its processes. Does
not belong here: when they are killed (`moments`), or what must hold afterwards (`survival`).
"""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import yaml
from PIL import Image

from pipeline.cli.leash import session_of
from pipeline.documents.settings import Settings
from resources.database.database import Database
from tests.dagster_home import instance_of
from tests.faults.renderer.process import ROOT, RendererProcess

REELWRIGHT = str(Path(sys.executable).with_name("reelwright"))
TENANT = "northwind"
LOCALES = ("de-DE", "en-GB", "es-ES", "fi-FI", "fr-FR", "it-IT", "nl-NL", "pl-PL", "pt-PT", "sv-SE")
RATIOS = ("16:9", "9:16", "1:1")
DURATIONS = (1, 2)
RENDITIONS = len(LOCALES) * len(RATIOS) * len(DURATIONS)
#: A cold start of everything on two busy cores.
START_SECONDS = 180.0
STOP_SECONDS = 120.0


class Kind(enum.StrEnum):
    """What is killed, and words that its command line has."""

    CODE_SERVER = "code server"
    WORKER = "run worker"
    DAEMON = "daemon"


WORDS: Mapping[Kind, frozenset[str]] = {
    Kind.CODE_SERVER: frozenset({"api", "grpc"}),
    Kind.WORKER: frozenset({"--multiprocessing-fork"}),
    Kind.DAEMON: frozenset({"dagster._daemon"}),
}


class House:
    """One installation; what `dev` says goes to `dev.log` in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.renderer = RendererProcess(folder / "null-renderer", options=("--work-seconds", "1"))
        self.settings = Settings(home=folder / "home", providers=folder / "providers.yaml", actor="survivor")

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._begin(stack)
            self._open = stack.pop_all()
        return self

    def _begin(self, stack: ExitStack) -> None:
        stack.enter_context(self.renderer)
        listed = {"version": "survival-1", "providers": {"null": _provider(self.renderer.url)}}
        (self.folder / "providers.yaml").write_text(yaml.safe_dump(listed))
        with (self.folder / "dev.log").open("wb") as output:
            self._dev = subprocess.Popen(
                [REELWRIGHT, "dev", "--port", "0", "--renderer-port", "0", "--api-port", "0"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=self._environment(),
            )
        stack.callback(self._end)
        wait_until(lambda: "Reelwright runs" in self.said(), START_SECONDS, self.said)
        self.database = Database.at(self.settings.database)
        stack.callback(self.database.close)
        self.instance = stack.enter_context(instance_of(self.settings.home / "dagster"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _end(self) -> None:
        """Let `dev` stop everything; it takes up to 40 s for each program."""
        self._dev.terminate()
        self._dev.wait(STOP_SECONDS)

    def _environment(self) -> dict[str, str]:
        own = {
            "REELWRIGHT_HOME": str(self.settings.home),
            "REELWRIGHT_PROVIDERS": str(self.settings.providers),
            "REELWRIGHT_ACTOR": self.settings.actor,
            "PYTHONPATH": str(ROOT),  # the null renderer's adapter is found by its path
        }
        ours = ("REELWRIGHT_", "DAGSTER_")
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | own

    def said(self) -> str:
        return (self.folder / "dev.log").read_text()

    @property
    def dagster_url(self) -> str:
        return next(line.split()[1] for line in self.said().splitlines() if line.startswith("  Dagster"))

    def require_alive(self) -> None:
        assert self._dev.poll() is None, self.said()

    def drop(self, name: str) -> str:
        """Drop a campaign of `RENDITIONS` into the intake; its partition key."""
        folder = self.settings.objects / "intake" / TENANT / name
        folder.mkdir(parents=True)
        Image.new("RGB", (320, 180), "navy").save(folder / "still.jpg")
        (folder / "brief.yaml").write_text(yaml.safe_dump(_brief(name), allow_unicode=True))
        return f"{TENANT}.{name}"

    def processes(self, kind: Kind) -> list[psutil.Process]:
        """The living ones on Dagster's leash."""
        family = [one for leash in self._leashes() for one in session_of(leash.pid)]
        return [one for one in family if WORDS[kind] <= set(_words(one))]

    def _leashes(self) -> list[psutil.Process]:
        children = psutil.Process(self._dev.pid).children()
        return [one for one in children if {"pipeline.cli.leash", "dagster"} <= set(_words(one))]

    def kill(self, kinds: Collection[Kind]) -> list[psutil.Process]:
        """SIGKILL every process of *kinds*, all found before the first one dies; those that were there."""
        found = [one for kind in kinds for one in self.processes(kind)]
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(found, timeout=10)
        return found

    @contextmanager
    def second_daemon(self) -> Iterator[psutil.Process]:
        """Another daemon with the first one's arguments, its pipe aside, as a second start by mistake has."""
        [first] = self.processes(Kind.DAEMON)
        words = first.cmdline()
        pipe = words.index("--shutdown-pipe")
        argv = words[:pipe] + words[pipe + 2 :]
        with (self.folder / "second-daemon.log").open("wb") as output:
            daemon = psutil.Popen(
                argv,
                stdout=output,
                stderr=output,
                cwd=first.cwd(),
                env=first.environ(),
            )
        try:
            yield daemon
        finally:
            daemon.kill()
            daemon.wait()

    def is_whole(self) -> bool:
        """Everything that `dev` started lives (again)."""
        return all(self.processes(kind) for kind in (Kind.CODE_SERVER, Kind.DAEMON))


def wait_until(
    holds: Callable[[], bool], seconds: float, state: Callable[[], object], pause: float = 0.5
) -> None:
    """Look every *pause* seconds; fail with *state* when it does not hold in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not after {seconds:.0f} s: {state()}"
        time.sleep(pause)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _provider(url: str) -> dict[str, object]:
    return {
        "adapter": "tests.faults.renderer.adapters:KeyProvider",
        "base_url": url,
        "private_origin": True,
        "spend": "test",
        "currency": "EUR",
        "models": {"kenburns-1": {"price_per_second": "0.01"}},
        "rates": {
            "submits_per_second": 20, "polls_per_second": 500,
            "submit_concurrency": 4, "poll_concurrency": 20,
        },
        "in_flight": {"total": 1000, "per_tenant": 1000},
        "waiting": {"deadline_seconds": 1800, "purge_horizon_seconds": 86_400},
        "polling": {"first_seconds": 1, "ceiling_seconds": 5},
    }  # fmt: skip


def _brief(name: str) -> dict[str, object]:
    return {
        "tenant": TENANT,
        "campaign": name,
        "revision": 1,
        "cost_center": "MKT-1",
        "sources": ["still.jpg"],
        "copy": {locale: f"Hello {locale}, from {name}." for locale in LOCALES},
        "variants": {
            "locales": list(LOCALES), "aspect_ratios": list(RATIOS), "duration_seconds": list(DURATIONS),
        },
        "generation": {
            "provider": "null", "model": "kenburns-1", "settings": {"fps": 12, "short_side": 180},
        },
        "tags": {"asset_type": "marketing-video", "visibility": "public"},
        "publish": "auto",
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
        "ends_on": "2099-12-31",
    }  # fmt: skip
