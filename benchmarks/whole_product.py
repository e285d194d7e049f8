"""The whole product under Dagster against a bare loop over the same steps: CPU seconds of all processes.

Campaigns of up to 50 unique one-second clips of 320x180 are dropped into the intake and followed until every
slot shows its video, its pictures and index entries are made and Dagster was told. The null renderer answers
at once; its own CPU counts on neither side, as it is no part of the product.

Ours: `reelwright dev` as people start it (daemon, code server, webserver, the idle local renderer, every
run's process and media children), from the moment that all of it answers. Bare: `benchmarks.bare_loop`, from
the moment that its adapters are open. One run of each a size: CPU time is what a busy machine bends least.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.campaigns import drop_briefs, installation, is_at_rest, is_told, opened, published
from benchmarks.figures import Figure, at_most
from pipeline.cli.processes import Running, environment_of, running
from pipeline.documents.settings import Settings
from resources.database.migrate import migrate
from tests.faults.renderer.process import ROOT, RendererProcess

SIZES = (100, 1_000)
#: Below this the fixed price of a few runs is most of what is measured.
JUDGED_FROM = 1_000
LOOK_SECONDS = 1.0
SECONDS_A_RENDITION, SECONDS_AT_LEAST = 3.0, 600.0
_PR_SET_CHILD_SUBREAPER = 36


def benchmark(sizes: Sequence[int] = SIZES) -> Iterator[Figure]:
    os.environ["PYTHONPATH"] = str(ROOT)  # the null renderer's adapter is found by its path
    _adopt_orphans()
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            bare = _side(Path(folder) / "bare", size, _bare)
            ours = _side(Path(folder) / "ours", size, _ours)
        yield _figure(size, ours, bare)


def _figure(size: int, ours: Spent, bare: Spent) -> Figure:
    goal = at_most(1.4) if size >= JUDGED_FROM else None
    return Figure(f"{size:,} renditions under Dagster: CPU", ours.cpu / bare.cpu, str(ours), str(bare), goal)


@dataclass(frozen=True, slots=True)
class Spent:
    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:.1f} s in {self.wall:.0f} s"


def _side(home: Path, size: int, run: Callable[[Settings, int], Spent]) -> Spent:
    """One side in an installation of its own, with a null renderer of its own."""
    with RendererProcess(home / "null-renderer") as renderer:
        settings = installation(home, renderer.url)
        migrate(settings.database)
        return run(settings, size)


def _bare(settings: Settings, size: int) -> Spent:
    drop_briefs(settings, size)
    argv = [sys.executable, "-m", "benchmarks.bare_loop", str(size)]
    said = subprocess.run(
        argv, env=environment_of(settings, ""), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return Spent(**json.loads(said.stdout))


def _ours(settings: Settings, size: int) -> Spent:
    with running(settings, dagster_port=0, renderer_port=0, say=lambda _: None) as found:
        before, began = _tree_seconds(), time.monotonic()
        drop_briefs(settings, size)
        _follow(settings, size, found)
        wall = time.monotonic() - began
        return Spent(_tree_seconds() - before, wall)


def _follow(settings: Settings, size: int, found: Running) -> None:
    until = time.monotonic() + max(SECONDS_AT_LEAST, SECONDS_A_RENDITION * size)
    with opened(settings) as database:
        while published(database) < size or not is_at_rest(database) or not is_told(database):
            found.require_alive()
            assert time.monotonic() < until, f"{published(database)} of {size} shown"
            time.sleep(LOOK_SECONDS)


def _tree_seconds() -> float:
    """CPU of everything that was started, living or reaped; orphans became our own children."""
    trees = [child for child in psutil.Process().children() if not _is_null_renderer(child)]
    return sum(_seconds(one) for tree in trees for one in (tree, *tree.children(recursive=True)))


def _is_null_renderer(process: psutil.Process) -> bool:
    try:
        return "tests.faults.renderer" in process.cmdline()
    except psutil.ZombieProcess:
        return False  # an orphan that ended: its CPU still counts


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _adopt_orphans() -> None:
    """Linux: what outlives the process that started it becomes ours, and its CPU is not lost."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
