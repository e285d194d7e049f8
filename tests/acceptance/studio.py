"""One whole installation of its own: database, store, index, providers in memory, people.

Belongs here: making it, and the commands of people as calls. Does not belong here: which call comes when
(`test_lifecycle_machine`), or what must hold.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.documents.target_profile import default_target_profile
from pipeline.domain.brief import (
    Administrative,
    Brief,
    BudgetCap,
    Creative,
    Generation,
    Publish,
    Submit,
    Variants,
)
from pipeline.domain.completion import CompletionPolicy
from pipeline.domain.media import Derivative, ImageFacts, MediaKind, TransformSet
from pipeline.domain.outcomes import Reconciliation
from pipeline.domain.provider_terms import ModelTerms, OnOverdue, PollPace, ProviderTerms, Spend
from pipeline.domain.renditions import derivative_key, source_key
from pipeline.domain.tags import Visibility
from pipeline.steps.produce.record_brief import Delivery, record_brief
from pipeline.steps.produce.source_set import record_sources
from resources.adapters import Adapters
from resources.database import schema
from resources.database.database import Database, Transaction
from resources.database.objects import NewObject, plain
from resources.database.revisions import sources_of
from resources.database.source_sets import PRESENT, Judged, OwnedSource
from resources.object_store.protocol import ObjectStore
from resources.tag_index.protocol import TagIndex
from tests.acceptance.memory_provider import MemoryProvider, Remote
from tests.conftest import Clock

TENANT, SLUG = "northwind", "spring"
CAMPAIGN = f"{TENANT}.{SLUG}"
#: A provider of each reconciliation class.
CLASSES = {"k": Reconciliation.KEY, "l": Reconciliation.LOOKUP, "w": Reconciliation.LISTING,
           "n": Reconciliation.NONE}  # fmt: skip
TRANSFORMS = TransformSet("tiny-1", (Derivative("tiny", 64, "webp", 60),), (255, 255, 255))


def terms_of(name: str) -> ProviderTerms:
    return ProviderTerms(
        name=name,
        adapter=name,
        base_url="http://127.0.0.1:9",
        models={"m": ModelTerms(Decimal(1))},
        spend=Spend.LIVE,
        in_flight=3,
        in_flight_per_tenant=2,
        deadline_seconds=300,
        purge_horizon_seconds=20_000,
        on_overdue=OnOverdue.NEW_ATTEMPT if name == "k" else OnOverdue.WAIT,
        max_attempts=3,
        send_tries=3,
        fetch_tries=3,
        submit_concurrency=1,
        pace=PollPace(first_seconds=1, ceiling_seconds=10, gone_over_seconds=20, overdue_seconds=30),
    )


def brief(number: int, provider: str, english: int, *, approval: bool, cap: int) -> Brief:
    """Two slots; the German copy never changes, so that a new revision carries its video forward."""
    return Brief(
        TENANT,
        SLUG,
        number,
        Creative(
            ("depot.png",),
            {"en-GB": f"Your parcel, take {english}.", "de-DE": "Ihr Paket."},
            Variants(("en-GB", "de-DE"), ("16:9",), (1,)),
            Generation(provider, "m", {"short_side": 90}),
        ),
        Administrative(
            title="Spring",
            cost_center="MKT-1",
            asset_type="marketing-video",
            visibility=Visibility.PUBLIC,
            tags={"product": ("parcel",)},
            publish=Publish.ON_APPROVAL if approval else Publish.AUTO,
            submit=Submit.WHEN_COMPLETE,
            budget=BudgetCap(cap * 1_000_000, "EUR"),
            retention_class="standard",
            ends_on=None,
            completion=CompletionPolicy.ALL_TERMINAL,
        ),
    )


@dataclass(frozen=True, slots=True)
class Shelf:
    """An empty store and an empty index."""

    store: ObjectStore
    index: TagIndex


@dataclass
class Studio:
    """`picture` is the one source image of every brief."""

    database: Database
    shelf: Shelf
    clock: Clock
    folder: Path
    remote: Remote
    picture: bytes = field(repr=False)

    def __post_init__(self) -> None:
        self.adapters = Adapters(
            database=self.database,
            store=self.shelf.store,
            index=self.shelf.index,
            sandbox=None,  # type: ignore[arg-type]  # media was examined once, see `test_lifecycle_machine`
            providers={name: MemoryProvider(name, of, self.remote) for name, of in CLASSES.items()},  # type: ignore[misc]
            terms={name: terms_of(name) for name in CLASSES},
            profile=default_target_profile(),
            transforms=TRANSFORMS,
            moderation=default_moderation_policy(),
            spool=self.folder / "spool",
        )
        self.adapters.spool.mkdir(parents=True)

    def rows(self, table: sa.Table) -> list[sa.Row[Any]]:
        with self.database.reading() as connection:
            return list(connection.execute(sa.select(table).order_by(*table.primary_key)))

    def deliver(self, one: Brief) -> None:
        """Record a brief, and its one picture, which lies in the store already."""
        self._source  # noqa: B018 - puts the bytes on first use

        def work(tx: Transaction) -> None:
            delivery = Delivery(one, "intake/northwind/brief.yaml", "intake/northwind", "author")
            recorded = record_brief(tx, delivery, self.adapters.terms)
            seen = sources_of(tx.connection, recorded.revision)
            judged = [Judged(0, PRESENT, owned=self._source)] if seen[0].standing != PRESENT else []
            record_sources(tx, recorded.revision, seen, judged, "intake")

        self.database.run(work)

    @cached_property
    def _source(self) -> OwnedSource:
        sha256 = hashlib.sha256(self.picture).hexdigest()
        facts = ImageFacts(
            MediaKind.IMAGE, "png", "image/png", 64, 36, 1, 64, 36, "RGB",
            has_alpha=False, has_profile=False, frame_count=1, duration_seconds=None, frame_rate=None,
            size_bytes=len(self.picture), sha256=sha256, read_by="pillow",
        )  # fmt: skip
        original = self._put(source_key(TENANT, sha256), "source", sha256, plain(facts))
        upright = self._put(
            derivative_key(TENANT, sha256, "upright-1", "upright", "png"), "derivative", sha256, {}
        )
        return OwnedSource(original, upright, "upright-1", "upright", 64, 36, "png")

    def _put(self, key: str, kind: str, sha256: str, facts: dict[str, Any]) -> NewObject:
        path = self.folder / "picture.png"
        path.write_bytes(self.picture)
        size = len(self.picture)
        self.adapters.store.put_if_absent(key, path, sha256=sha256, size=size, media_type="image/png")
        return NewObject(TENANT, CAMPAIGN, kind, "standard", key, sha256, size, "image/png", facts)

    @property
    def newest_revision(self) -> int:
        return max((row.number for row in self.rows(schema.revisions)), default=0)
