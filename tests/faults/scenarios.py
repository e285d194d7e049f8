"""Deaths of the sweep: what happens at a point, and what a whole bench needs to try it.

Belongs here: the variants as a table, worlds on fresh databases, results. Does not belong here: what must
be true afterwards (`world`), or which points are tried when (`sweep`, `test_kill_sweep`).
"""

from __future__ import annotations

import itertools
import shutil
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa

from tests.faults.nursery import Nursery
from tests.faults.places import Places
from tests.faults.plugin import BEFORE_COMMIT
from tests.faults.renderer.process import RendererProcess
from tests.faults.world import World
from tests.postgres import Server

#: The template that `tests.conftest` keeps migrated.
TEMPLATE = "template_reelwright"
MODES = ("k", "l", "w", "n")


class NotReached(Exception):
    """The worker came to its end before the point: another one had done the work."""


def killed(world: World, at: str) -> None:
    """SIGKILL, and a worker that finds what is left."""
    _die(world, at)
    world.finish()
    world.has_converged()


def duplicated(world: World, at: str) -> None:
    """The brief lies there twice, and comes a third time after the death."""
    world.drop("again")
    _die(world, at)
    world.drop("once-more")
    world.finish()
    world.has_converged()


def beside_another(world: World, at: str) -> None:
    """Two workers at once; one of them is killed wherever it is, the other goes on."""
    mortal, other = world.start(at=at, is_alone=False), world.start(is_alone=False)
    ended = world.nursery.wait(mortal)
    world.leases_end()
    assert world.nursery.wait(other).is_well
    assert ended.was_killed or ended.is_well
    world.holds_up()
    world.has_converged(deaths=2)
    if not ended.was_killed:
        raise NotReached(at)


def stopped(world: World, at: str) -> None:
    """SIGSTOP past the lease: another worker finishes, then the first one goes on where it stood."""
    sleeper = world.start(at=at, stops=True)
    _require(world.nursery.wait(sleeper).is_stopped, at)
    world.holds_up()
    world.leases_end()
    world.finish()
    world.holds_up()
    assert world.go_on(sleeper).is_well
    world.has_converged()


def without_renderer(world: World, at: str) -> None:
    """The renderer is killed in the middle of its jobs and comes back while the worker goes on."""
    worker = world.start(at=at, stops=True)
    _require(world.nursery.wait(worker).is_stopped, at)
    world.renderer_dies()
    world.holds_up()
    world.wake(worker)
    time.sleep(0.1)
    world.renderer_returns()
    assert world.nursery.wait(worker).is_well
    world.has_converged()


def into_silence(world: World, at: str) -> None:
    """The renderer is away when the next worker comes: nothing that it says then proves anything."""
    _die(world, at)
    world.renderer_dies()
    world.run(rounds=25)
    world.holds_up()
    world.renderer_returns()
    world.finish()
    world.has_converged()


def unanswered(world: World, at: str) -> None:
    """The provider takes the first job and hangs up, its look-up lags, and the worker is killed."""
    world.renderer.arm({"on": "POST /jobs", "reply": {"close_after_accept": True}})
    if world.mode == "k":  # the others promise more of their look-ups than of their POSTs
        nothing = {"status": 200, "json": {"jobs": [], "cursor": None}}
        world.renderer.arm({"on": "GET /jobs", "reply": nothing, "times": 2})
    killed(world, at)


def again_and_again(world: World, at: str) -> None:
    """Every recovery is killed too, each a little further on than the one before."""
    _die(world, at)
    for deaths in itertools.count(2):
        ended = world.run(at=f"any:{3 * deaths - 5}")
        if ended.is_well:
            break
        assert ended.was_killed
        world.holds_up()
        world.leases_end()
    world.has_converged(deaths=deaths)


def cold(world: World, at: str) -> None:
    """Everything that was only kept to be quick is gone."""
    _die(world, at)
    world.forget_spool()
    world.finish()
    world.has_converged()


def _die(world: World, at: str) -> None:
    _require(world.run(at=at).was_killed, at)
    world.holds_up()
    world.leases_end()


def _require(happened: bool, at: str) -> None:
    if not happened:
        raise NotReached(at)


VARIANTS: Mapping[str, Callable[[World, str], None]] = MappingProxyType(
    {
        "killed": killed,
        "duplicated": duplicated,
        "beside_another": beside_another,
        "stopped": stopped,
        "without_renderer": without_renderer,
        "into_silence": into_silence,
        "unanswered": unanswered,
        "again_and_again": again_and_again,
        "cold": cold,
    }
)
#: The renderer dies or misbehaves in these: each case has one of its own, whose jobs take a while.
_OWN_RENDERER = frozenset({"without_renderer", "into_silence", "unanswered"})
_OPTIONS = ("--work-seconds", "0.2")


@dataclass(frozen=True, slots=True)
class Case:
    database: str  #: sqlite, postgresql, or services
    mode: str
    variant: str
    at: str

    def __str__(self) -> str:
        return f"{self.database} {self.mode} {self.variant} {self.at}"


@dataclass(frozen=True, slots=True)
class Result:
    case: Case
    seconds: float
    reached: bool = True
    problem: str = ""


@dataclass
class Bench:
    """What cases share: one warm nursery, one renderer a mode, a migrated template of each database.

    *services* makes an installation on other servers: its places, and the same as workers reach them.
    """

    folder: Path
    sqlite: Path | None = None
    server: Server | None = None
    services: Callable[[str], AbstractContextManager[tuple[Places, Places]]] | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    _renderers: dict[str, RendererProcess] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __enter__(self) -> Bench:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.nursery = self._stack.enter_context(Nursery(self.folder / "errors"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def points(self, database: str, mode: str = "k", *, before_commits: bool = False) -> Sequence[str]:
        """Every point of a run that nobody disturbs, as that run counted them."""
        with self._world(database, mode, self._renderer(mode)) as world:
            world.finish()
            world.has_converged(deaths=0)
            return [one for one in world.points if before_commits or not one.startswith(BEFORE_COMMIT)]

    def try_out(self, case: Case, do: Callable[[World, str], None] | None = None) -> Result:
        """One case on a world of its own; a broken assertion is its problem. *do*: what its variant means."""
        began = time.monotonic()
        reached, problem = True, ""
        with self._renderer_of(case) as renderer, self._world(case.database, case.mode, renderer) as world:
            try:
                (do or VARIANTS[case.variant])(world, case.at)
            except NotReached:
                reached = False
            except AssertionError:
                problem = traceback.format_exc(limit=-2)
        return Result(case, time.monotonic() - began, reached, problem)

    @contextmanager
    def _world(self, database: str, mode: str, renderer: RendererProcess) -> Iterator[World]:
        number = next(self._numbers)
        home = self.folder / f"world-{number}"
        with self._places(database, number) as (own, through):
            world = World(home, own, mode, renderer, self.nursery, f"tenant-{number}", through)
            try:
                yield world
            finally:
                world.close()
        shutil.rmtree(home)

    @contextmanager
    def _places(self, kind: str, number: int) -> Iterator[tuple[Places, Places]]:
        if kind == "services":
            assert self.services is not None, "no services were started"
            with self.services(f"sweep{uuid.uuid4().hex[:12]}") as places:
                yield places
            return
        with self._database(kind, number) as url:
            yield Places(url), Places(url)

    @contextmanager
    def _database(self, kind: str, number: int) -> Iterator[str]:
        if kind == "sqlite":
            assert self.sqlite is not None, "no SQLite database was migrated"
            path = self.folder / f"world-{number}.db"
            shutil.copy(self.sqlite, path)
            yield f"sqlite:///{path}"
            for left in self.folder.glob(f"{path.name}*"):
                left.unlink()
            return
        assert self.server is not None, "no PostgreSQL was started"
        name = f"sweep_{uuid.uuid4().hex[:12]}"
        administer(self.server, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
        yield self.server.url(name)
        administer(self.server, f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def _renderer_of(self, case: Case) -> Iterator[RendererProcess]:
        if case.variant not in _OWN_RENDERER:
            yield self._renderer(case.mode)
            return
        store = self.folder / f"renderer-{next(self._numbers)}"
        options = ("--mode", case.mode, *_OPTIONS)
        with RendererProcess(store, options=options) as renderer:
            yield renderer

    def _renderer(self, mode: str) -> RendererProcess:
        if mode not in self._renderers:
            renderer = RendererProcess(self.folder / f"renderer-{mode}", options=("--mode", mode))
            self._renderers[mode] = self._stack.enter_context(renderer)
        return self._renderers[mode]


def administer(server: Server, statement: str) -> None:
    engine = sa.create_engine(server.url(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
