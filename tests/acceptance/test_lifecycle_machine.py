"""The lifecycle under stale workers, lost answers, old news, impatient people and clocks that step (L1-L12).

Every worker runs the real lots and stops before each durable step; a rule lets one of them on by a step,
kills it, or lets time, providers and people do something in between.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
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
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.receipts import write_due_receipts
from pipeline.steps.produce.stages import planning_rules, poll_tick, run_lot
from resources.adapters import Adapters
from resources.database import schema
from resources.database.invariants import Phase, SeenJob, Snapshot, broken
from tests.acceptance.memory_provider import SAYINGS, Fate
from tests.acceptance.people import PEOPLE, not_accepted
from tests.acceptance.studio import CLASSES, Studio, brief
from tests.acceptance.studios import Studios
from tests.acceptance.workers import Worker
from tests.database.faults import lost_commit


def _moderate(adapters: Adapters) -> None:
    """The ingest lot without its files: sets are judged, receipts are written."""
    relay_outbox(adapters.database)
    moderate_due(adapters.database, adapters.moderation, planning_rules(adapters))
    relay_outbox(adapters.database)
    write_due_receipts(adapters.database, adapters.store)


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
#: Times that the whole way is gone after all faults have ended, in which everything must come to rest.
ROUNDS = 6
RESTING = ("indexed", "failed", "cancelled")


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
        worker = Worker(self.studio.adapters, JOBS[job], job)
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
        """Faults end, and then everything must come to rest (unless something is broken already)."""
        for worker in self.workers:
            worker.kill()
        self.workers, is_sound = [], sys.exc_info()[0] is None
        self.faults.close()
        if is_sound and self.studio.newest_revision:
            self._heal()

    def _heal(self) -> None:
        PEOPLE["resume"](self.studio, 0)
        for _ in range(ROUNDS):
            self.time_passes(700)
            for job in TRIP:
                self._all_goes_well(job)

        assert self._broken(*Phase) == []
        assert _restless(self.studio) == []


def _restless(studio: Studio) -> list[str]:
    """Wanted, selected attempts that neither ended, nor are indexed, nor wait for a person or a place."""
    wanted = {row.wanted_rendition for row in studio.rows(schema.slots)}
    selected = {row.selected_attempt for row in studio.rows(schema.renditions) if row.id in wanted}
    places = {row.provider for row in studio.rows(schema.lanes) if row.in_flight < row.cap}
    return [
        f"{row.id}: {row.state}, {row.submission}"
        for row in studio.rows(schema.attempts)
        if row.id in selected
        and row.state not in RESTING
        and row.parked_reason is None
        and (row.provider in places or row.state != "queued")
    ]


#: Words that the mere passing of time can bring about or end: a lease of a send runs out.
_BY_TIME = frozenset({Word.UNRESOLVED, Word.QUEUED})


def _require_possible(before: WishStatus, now: WishStatus) -> None:
    moved = f"{now.wish}: {before.word} {before.why} -> {now.word} {now.why}"

    assert now.word == before.word or now.word in NEXT_WORDS[before.word], moved
    assert now.entity_version >= before.entity_version, moved
    if (now.word, now.why) != (before.word, before.why) and not {now.word, before.word} <= _BY_TIME:
        assert now.entity_version > before.entity_version, f"{moved}, unnoticed"


_SETTINGS = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    stateful_step_count=30,
)


def hold(studios: Studios, examples: int) -> None:
    """The machine on *studios*, from as many beginnings as *examples*."""

    class Machine(Lifecycle):
        open_studio = staticmethod(studios.open)

    run_state_machine_as_test(Machine, settings=settings(_SETTINGS, max_examples=examples))


#: A failure is told as a short story, and shortening it takes minutes.
pytestmark = pytest.mark.timeout(900)


def test_the_lifecycle_holds_on_sqlite(sqlite_studios: Studios) -> None:
    hold(sqlite_studios, 20)


def test_the_lifecycle_holds_on_postgresql(postgresql_studios: Studios) -> None:
    hold(postgresql_studios, 3)
