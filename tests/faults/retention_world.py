"""A vault in which a purge may die at any durable write, on any store; and what must hold afterwards.

Belongs here: the world, the child that dies, the assertions. Does not belong here: which store and which
database (the tests that import it).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resources.object_store.local as local
import resources.object_store.s3_versions as s3_versions
from pipeline.steps.retain import purge as purge_step
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.run import run
from pipeline.steps.retain.verify import prove
from resources.database import schema
from resources.database.database import Database
from resources.object_store.protocol import ObjectStore
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import Clock
from tests.database import rows
from tests.steps.retain.vault import ALWAYS, TENANT, Vault

GRACE_DAYS = 7
OpenStore = Callable[[], ObjectStore]


@dataclass
class PurgeWorld:
    """One approved plan over things of every kind, and one video that nothing may touch."""

    database_url: str
    folder: Path
    open_store: OpenStore

    def __post_init__(self) -> None:
        vault = self.vault(Clock())
        asset = vault.source(b"photo of the depot")
        for name in ("r-1", "r-2"):
            vault.video(name, sources=[asset])
            vault.publish(name)
        vault.video("r-3")
        vault.decline("r-3")
        vault.video("r-4")
        vault.wants(vault.slot_of("r-4"), None)
        kept_campaign = vault.campaign(f"{TENANT}.always", None)
        self.kept = vault.video("r-9", campaign=kept_campaign)
        vault.publish("r-9", campaign=kept_campaign)
        vault.pass_days(60)
        vault.put(f"{TENANT}/renditions/lost/1.mp4", b"nobody names this")
        plan(vault.retaining())
        vault.pass_days(4)
        made = plan(vault.retaining())
        approve(vault.retaining(), made.id)
        self.plan, self.items, self.at = made.id, len(made.items), vault.clock.at
        self.keys = {item.key for item in made.items}
        self.kept_keys = vault.keys() - self.keys
        self.close(vault)

    def vault(self, clock: Clock) -> Vault:
        """The world through new connections, under a clock of its own."""
        database = Database.at(self.database_url)
        database.clock = clock
        self.folder.mkdir(exist_ok=True, parents=True)
        return Vault(database, clock, self.open_store(), self.folder, is_new=not hasattr(self, "plan"))

    @staticmethod
    def close(vault: Vault) -> None:
        vault.store.close()
        vault.database.close()

    def die_at(self, point: int | None) -> tuple[int, int]:
        """Mark and, a grace later, purge in a child that is killed at durable write number *point*.

        Its status, and how many durable writes it came to.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self._live(point, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            reached = len(told.read())
        return os.waitpid(child, 0)[1], reached

    def _live(self, point: int | None, writer: int) -> None:
        status = 1
        try:
            clock = Clock(self.at)
            vault = self.vault(clock)
            _hook(_Points(point, writer))
            run(vault.retaining())
            vault.pass_days(GRACE_DAYS)
            run(vault.retaining())
            status = 0
        finally:
            os._exit(status)

    def holds_halfway(self) -> None:
        """Right after the death: no promise is broken, nothing was widened."""
        vault = self.vault(Clock(self.at + GRACE_DAYS * 86_400 * 1_000_000))
        gone = self.keys - vault.keys()
        serving = {key for key, state in vault.states().items() if state in ("live", "marked")}

        assert vault.keys() >= self.kept_keys
        assert not gone & serving
        assert vault.broken(ALWAYS) == []
        self.close(vault)

    def comes_to_its_end(self) -> None:
        """Two later runs finish it: everything planned is gone, proven once, and nothing else is."""
        vault = self.vault(Clock(self.at))
        run(vault.retaining())
        vault.pass_days(GRACE_DAYS)
        run(vault.retaining())
        receipts = vault.receipts()
        [row] = [row for row in _plans(vault) if row.id == self.plan]

        assert vault.keys() == self.kept_keys
        assert len(receipts) == self.items == len({row.subject for row in receipts})
        assert row.ended_at is not None
        assert all(prove(vault.retaining(), one.subject).holds for one in receipts)
        assert vault.state(self.kept) == "live"
        assert vault.found() == {self.kept}
        assert vault.broken((*ALWAYS, "receipts_follow_each_other", "no_orphan_objects")) == []
        assert run(vault.retaining()).counts == {}
        self.close(vault)


def _plans(vault: Vault) -> list[Any]:
    return rows.rows(vault.database, schema.retention_plans)


class _Points:
    def __init__(self, at: int | None, writer: int) -> None:
        self.at, self.writer, self.reached = at, writer, 0

    def reach(self) -> None:
        self.reached += 1
        os.write(self.writer, b".")
        if self.reached == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def _hook(points: _Points) -> None:
    """After each commit, each file or version that is removed, and each write of the index."""
    for owner, name in (
        (Database, "run"), (local, "_unlinked"), (s3_versions, "_drop"), (SqlTagIndex, "put"),
        (purge_step, "delete_and_verify"),
    ):  # fmt: skip
        setattr(owner, name, _after(getattr(owner, name), points))


def _after(real: Any, points: _Points) -> Any:
    def hooked(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        points.reach()
        return result

    return hooked
