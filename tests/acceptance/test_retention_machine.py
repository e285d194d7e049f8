"""C1-C4 over any order of people, clocks, holds, grants, uploads, policies and crashes.

The oracle is written without the product's rules: what a slot of an open campaign shows or wants is never
lost, nor what a hold or a grant keeps; and once nothing keeps it, a grace and two sweeps end all the rest.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
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

from pipeline.domain.errors import NotAllowed, StoreUnavailable
from pipeline.domain.renditions import derivative_key
from pipeline.domain.retention import Scope
from pipeline.steps.produce.withdraw import withdraw
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.hold import place, release
from pipeline.steps.retain.leftovers import OVER_BEFORE
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.run import run
from pipeline.steps.retain.undo import undo
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.conftest import Clock
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, CAMPAIGN, TENANT, Vault, policy_of

OPEN = f"{TENANT}.open"
#: Bodies that videos share, so that pictures are shared too.
BODIES = (b"one body", b"another body", b"a third body")
VIDEOS = st.integers(0, 40)


class Died(Exception):
    """The process ended here, as far as anything durable knows."""


@dataclass
class Video:
    name: str
    object: str
    campaign: str
    is_shown: bool = False
    is_declined: bool = False
    is_wanted: bool = True
    holds: set[str] = field(default_factory=set)
    granted_until: int = 0
    is_undone: bool = False

    @property
    def must_stay(self) -> bool:
        """Of an open campaign, wanted and not declined."""
        return self.campaign == OPEN and self.is_wanted and not self.is_declined


class Retention(RuleBasedStateMachine):
    template: Path
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copy(self.template, self.home / "reelwright.db")
        self.database = Database.at(f"sqlite:///{self.home / 'reelwright.db'}")
        self.database.clock = self.clock = Clock()
        self.vault = Vault(self.database, self.clock, LocalStore(self.home / "objects"), self.home)
        self.vault.campaign(OPEN, None)
        self.videos: list[Video] = []
        self.active: dict[str, Video] = {}
        self.sources = 0
        self.plans: list[str] = []

    def teardown(self) -> None:
        try:
            self._everything_ends()
        finally:
            self.database.close()
            shutil.rmtree(self.home, ignore_errors=True)

    # What people and lots do

    @initialize()
    def begins(self) -> None:
        """Two campaigns, each with a video that is shown and one that is not, of shared bytes."""
        for number, is_open in enumerate((True, False, True, False)):
            self.make(is_open, BODIES[number // 2])
        for number in (0, 1):
            self.publish(number)

    @rule(is_open=st.booleans(), body=st.sampled_from(BODIES))
    def make(self, is_open: bool, body: bytes) -> None:
        name, campaign = f"r-{len(self.videos)}", OPEN if is_open else CAMPAIGN
        self._finish_what_died()
        made = self.vault.video(name, body, campaign)
        self.videos.append(Video(name, made, campaign))

    @rule(number=VIDEOS)
    @precondition(lambda self: self.videos)
    def publish(self, number: int) -> None:
        video = self._video(number)
        if video.is_declined or not video.is_wanted or video.is_shown or not self._serves(video):
            return
        self.vault.publish(video.name, campaign=video.campaign)
        video.is_shown = True

    @rule(number=VIDEOS)
    @precondition(lambda self: self.videos)
    def decline(self, number: int) -> None:
        video = self._video(number)
        if video.is_shown:
            slot = self.vault.slot_of(video.name, video.campaign)
            withdraw(self.database, self.vault.index, slot, TENANT, actor="rita", reason="declined")
        self.vault.decline(video.name)
        video.is_declined, video.is_shown = True, False

    @rule(number=VIDEOS)
    @precondition(lambda self: self.videos)
    def supersede(self, number: int) -> None:
        video = self._video(number)
        if video.is_wanted and not video.is_shown:
            self.vault.wants(self.vault.slot_of(video.name, video.campaign), None)
            video.is_wanted = False

    @rule(is_open=st.booleans(), body=st.sampled_from(BODIES))
    def upload(self, is_open: bool, body: bytes) -> None:
        try:
            self.vault.source(body, OPEN if is_open else CAMPAIGN)
        except StoreUnavailable:
            return
        self.sources += 1

    @rule(number=VIDEOS)
    @precondition(lambda self: self.videos)
    def hold(self, number: int) -> None:
        video = self._video(number)
        placed = place(
            self.vault.retaining(), TENANT, Scope.RENDITION, video.name,
            matter=f"H-{len(self.active)}", reason="dispute",
        )  # fmt: skip
        if self._serves(video):
            assert video.object not in placed.too_late
            video.holds.add(placed.id)
            self.active[placed.id] = video
        else:
            release(self.vault.retaining(), placed.id, reason="too late")

    @rule()
    @precondition(lambda self: self.active)
    def release(self) -> None:
        name, video = self.active.popitem()
        release(self.vault.retaining(), name, reason="settled")
        video.holds.discard(name)

    @rule(number=VIDEOS, hours=st.integers(1, 400))
    @precondition(lambda self: self.videos)
    def grant(self, number: int, hours: int) -> None:
        video = self._video(number)
        try:
            self.vault.grant(video.object, hours * 3600)
        except NotAllowed:
            return
        video.granted_until = max(video.granted_until, self.clock.at + hours * 3_600_000_000)

    @rule(days=st.sampled_from([0.5, 2, 8, 30, 70]))
    def time_passes(self, days: float) -> None:
        self.vault.pass_days(days)

    @rule(days=st.integers(10, 30))
    def policy_changes(self, days: int) -> None:
        version = f"test-{days}"
        self.vault.policy = policy_of(version=version, rows={"superseded": {"keep_days": days}})
        for video in self.videos:
            video.is_undone = False

    # Retention itself

    @rule()
    def plan(self) -> None:
        made = plan(self.vault.retaining())
        approve(self.vault.retaining(), made.id)
        self.plans.append(made.id)

    @rule()
    def sweep(self) -> None:
        self.plan()
        self._run()

    @rule()
    def run(self) -> None:
        self._run()

    @rule()
    def weeks_pass(self) -> None:
        """As the schedules do it, with somebody who approves whatever is planned."""
        for _ in range(3):
            self.vault.pass_days(10)
            self.sweep()

    @rule(commits=st.integers(1, 12))
    def run_and_die(self, commits: int) -> None:
        """Whatever was durable by then is all that is left of the run."""
        real, left = Database.run, [commits]

        def dying(database: Database, work: Any) -> Any:
            result = real(database, work)
            left[0] -= 1
            if left[0] == 0:
                raise Died
            return result

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Database, "run", dying)
            with suppress(Died):
                run(self.vault.retaining())
        self._note_withdrawn()

    @rule()
    @precondition(lambda self: self.plans)
    def undo(self) -> None:
        try:
            undone = undo(self.vault.retaining(), self.plans[-1], reason="on air")
        except NotAllowed:
            return
        version = self.vault.policy.version
        of = {row.id: row.policy_version for row in rows.rows(self.database, schema.retention_plans)}
        for video in self.videos:
            video.is_undone |= video.object in undone.subjects and of[undone.plan] == version

    # What must hold after every step

    @invariant()
    def nothing_that_is_needed_is_lost(self) -> None:
        states = {row.id: row for row in rows.rows(self.database, schema.objects)}
        for video in self.videos:
            row = states[video.object]
            if video.must_stay or video.holds or video.granted_until > self.clock.at:
                assert row.state in ("live", "marked"), video
                assert self.vault.store.exists(row.key), video
                assert self._pictures(row.sha256) <= self.vault.keys(), video
        assert self.vault.found() >= {one.object for one in self.videos if one.is_shown}

    @invariant()
    def every_promise_is_kept(self) -> None:
        assert (
            self.vault.broken((*ALWAYS, "receipts_follow_each_other", "receipt_is_of_what_was_purged")) == []
        )

    def _everything_ends(self) -> None:
        """Nothing keeps anything any more: a grace and two sweeps later only what must stay is there."""
        while self.active:
            self.release()
        self.vault.pass_days(100)
        self.sweep()
        self.vault.pass_days(7)
        self.sweep()
        self.vault.pass_days(7)
        self.sweep()
        stays = {one.object for one in self.videos if one.must_stay or one.is_undone}
        left = {row.id for row in rows.rows(self.database, schema.objects)
                if row.kind == "rendition" and row.state != "purged"}  # fmt: skip

        assert left >= {one.object for one in self.videos if one.must_stay}
        assert left <= stays
        purged = {row.id for row in rows.rows(self.database, schema.objects) if row.state == "purged"}
        of_objects = {row.subject for row in self.vault.receipts() if not row.subject.startswith(OVER_BEFORE)}
        assert of_objects == purged
        self.every_promise_is_kept()

    @staticmethod
    def _pictures(sha256: str) -> set[str]:
        return {derivative_key(TENANT, sha256, "tiny-1", "tiny", "webp")}

    def _finish_what_died(self) -> None:
        if any(row.state == "purging" for row in rows.rows(self.database, schema.objects)):
            self._run()

    def _video(self, number: int) -> Video:
        return self.videos[number % len(self.videos)]

    def _serves(self, video: Video) -> bool:
        return self.vault.state(video.object) in ("live", "marked")

    def _run(self) -> None:
        run(self.vault.retaining())
        self._note_withdrawn()

    def _note_withdrawn(self) -> None:
        """A purge of what a slot of an ended campaign shows begins with its withdrawal."""
        shown = {row.published_object for row in rows.rows(self.database, schema.slots)}
        for video in self.videos:
            if video.is_shown and video.object not in shown:
                assert video.campaign == CAMPAIGN
                video.is_shown = False


@pytest.mark.timeout(900)
def test_retention_keeps_what_is_needed_and_ends_what_is_due(
    migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        Retention.template, Retention.folder = migrated_sqlite, Path(folder)
        run_state_machine_as_test(
            Retention,
            settings=settings(
                max_examples=25, stateful_step_count=25, deadline=None, print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
