"""The durable record: one job a key for ever, only legal moves, nothing lost by a kill."""

from __future__ import annotations

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from pipeline.domain.errors import SchemaMismatch
from resources.local_renderer.job_store import JobStore
from resources.local_renderer.jobs import MOVES, Status
from resources.local_renderer.refusals import Refused
from resources.local_renderer.store_folder import Kept
from resources.local_renderer.wanted import Wanted

_WANTED = Wanted("r", "kenburns-1", 25, 1.15, ("0" * 64,), "hi", "en", 160, 90, 1)
_KEPT = Kept(10, "f" * 64)
_CAP = 5


class JobStoreMachine(RuleBasedStateMachine):
    """Against a dictionary. `crash` is a new process on the same file, whatever was going on."""

    jobs: Bundle[str] = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "jobs.db"
        self._now = 1
        self._status: dict[str, Status] = {}
        self._keys: dict[str, tuple[Wanted, str]] = {}
        self._cancel: set[str] = set()
        self._store = JobStore(self._path, _CAP)

    def teardown(self) -> None:
        self._store.close()
        self._folder.cleanup()

    def _tick(self) -> int:
        self._now += 1
        return self._now

    @rule(key=st.sampled_from("abcdefgh"), caption=st.sampled_from(["x", "y"]), target=jobs)
    def take(self, key: str, caption: str) -> str:
        wanted = replace(_WANTED, caption=caption)
        due = sum(not self._ended(job) for job in self._status)
        expected = self._keys.get(key)
        if expected is not None and expected[0] != wanted:
            self._is_refused(key, wanted, "key_reuse")
            return expected[1]
        if expected is None and due == _CAP:
            self._is_refused(key, wanted, "queue_full")
            return "nobody"
        taken = self._store.take(key, wanted, self._tick())
        assert taken.is_new == (expected is None)
        if expected is None:
            self._keys[key] = wanted, taken.job.id
            self._status[taken.job.id] = Status.QUEUED
        assert self._keys[key] == (wanted, taken.job.id)
        return taken.job.id

    def _is_refused(self, key: str, wanted: Wanted, code: str) -> None:
        with pytest.raises(Refused) as caught:
            self._store.take(key, wanted, self._tick())
        assert caught.value.code == code

    @rule()
    def start(self) -> None:
        waiting = [job for job, status in self._status.items() if status is Status.QUEUED]
        job = self._store.start_next(self._tick())
        assert (job.id if job else None) == (waiting[0] if waiting else None)
        if job:
            self._status[job.id] = Status.RUNNING

    @rule(
        job=jobs,
        target_status=st.sampled_from([Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.QUEUED]),
    )
    def move(self, job: str, target_status: Status) -> None:
        moves = {
            Status.SUCCEEDED: lambda: self._store.succeed(job, self._tick(), _KEPT),
            Status.FAILED: lambda: self._store.fail(job, self._tick(), "x", "y"),
            Status.CANCELLED: lambda: self._store.cancelled(job, self._tick()),
            Status.QUEUED: lambda: self._store.queue_again(job, self._tick()),
        }
        is_legal = job in self._status and target_status in MOVES[self._status[job]]
        assert moves[target_status]() == is_legal
        if is_legal:
            self._status[job] = target_status

    @rule(job=jobs)
    def want_cancel(self, job: str) -> None:
        is_open = job in self._status and not self._ended(job)
        assert self._store.want_cancel(job, self._tick()) == is_open
        if is_open and self._status[job] is Status.QUEUED:
            self._status[job] = Status.CANCELLED
        elif is_open:
            self._cancel.add(job)

    @rule(job=consumes(jobs))
    def delete(self, job: str) -> None:
        self._store.mark_deleted(job, self._tick())
        found = self._store.get(job)
        if found is not None:
            assert (found.deleted_at is not None) == (found.status is Status.SUCCEEDED)

    @rule()
    def crash(self) -> None:
        self._store.close()
        self._store = JobStore(self._path, _CAP)
        self._store.recover(self._tick())
        for job, status in self._status.items():
            if status is Status.RUNNING:
                self._status[job] = Status.CANCELLED if job in self._cancel else Status.QUEUED

    @invariant()
    def record_and_listing_are_as_they_should(self) -> None:
        listed = self._store.listing(0, 0)
        assert {job.id: job.status for job in listed} == self._status
        assert [job.id for job in listed] == list(self._status)
        assert self._store.outputs() <= {j for j, s in self._status.items() if s is Status.SUCCEEDED}

    def _ended(self, job: str) -> bool:
        return not MOVES[self._status[job]]


TestJobStoreMachine = JobStoreMachine.TestCase
TestJobStoreMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_a_page_ends_where_the_next_begins(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs.db", 1000)
    taken = [store.take(f"k{n}", _WANTED, n).job.id for n in range(130)]

    first = store.listing(0, 0)
    second = store.listing(0, first[-1].number)

    assert [job.id for job in first + second] == taken
    assert [job.id for job in store.listing(125, 0)] == taken[125:]
    store.close()


def test_a_job_that_kills_every_renderer_is_given_up(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs.db", 10)
    job_id = store.take("k", _WANTED, 1).job.id
    for now in range(2, 60):
        store.start_next(now)
        store.recover(now)
    found = store.get(job_id)

    assert found is not None
    assert (found.status, found.crashes) == (Status.FAILED, 50)
    assert found.error == ("gave_up", "the renderer ended each time it rendered this")
    store.close()


def test_every_acknowledged_write_is_flushed(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs.db", 10)
    pragma = {
        name: store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    }

    assert pragma == {"journal_mode": "wal", "synchronous": 2}
    store.close()


def test_a_store_of_another_release_is_refused_by_name(tmp_path: Path) -> None:
    JobStore(tmp_path / "jobs.db", 10).close()
    other = sqlite3.connect(tmp_path / "jobs.db")
    other.execute("PRAGMA user_version = 9")
    other.close()

    with pytest.raises(SchemaMismatch, match="schema 9"):
        JobStore(tmp_path / "jobs.db", 10)
