"""One campaign whose outputs are ready, and the way from there to the viewer in single steps.

Belongs here: rows, claims and calls that several tests of these steps share. Does not belong here: what a
test expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.documents.target_profile import default_target_profile
from pipeline.documents.transform_set import default_transform_set
from pipeline.domain.follow_ons import Stage
from pipeline.domain.media import Derivative, TransformSet
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.derive import derive_group
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.publish import publish_group
from pipeline.steps.produce.retrieve import retrieve_group
from resources.database import schema
from resources.database.claims import claim_stage
from resources.database.database import Database, Transaction
from resources.database.engine import READ_ONLY
from resources.database.planning import Want, move_wants
from resources.media import Sandbox
from resources.object_store.local import LocalStore
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows
from tests.steps.output_site import OutputSite, SiteProvider, video

CAMPAIGN = "northwind.spring"


@dataclass
class Viewer:
    """All adapters of one small installation over one database."""

    database: Database
    clock: Clock
    site: OutputSite
    sandbox: Sandbox
    folder: Path
    transforms: TransformSet = field(default_factory=default_transform_set)

    def __post_init__(self) -> None:
        self.store = LocalStore(self.folder / "objects")
        self.spool = self.folder / "spool"
        engine = self.database.engine
        self.index = SqlTagIndex(engine, engine.execution_options(**READ_ONLY))
        rows.campaign(self.database, CAMPAIGN)

    @cached_property
    def clip(self) -> bytes:
        return video(self.folder, width=160, height=90)

    def arrives(self, name: str = "r-1", *, body: bytes | None = None, **columns: Any) -> str:
        """A rendition of one second whose attempt 1 waits in `retrieving`; returns the attempt's id."""
        rows.rendition(self.database, CAMPAIGN, name)
        self.change(schema.renditions, name, duration_seconds=1)
        return self.attempt_arrives(name, 1, body=body, **columns)

    def attempt_arrives(self, name: str, number: int, *, body: bytes | None = None, **columns: Any) -> str:
        handle = f"job-{name}-{number}"
        self.site.bodies[handle] = video(self.folder, mark=number) if body is None else body
        waits = {
            "state": "retrieving", "submission": "accepted", "handle": handle, "submitted_at": NOON,
            "deadline_at": NOON + 3600 * SECOND, "purge_horizon_at": NOON + 86_400 * SECOND,
            "next_action_at": NOON, "poll_count": 3, "polls_metered": 3,
        }  # fmt: skip
        return rows.attempt(self.database, CAMPAIGN, name, number, **(waits | columns))

    def change(self, table: sa.Table, subject: str, **values: Any) -> None:
        def work(tx: Transaction) -> None:
            tx.connection.execute(sa.update(table).where(table.c.id == subject).values(**values))

        self.database.run(work)

    def claim(self, stage: Stage, owner: str = "worker") -> Sequence[sa.Row[Any]]:
        """What is due of *stage* after all messages were relayed; leases of before are over."""
        relay_outbox(self.database)
        return self.database.run(lambda tx: claim_stage(tx, stage, owner))

    def retrieve(self, claimed: Sequence[sa.Row[Any]] | None = None, **other: Any) -> list[ItemResult]:
        adapters: dict[str, Any] = {
            "providers": {"local": SiteProvider(self.site)},
            "terms": {"local": self.site.terms},
            "store": self.store,
            "sandbox": self.sandbox,
            "profile": default_target_profile(),
            "spool": self.spool,
        }
        due = self.claim(Stage.RETRIEVE) if claimed is None else claimed
        return retrieve_group(self.database, due, **(adapters | other))

    def derive(self, claimed: Sequence[sa.Row[Any]] | None = None, **other: Any) -> list[ItemResult]:
        adapters: dict[str, Any] = {
            "store": self.store,
            "sandbox": self.sandbox,
            "transforms": self.transforms,
            "spool": self.spool,
        }
        due = self.claim(Stage.DERIVE) if claimed is None else claimed
        return derive_group(self.database, due, **(adapters | other))

    def publish(self, claimed: Sequence[sa.Row[Any]] | None = None, **other: Any) -> list[ItemResult]:
        due = self.claim(Stage.PUBLISH) if claimed is None else claimed
        return publish_group(self.database, due, **({"index": self.index} | other))

    def derived(self, name: str = "r-1", number: int = 1, **columns: Any) -> str:
        """An attempt whose object and manifest are complete, by rows alone: where bytes do not matter."""
        if number == 1:
            rows.rendition(self.database, CAMPAIGN, name)
        attempt = f"{name}-a{number}"
        object_ = {
            "id": f"o-{attempt}", "tenant": "northwind", "campaign": CAMPAIGN, "kind": "rendition",
            "retention_class": "standard", "key": f"northwind/renditions/{name}/{number}.mp4",
            "sha256": "5" * 64, "size_bytes": 9, "media_type": "video/mp4", "facts": {}, "state": "live",
            "created_at": self.clock.at,
        }  # fmt: skip
        rows.insert(self.database, schema.objects, object_)
        stands = {
            "state": "stored", "submission": "accepted", "handle": attempt, "object": object_["id"],
            "derived_version": "pictures-1", "next_action_at": self.clock.at,
        }  # fmt: skip
        return rows.attempt(self.database, CAMPAIGN, name, number, **(stands | columns))

    def amend(self, **columns: Any) -> None:
        """One more row of the campaign's settings, in force from now on."""
        newest = max(self.rows(schema.campaign_settings), key=lambda row: row.number)
        amended = newest._asdict() | {"number": newest.number + 1, "effective_from": self.clock.at}
        rows.insert(self.database, schema.campaign_settings, amended | columns)

    def wants(self, slot: str, rendition: str) -> None:
        """The slot wants another rendition, as a revision makes it."""
        locked = rows.read(self.database, schema.slots, slot)
        want = Want(locked, rendition)
        self.database.run(lambda tx: move_wants(tx, [want], actor="planner", reason="revision"))

    def slot(self, name: str = "r-1") -> sa.Row[Any]:
        return rows.read(self.database, schema.slots, f"{CAMPAIGN}/en-GB/16x9/{name}")

    def entry(self, attempt: str) -> sa.Row[Any]:
        [found] = [row for row in self.rows(schema.index_entries) if row.attempt == attempt]
        return found

    def standings(self) -> dict[str, str]:
        """What the index itself shows, by object."""
        ids = [row.id for row in self.rows(schema.index_entries)]
        return {entry.object_id: str(entry.standing) for entry in self.index.get("northwind", ids).values()}

    def attempt(self, subject: str) -> sa.Row[Any]:
        return rows.read(self.database, schema.attempts, subject)

    def rows(self, table: sa.Table) -> list[sa.Row[Any]]:
        return rows.rows(self.database, table)

    def usage(self, meter: str) -> int:
        return sum(fact.quantity for fact in self.rows(schema.usage_facts) if fact.meter == meter)

    def topics(self) -> set[str]:
        return {message.topic for message in self.rows(schema.outbox)}

    def words(self, results: Sequence[ItemResult]) -> list[str]:
        return [result.word for result in results]


def one_picture(version: str = "tiny-1", width: int = 64) -> TransformSet:
    """The cheapest transform set there is."""
    return TransformSet(version, (Derivative("tiny", width, "webp", 60),), (255, 255, 255))
