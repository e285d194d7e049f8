"""The sound installation of the invariants' tests with a store, an index and a provider around it.

Belongs here: setting it up, breaking it by a statement, asking what is broken. Does not belong here: what a
test expects.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.outcomes import Reconciliation
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.operate.reconcile import reconcile
from pipeline.steps.operate.reconciled import ReconcileReport
from pipeline.steps.produce.telling import tell
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database
from resources.database.engine import READ_ONLY
from resources.database.invariants import broken
from resources.object_store.local import LocalStore
from resources.providers.protocol import Found, LookUpAnswer, Observation, Standing
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import SECOND, Clock
from tests.database import rows, sound
from tests.steps.upkeep import TINY
from tests.steps.volume import multiply

SMALL = replace(TINY.derivatives[0], name="small")


@dataclass
class Listing:
    """A provider whose jobs run and run, and that lists what a test says."""

    reconciliation: Reconciliation = Reconciliation.LOOKUP
    key_window_seconds: int = 0
    lookup_lag_seconds: int = 10
    not_found_window_seconds: int = 0
    jobs: list[Found] = field(default_factory=list)

    async def look_up(self, _client: Any, handles: Sequence[str]) -> Sequence[Observation]:
        return [Observation(handle, Standing.RUNNING, word="running") for handle in handles]

    async def find(self, *_: Any, since: datetime) -> LookUpAnswer:  # noqa: ARG002
        return LookUpAnswer(tuple(self.jobs), complete=True)


@dataclass
class House:
    """The sound installation of the invariants' tests, with adapters around it."""

    database: Database
    folder: Path
    clock: Clock
    provider: Listing = field(default_factory=Listing)
    more: int = 0  #: published videos beside the one, in `campaigns` campaigns
    campaigns: int = 1

    def __post_init__(self) -> None:
        multiply(self.database, self.more, self.campaigns if self.more else 0)
        self.store = LocalStore(self.folder / "objects")
        for name, (_, size, _) in sound.OBJECTS.items():
            self.lay(f"{sound.TENANT}/{name}", b"x" * size)
        engine = self.database.engine
        self.index = SqlTagIndex(engine, engine.execution_options(**READ_ONLY))
        tell(self.database, self.index, ["e-1"])

    def lay(self, key: str, content: bytes, *, age_seconds: float = 60) -> Path:
        """Bytes in the store, of that age."""
        path = self.folder / "objects" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        at = self.clock.at / SECOND - age_seconds
        os.utime(path, (at, at))
        return path

    @property
    def adapters(self) -> Adapters:
        everything: Any = {
            "database": self.database, "store": self.store, "index": self.index, "sandbox": None,
            "providers": {"local": self.provider},
            "terms": {"local": ProviderTerms("local", "local", "http://127.0.0.1:9")},
            "profile": None, "transforms": replace(TINY, version="web-1", derivatives=(SMALL,)),
            "moderation": None, "spool": self.folder / "spool",
        }  # fmt: skip
        return Adapters(**everything)

    def run(self, statement: str) -> None:
        self.database.run(lambda tx: tx.connection.execute(sa.text(statement)))

    def reconcile(self) -> ReconcileReport:
        return reconcile(self.adapters, self.database.now())

    def broken(self) -> list[str]:
        with self.database.reading() as connection:
            now = self.clock.at
            found = broken(connection, sound.seen(), now=now, overdue=now - 900 * SECOND)
            return [f"{one.invariant.id}: {one.subject}: {one.found}" for one in found]

    def attempt(self, name: str) -> sa.Row[Any]:
        return rows.read(self.database, schema.attempts, name)

    def audit(self, subject: str) -> sa.Row[Any]:
        links = [row for row in rows.rows(self.database, schema.audit) if row.subject_id == subject]
        return max(links, key=lambda row: row.id)
