"""The lifecycle under stale workers, lost answers, old news, impatient people and clocks that step (L1-L12).

Every worker runs the real lots and stops before each durable step; a rule lets one of them on by a step,
kills it, or lets time, providers and people do something in between.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipeline.domain.errors import ReelwrightError
from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import NEXT_WORDS, Word
from pipeline.steps.answer.status import Wanted, WishStatus, status
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce import derive as derive_step
from pipeline.steps.produce import lot
from pipeline.steps.produce import verify as verify_step
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.stages import planning_rules, poll_tick, run_lot
from resources.adapters import Adapters
from resources.database import database as database_module
from resources.database import schema
from resources.database.database import Database
from resources.database.invariants import Phase, SeenJob, Snapshot, broken
from resources.media import Sandbox
from tests.acceptance.memory_provider import SAYINGS, Fate, Remote
from tests.acceptance.people import PEOPLE, not_accepted
from tests.acceptance.studio import CLASSES, Studio, brief
from tests.acceptance.workers import Worker
from tests.conftest import Clock
from tests.database.faults import lost_commit
from tests.postgres import Server
from tests.steps.author import picture
from tests.steps.output_site import video


def _moderate(adapters: Adapters) -> None:
    relay_outbox(adapters.database)
    moderate_due(adapters.database, adapters.moderation, planning_rules(adapters))


def _lot(stage: Stage) -> Callable[[Adapters], None]:
    def work(adapters: Adapters) -> None:
        relay_outbox(adapters.database)
        run_lot(adapters, stage)

    return work


JOBS: Mapping[str, Callable[[Adapters], Any]] = {
    "moderate": _moderate,
    "poll": poll_tick,
    **{str(stage): _lot(stage) for stage in Stage if stage is not Stage.INGEST},
}
#: From brief to viewer.
TRIP = ("moderate", "submit", "poll", "retrieve", "derive", "publish")
WORKERS = 4


class Lifecycle(RuleBasedStateMachine):
    """One campaign of two slots; `open_studio` is set by the test."""

    open_studio: Callable[[], Studio]

    def __init__(self) -> None:
        super().__init__()
        self.studio = self.open_studio()
        self.workers: list[Worker] = []
        self.words: dict[str, WishStatus] = {}
        self.faults = contextlib.ExitStack()

    @initialize(
        provider=st.sampled_from(sorted(CLASSES)),
        approval=st.sampled_from([False, False, True]),
        trips=st.integers(0, len(TRIP)),
    )
    def begin(self, provider: str, approval: bool, trips: int) -> None:
        """A first revision, which came any part of the way before trouble begins."""
        self.deliver(provider, 0, approval=approval, cap=6, carries=False)
        for job in TRIP[:trips]:
            self._all_goes_well(job)

    @rule(jobs=st.integers(1, len(TRIP)))
    def a_good_while(self, jobs: int) -> None:
        """Most days: whatever was asked for is there, and one stage after the other does its work."""
        for job in TRIP[-jobs:]:
            self._all_goes_well(job)

    def _all_goes_well(self, job: str) -> None:
        for remote in self.studio.remote.jobs.values():
            remote.says = "good"
        self.studio.remote.fates.clear()
        self.time_passes(12)
        self._run(job)

    # --- people -------------------------------------------------------------------------------------

    @rule(
        provider=st.sampled_from(sorted(CLASSES)),
        english=st.integers(0, 2),
        approval=st.sampled_from([False, False, True]),
        cap=st.integers(2, 9),
        carries=st.booleans(),
    )
    def deliver(self, provider: str, english: int, approval: bool, cap: int, carries: bool) -> None:
        """A new revision, or (carries) the newest one again with other settings."""
        number = self.studio.newest_revision
        if carries and number:
            creative = self.studio.rows(schema.revisions)[-1].creative
            provider = creative["generation"]["provider"]
            english = int(creative["copy"]["en-GB"].split()[-1].strip("."))
        else:
            number += 1
        one = brief(number, provider, english, approval=approval, cap=cap)
        with contextlib.suppress(ReelwrightError):
            self.studio.deliver(one)

    @rule(does=st.sampled_from(sorted(PEOPLE)), number=st.integers(0, 7))
    def person(self, does: str, number: int) -> None:
        """A command that is refused by name changed nothing."""
        with contextlib.suppress(ReelwrightError):
            PEOPLE[does](self.studio, number)

    @precondition(lambda self: not self.workers)
    @rule(number=st.integers(0, 3))
    def person_saw_that_nothing_was_taken(self, number: int) -> None:
        """Nobody can know that while the sender may still be at it."""
        with contextlib.suppress(ReelwrightError):
            not_accepted(self.studio, number)

    # --- the world ----------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 5, 12, 25, 61, 130, 700, -1, -30, -90]))
    def time_passes(self, seconds: int) -> None:
        """Our clock may also step back; the provider's does not."""
        self.studio.clock.pass_seconds(seconds)
        self.studio.remote.seconds += max(0, seconds)

    @rule(
        fates=st.lists(st.sampled_from(Fate), max_size=2),
        number=st.integers(0, 7),
        says=st.sampled_from(["good", "other", "cut", *SAYINGS]),
    )
    def provider_turns(self, fates: list[Fate], number: int, says: str) -> None:
        self.studio.remote.fates[:] = fates
        jobs = list(self.studio.remote.jobs.values())
        if jobs:
            jobs[number % len(jobs)].says = says

    @rule(applied=st.booleans())
    def next_commit_gets_no_answer(self, applied: bool) -> None:
        self.faults.close()
        self.faults.enter_context(lost_commit(self.studio.database.engine, applied=applied))

    # --- workers ------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.workers) < WORKERS)
    @rule(job=st.sampled_from(sorted(JOBS)), steps=st.integers(0, 6))
    def worker_starts(self, job: str, steps: int) -> None:
        worker = Worker(self.studio.adapters, self.studio.root, JOBS[job], job)
        self.workers.append(worker)
        worker.let_on(steps)
        self._forget_done()

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 3), steps=st.integers(1, 3))
    def worker_goes_on(self, number: int, steps: int) -> None:
        self.workers[number % len(self.workers)].let_on(steps)
        self._forget_done()

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 3))
    def worker_dies(self, number: int) -> None:
        self.workers.pop(number % len(self.workers)).kill()

    @rule(jobs=st.lists(st.sampled_from(sorted(JOBS)), min_size=1, max_size=3))
    def whole_lots(self, jobs: list[str]) -> None:
        for job in jobs:
            self._run(job)

    def _run(self, job: str) -> None:
        JOBS[job](self.studio.adapters)
        self._check_words()

    def _forget_done(self) -> None:
        self.workers = [worker for worker in self.workers if not worker.is_done]

    # --- what must hold -----------------------------------------------------------------------------

    @invariant()
    def invariants_hold(self) -> None:
        assert self._broken(Phase.ALWAYS) == []

    def _broken(self, *phases: Phase) -> list[str]:
        now = self.studio.clock.at
        jobs = [
            SeenJob(job.handle.split("-")[0], job.handle, job.reference, job.key)
            for job in self.studio.remote.jobs.values()
        ]
        seen = Snapshot(now, jobs=jobs, classes={name: str(of) for name, of in CLASSES.items()})
        with self.studio.database.reading() as connection:
            found = broken(connection, seen, now=now, overdue=now - 10**9, phases=phases)
            return [f"{one.invariant.id}: {one.subject}: {one.found}" for one in found]

    @invariant()
    def words_move_as_the_table_says(self) -> None:
        self._check_words()

    def _check_words(self) -> None:
        now = {one.wish: one for one in status(self.studio.database, Wanted(every_revision=True))}
        for wish, one in now.items():
            before = self.words.get(wish)
            if before is not None:
                _require_possible(before, one)
        self.words = now

    @invariant()
    def nothing_is_started_twice_without_a_persons_word(self) -> None:
        for attempt, starts in self.studio.remote.starts().items():
            assert starts == 1, f"{attempt}: {starts} remote jobs"

    def teardown(self) -> None:
        try:
            for worker in self.workers:
                worker.kill()
            self.faults.close()
        finally:
            self.studio.close()


#: Words that the mere passing of time can bring about or end: a lease of a send runs out.
_BY_TIME = frozenset({Word.UNRESOLVED, Word.QUEUED})


def _require_possible(before: WishStatus, now: WishStatus) -> None:
    moved = f"{now.wish}: {before.word} {before.why} -> {now.word} {now.why}"

    assert now.word == before.word or now.word in NEXT_WORDS[before.word], moved
    assert now.entity_version >= before.entity_version, moved
    if (now.word, now.why) != (before.word, before.why) and not {now.word, before.word} <= _BY_TIME:
        assert now.entity_version > before.entity_version, f"{moved}, unnoticed"


# --- a studio on each database -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Media:
    """What the real sandbox said of each body; examining the same bytes again says the same again."""

    bodies: Mapping[str, bytes]
    picture: bytes


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Media]:
    folder = tmp_path_factory.mktemp("media")
    good = video(folder, width=160, height=90)
    bodies = {"good": good, "other": video(folder, width=160, height=90, mark=7), "cut": good[:-900]}
    image = picture(folder / "depot.png", size=(64, 36)).read_bytes()
    with Sandbox() as sandbox, pytest.MonkeyPatch.context() as patched:
        _remember(patched, sandbox, folder)
        patched.setattr(lot, "GROUP", 1)
        patched.setattr(derive_step, "WORKERS", 1)
        patched.setattr(database_module, "PAUSE_SECONDS", 0.0)
        yield _Media(bodies, image)


def _remember(patched: pytest.MonkeyPatch, sandbox: Sandbox, folder: Path) -> None:
    """The real sandbox sees each body once: its answers by the hash of what it was shown."""
    examine, derive = verify_step.examine_video, derive_step.derive
    answers: dict[str, Any] = {}

    def once(key: str, call: Callable[[], Any]) -> Any:
        if key not in answers:
            try:
                answers[key] = call()
            except ReelwrightError as refusal:
                answers[key] = refusal
        if isinstance(answers[key], ReelwrightError):
            raise answers[key]
        return answers[key]

    def examined(_: Any, path: Path, *, sha256: str) -> Any:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
        return once(f"facts {seen} {sha256}", lambda: examine(sandbox, path, sha256=sha256))

    def derived(_: Any, path: Path, transforms: Any, into: Path) -> Any:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
        kept = folder / seen
        kept.mkdir(exist_ok=True)
        files = once(f"pictures {seen}", lambda: derive(sandbox, path, transforms, kept))
        shutil.copytree(kept, into, dirs_exist_ok=True)
        return files

    patched.setattr(verify_step, "examine_video", examined)
    patched.setattr(derive_step, "derive", derived)


def _open(url: str, folder: Path, media: _Media, wipe: Callable[[], None]) -> Studio:
    clock = Clock()
    database = Database.at(url)
    database.clock = clock
    return Studio(database, clock, folder, Remote(media.bodies), wipe, media.picture)


def _fast_folder() -> Path:
    """In memory where there is such a place: a machine of rules proves order, not disks."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="reelwright-", dir=memory if memory.is_dir() else None))


def _sqlite(template: Path, media: _Media) -> Studio:
    folder = _fast_folder()
    shutil.copy(template, folder / "reelwright.db")
    return _open(f"sqlite:///{folder / 'reelwright.db'}", folder, media, lambda: None)


def _postgresql(url: str, media: _Media) -> Studio:
    def wipe() -> None:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            names = ", ".join(table.name for table in schema.metadata.sorted_tables)
            connection.exec_driver_sql(f"TRUNCATE {names}, search_text RESTART IDENTITY CASCADE")

    return _open(url, _fast_folder(), media, wipe)


_SETTINGS = settings(
    deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, stateful_step_count=30
)


def _hold(studio: Callable[[], Studio], examples: int) -> None:
    class Machine(Lifecycle):
        open_studio = staticmethod(studio)

    run_state_machine_as_test(Machine, settings=settings(_SETTINGS, max_examples=examples))


def test_the_lifecycle_holds_on_sqlite(media: _Media, migrated_sqlite: Path) -> None:
    _hold(partial(_sqlite, migrated_sqlite, media), 25)


@pytest.mark.sweep
@pytest.mark.timeout(3600)
def test_the_lifecycle_holds_on_sqlite_for_long(media: _Media, migrated_sqlite: Path) -> None:
    _hold(partial(_sqlite, migrated_sqlite, media), 400)


def test_the_lifecycle_holds_on_postgresql(media: _Media, postgres: Server) -> None:
    name = "lifecycle_machine"
    admin = sa.create_engine(postgres.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template_reelwright STRATEGY WAL_LOG")

    _hold(partial(_postgresql, postgres.url(name), media), 5)
