"""A small installation whose bytes may go: real rows by the product's own writes, real bytes, any store.

Belongs here: setting it up, letting time pass, asking what is left. Does not belong here: what is expected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml

from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.documents.retention_policy import read_retention_policy
from pipeline.documents.target_profile import default_target_profile
from pipeline.domain.media import Derivative, TransformSet
from pipeline.domain.renditions import derivative_key, entry_id, rendition_key, source_key
from pipeline.domain.retention import RetentionPolicy
from pipeline.domain.storage_price import StoragePrice
from pipeline.steps.produce.telling import tell
from pipeline.steps.produce.withdraw import tell_slots
from pipeline.steps.retain.retaining import Retaining
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database, Transaction
from resources.database.derivatives import Picture, record_manifest
from resources.database.engine import READ_ONLY
from resources.database.grants import issue_grant
from resources.database.index_entries import Candidate, want_candidates
from resources.database.invariants import SeenEntry, SeenObject, Snapshot, broken
from resources.database.objects import NewObject, Use, descend, own, purges_before_put, use
from resources.database.planning import Want, move_wants
from resources.database.publications import PointerMove, PublicationMove, Shown, lock_slot, move_pointer
from resources.object_store.protocol import ObjectStore
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import Clock
from tests.database import rows

TENANT = "northwind"
CAMPAIGN = f"{TENANT}.spring"
DAY_SECONDS = 86_400
TRANSFORMS = TransformSet("tiny-1", (Derivative("tiny", 64, "webp", 60),), (255, 255, 255))
ENDS_ON = "2026-01-10"

WORDS: dict[str, Any] = {
    "version": "test-1",
    "grace_days": 7,
    "guards": {
        "minimum_age_hours": 48, "longest_silence_days": 366, "limits": {"objects": 1000, "bytes": "1 GiB"}
    },
    "approvers": {"operator": ["olive"], "legal": ["lee", "olive"]},
    "rows": [
        ["source", "source_asset", "standard", 40, "campaign_end", "purge", "legal"],
        ["approved", "approved_rendition", "standard", 20, "campaign_end", "withdraw_and_purge", "operator"],
        ["declined", "declined_rendition", "standard", 10, "declined", "purge", "operator"],
        ["superseded", "superseded_rendition", "standard", 15, "superseded", "purge", "operator"],
        ["derivative", "derivative", "standard", "with_master", "master", "purge", "operator"],
        ["inactive", "inactive_derivative", "standard", 5, "replaced", "purge", "operator"],
        ["orphan", "orphan_object", None, 3, "first_seen", "purge", "operator"],
        ["temporary", "temporary_object", None, 2, "first_seen", "purge", "operator"],
        ["spool", "spool_file", None, 2, "first_seen", "purge", "operator"],
        ["grant", "grant", None, 30, "expired", "purge", "operator"],
    ],
}  # fmt: skip
FIELDS = ("id", "what", "class", "keep_days", "after", "action", "approver")


def policy_of(**changes: Any) -> RetentionPolicy:
    """The policy of these tests; `rows` may change or drop some by id, `guards` some of its guards."""
    words = {**WORDS, **{name: value for name, value in changes.items() if name not in ("rows", "guards")}}
    words["guards"] = {**WORDS["guards"], **changes.get("guards", {})}
    changed = changes.get("rows", {})
    written = []
    for one in WORDS["rows"]:
        row = {name: value for name, value in zip(FIELDS, one, strict=True) if value is not None}
        if changed.get(one[0], row) is not None:
            written.append({**row, "version": 1, **changed.get(one[0], {})})
    words["rows"] = written
    return read_retention_policy(yaml.safe_dump(words), name="policy.yaml")


@dataclass
class Vault:
    database: Database
    clock: Clock
    store: ObjectStore
    folder: Path
    policy: RetentionPolicy = field(default_factory=policy_of)
    number: int = 0
    is_new: bool = True

    def __post_init__(self) -> None:
        engine = self.database.engine
        self.index = SqlTagIndex(engine, engine.execution_options(**READ_ONLY))
        self.adapters = Adapters(
            database=self.database, store=self.store, index=self.index, sandbox=None,  # type: ignore[arg-type]
            providers={}, terms={}, profile=default_target_profile(), transforms=TRANSFORMS,
            moderation=default_moderation_policy(), spool=self.folder / "spool",
        )  # fmt: skip
        if self.is_new:
            self.campaign(CAMPAIGN)

    def retaining(self, actor: str = "olive", policy: RetentionPolicy | None = None) -> Retaining:
        return Retaining(
            self.adapters, policy or self.policy, StoragePrice("EUR", 23_000), actor, lambda: self.clock.at
        )

    def pass_days(self, days: float) -> None:
        self.clock.pass_seconds(days * DAY_SECONDS)

    def run(self, work: Any) -> Any:
        return self.database.run(work)

    def grace_is_over(self) -> None:
        """As if the grace of all that is marked had just ended, under a clock that nobody can move."""
        items = schema.retention_items
        change = sa.update(items).where(items.c.standing == "marked").values(purge_after=1)
        self.run(lambda tx: tx.connection.execute(change))

    # Making things

    def campaign(self, name: str, ends_on: str | None = ENDS_ON) -> str:
        rows.campaign(self.database, name)
        self.amend(name, ends_on=ends_on)
        return name

    def amend(self, campaign: str, **columns: Any) -> None:
        table = schema.campaign_settings
        change = sa.update(table).where(table.c.campaign == campaign).values(**columns)
        self.run(lambda tx: tx.connection.execute(change))

    def put(self, key: str, content: bytes) -> tuple[str, int]:
        path = self.folder / "body"
        path.write_bytes(content)
        sha256, size = hashlib.sha256(content).hexdigest(), len(content)
        self.store.put_if_absent(key, path, sha256=sha256, size=size, media_type="any/thing")
        return sha256, size

    def new(self, kind: str, key: str, content: bytes, campaign: str | None, **other: Any) -> NewObject:
        with self.database.reading() as connection:
            purges = purges_before_put(connection, [key])
        sha256, size = self.put(key, content)
        said = {"retention_class": "standard", "media_type": "any/thing"} | other
        said |= {"purges_before": purges.get(key, 0)}
        return NewObject(TENANT, campaign, kind, key=key, sha256=sha256, size_bytes=size, **said)

    def source(self, content: bytes = b"photo", campaign: str = CAMPAIGN, state: str = "approved") -> str:
        """A source asset of a revision of *campaign*, with its upright picture; its id."""
        self.number += 1
        revision, sha256 = f"{campaign}/r{self.number}", hashlib.sha256(content).hexdigest()
        asset = f"{TENANT}/{sha256}"
        original = self.new("source", source_key(TENANT, sha256), content, None)
        upright_key = derivative_key(TENANT, sha256, "upright-1", "upright", "jpg")
        upright = self.new("derivative", upright_key, b"upright " + content, None)

        def work(tx: Transaction) -> None:
            ids = own(tx, [original, upright])
            tx.connection.execute(
                sa.insert(schema.revisions).values(
                    id=revision, tenant=TENANT, campaign=campaign, number=self.number, creative={},
                    creative_sha256="c", asset_set_sha256="s", state=state, submit_mode="when_complete",
                    actor="author", created_at=tx.now,
                )
            )  # fmt: skip
            if (
                tx.connection.scalar(
                    sa.select(schema.source_assets.c.id).where(schema.source_assets.c.id == asset)
                )
                is None
            ):
                tx.connection.execute(
                    sa.insert(schema.source_assets).values(
                        id=asset, tenant=TENANT, sha256=sha256, object=ids[original.key],
                        media_type="image/png", facts={}, created_at=tx.now,
                    )
                )  # fmt: skip
            tx.connection.execute(
                sa.insert(schema.revision_sources).values(
                    revision=revision, position=0, tenant=TENANT, name="photo.png", standing="present",
                    source_asset=asset,
                )
            )  # fmt: skip
            descend(tx, TENANT, ids[original.key], [ids[upright.key]])
            picture = Picture("upright", ids[upright.key], 1, 1, "jpeg", upright.size_bytes, True)
            record_manifest(tx, TENANT, sha256, "upright-1", [picture])
            use(tx, [Use(ids[original.key], "revision", revision, TENANT)])

        self.run(work)
        return asset

    def video(
        self,
        name: str = "r-1",
        content: bytes | None = None,
        campaign: str = CAMPAIGN,
        sources: Sequence[str] = (),
        slot: str | None = None,
    ) -> str:
        """A rendition whose attempt 1 is indexed, with one picture; the id of its object.

        Its slot wants it; *slot* is another one's, which then wants this one instead.
        """
        rows.rendition(self.database, campaign, name, sources=[one.partition("/")[2] for one in sources])
        moved = (
            sa.update(schema.slots)
            .where(schema.slots.c.wanted_rendition == name)
            .values(wanted_rendition=None)
        )
        self.run(lambda tx: tx.connection.execute(moved))
        if slot is not None:
            table = schema.renditions
            moved_in = sa.update(table).where(table.c.id == name).values(slot=slot)
            self.run(lambda tx: tx.connection.execute(moved_in))
        self.wants(slot or self.slot_of(name, campaign), name)
        return self.arrives(name, 1, content or f"video {name}".encode(), campaign)

    def arrives(self, name: str, number: int, content: bytes, campaign: str = CAMPAIGN) -> str:
        """An attempt with its object and picture."""
        attempt = f"{name}-a{number}"
        video = self.new("rendition", rendition_key(TENANT, name, number), content, campaign)
        rows.attempt(
            self.database, campaign, name, number, state="indexed", submission="accepted", handle=attempt,
            derived_version="tiny-1",
        )  # fmt: skip
        found: list[str] = []

        def work(tx: Transaction) -> None:
            ids = own(tx, [video])
            found.append(ids[video.key])
            changed = {"object": ids[video.key]}
            attempts = schema.attempts
            tx.connection.execute(sa.update(attempts).where(attempts.c.id == attempt).values(**changed))
            use(tx, [Use(ids[video.key], "attempt", attempt, TENANT)])

        self.run(work)
        self.picture(found[0], video.sha256, attempt, campaign)
        return found[0]

    def picture(self, master: str, sha256: str, attempt: str, campaign: str, version: str = "tiny-1") -> str:
        key = derivative_key(TENANT, sha256, version, "tiny", "webp")
        picture = self.new("derivative", key, f"picture {sha256} {version}".encode(), campaign)

        def work(tx: Transaction) -> str:
            name = own(tx, [picture])[key]
            descend(tx, TENANT, master, [name])
            row = Picture("tiny", name, 1, 1, "webp", picture.size_bytes, False)
            record_manifest(tx, TENANT, sha256, version, [row])
            use(tx, [Use(name, "attempt", attempt, TENANT)])
            return name

        return str(self.run(work))

    # What people and lots do

    def slot_of(self, name: str, campaign: str = CAMPAIGN) -> str:
        return f"{campaign}/en-GB/16x9/{name}"

    def wants(self, slot: str, rendition: str | None) -> None:
        def work(tx: Transaction) -> None:
            locked = lock_slot(tx, slot)
            assert locked is not None
            move_wants(tx, [Want(locked, rendition)], actor="planner", reason="revision")

        self.run(work)

    def publish(self, name: str, number: int = 1, campaign: str = CAMPAIGN, slot: str | None = None) -> None:
        attempt = rows.read(self.database, schema.attempts, f"{name}-a{number}")
        place = slot or self.slot_of(name, campaign)
        entry = entry_id(TENANT, name, attempt.object)
        candidate = Candidate(entry, TENANT, campaign, place, name, attempt.id, attempt.object, 0)
        tags = {
            "tenant": TENANT, "campaign": campaign, "locale": "en-GB", "asset_type": "marketing-video",
            "visibility": "public", "retention_class": "standard",
        }  # fmt: skip
        shown = Shown(name, attempt.id, attempt.object, entry, 0, tags)
        self.run(lambda tx: want_candidates(tx, [candidate]))
        tell(self.database, self.index, [entry])

        def work(tx: Transaction) -> None:
            locked = lock_slot(tx, place)
            assert locked is not None
            assert move_pointer(
                tx, PointerMove(locked, PublicationMove.PUBLISH, shown, "publisher", "newest")
            )

        self.run(work)
        tell_slots(self.database, self.index, [place])

    def decline(self, name: str, number: int = 1) -> None:
        decision = {
            "tenant": TENANT, "kind": "acceptance", "subject_kind": "attempt",
            "subject_id": f"{name}-a{number}", "verdict": "decline", "policy_version": "", "reason": "no",
            "actor": "rita", "round": 1, "detail": {}, "operation_id": f"decline-{name}", "at": self.clock.at,
        }  # fmt: skip
        rows.insert(self.database, schema.decisions, decision)

    def grant(self, object_: str, seconds: int = 7200) -> str:
        until = self.clock.at + seconds * 1_000_000
        return str(self.run(lambda tx: issue_grant(tx, object_, issued_to="viewer", expires_at=until)))

    # Asking

    def row(self, object_: str) -> sa.Row[Any]:
        return rows.read(self.database, schema.objects, object_)

    def state(self, object_: str) -> str:
        return str(self.row(object_).state)

    def states(self) -> dict[str, str]:
        return {row.key: row.state for row in rows.rows(self.database, schema.objects)}

    def keys(self) -> set[str]:
        return {one.key for one in self.store.list("")}

    def found(self) -> set[str]:
        """Objects that a search of the index itself shows."""
        ids = [row.id for row in rows.rows(self.database, schema.index_entries)]
        return {one.object_id for one in self.index.get(TENANT, ids).values()}

    def receipts(self) -> list[sa.Row[Any]]:
        found = rows.rows(self.database, schema.retention_receipts)
        return sorted(found, key=lambda row: int(row.number))

    def broken(self, names: Sequence[str]) -> list[str]:
        """Rows that break these invariants, by what lies in the store and what the index shows."""
        seen = [SeenObject(one.key, one.size, 0, self.store.sha256(one.key)) for one in self.store.list("")]
        ids = [row.id for row in rows.rows(self.database, schema.index_entries)]
        entries = [
            SeenEntry(
                one.entry_id, one.tenant, one.rendition_id, one.object_id, str(one.standing), one.version, {}
            )
            for one in self.index.get(TENANT, ids).values()
        ]
        now = self.clock.at + 1
        snapshot = Snapshot(now, objects=seen, entries=entries, pictures=[("tiny-1", "tiny")])
        with self.database.reading() as connection:
            found = broken(connection, snapshot, now=now, overdue=now)
            return [
                f"{one.invariant.id}: {one.subject}: {one.found}"
                for one in found
                if one.invariant.id in names
            ]


#: What must hold of owned bytes, moves and shown things at every moment of a purge.
ALWAYS = (
    "owned_bytes_are_there", "owned_bytes_are_unchanged", "purged_is_gone", "purged_has_its_receipt",
    "what_is_shown_serves", "moves_are_counted", "chain_has_no_gap", "chain_links_up",
    "state_is_the_last_move", "moves_are_legal", "changes_name_actor_and_reason",
    "slot_shows_its_newest_publication", "one_publication_a_slot",
)  # fmt: skip


def at(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000


__all__ = ["ALWAYS", "CAMPAIGN", "TENANT", "Vault", "at", "policy_of", "replace"]
