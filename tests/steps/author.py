"""An author who drops briefs and images into the intake folder, and the engineer's steps beside it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from PIL import Image

from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.domain.moderation import ModerationPolicy
from pipeline.domain.provider_terms import ModelTerms, ProviderTerms
from pipeline.steps.answer.status import Wanted, WishStatus, status
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.ingest import ingest_lot, look_at_intake
from pipeline.steps.produce.lot import LotReport
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.planning import PlanningRules
from pipeline.steps.produce.sources import Intake
from resources.database import schema
from resources.database.database import Database
from resources.media import Sandbox
from resources.object_store.local import LocalStore
from tests.conftest import Clock

CAMPAIGN = "northwind.spring-depot"
PROVIDERS = {
    "local": ProviderTerms(
        name="local",
        adapter="local",
        base_url="http://127.0.0.1:9",
        models={"kenburns-1": ModelTerms(Decimal("0.05"))},
    )
}
RULES = PlanningRules(PROVIDERS, "profile-1")


def brief(**changes: Any) -> dict[str, Any]:
    """A brief of two locales and two ratios; `changes` replace whole fields, None removes one."""
    whole = {
        "tenant": "northwind",
        "campaign": "spring-depot",
        "title": "Spring depot opening",
        "revision": 1,
        "cost_center": "MKT-4410",
        "sources": ["depot.jpg", "van.png"],
        "copy": {"en-GB": "Your parcel, on time.", "de-DE": "Ihr Paket, pünktlich."},
        "variants": {
            "locales": ["en-GB", "de-DE"], "aspect_ratios": ["16:9", "1:1"], "duration_seconds": [6],
        },
        "generation": {"provider": "local", "model": "kenburns-1", "settings": {"fps": 25}},
        "tags": {"asset_type": "marketing-video", "visibility": "public", "product": ["parcel"]},
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
        "ends_on": "2027-03-31",
    } | changes  # fmt: skip
    return {name: value for name, value in whole.items() if value is not None}


def picture(path: Path, colour: str = "navy", size: tuple[int, int] = (64, 48)) -> Path:
    """A small real picture in the format of its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


@dataclass
class Author:
    """The intake folder of one tenant, and every step that follows on a delivery."""

    intake: Intake
    root: Path
    clock: Clock
    policy: ModerationPolicy = field(default_factory=default_moderation_policy)
    rules: PlanningRules = RULES

    @property
    def database(self) -> Database:
        return self.intake.database

    def folder(self, name: str = "spring", tenant: str = "northwind") -> Path:
        path = self.root / "intake" / tenant / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def drop_images(self, folder: Path, colour: str = "navy") -> None:
        picture(folder / "depot.jpg", colour)
        picture(folder / "van.png", "maroon")

    def drop(self, name: str = "brief.yaml", *, folder: Path | None = None, **changes: Any) -> Path:
        """A brief as a file; its time moves on with the test's clock, as a real one's would."""
        path = (folder or self.folder()) / name
        path.write_text(yaml.safe_dump(brief(**changes), allow_unicode=True, sort_keys=False), "utf-8")
        self.touch(path)
        return path

    def touch(self, path: Path) -> None:
        at = self.clock.at * 1000
        os.utime(path, ns=(at, at))

    def ingest(self) -> LotReport:
        """Two looks far enough apart, then a lot: what the sensor and its run do."""
        look_at_intake(self.database, self.intake.store)
        self.clock.pass_seconds(5)
        return ingest_lot(self.intake)

    def relay(self) -> None:
        relay_outbox(self.database)

    def moderate(self) -> LotReport:
        self.relay()
        return moderate_due(self.database, self.policy, self.rules)

    def deliver(self, **changes: Any) -> LotReport:
        """A whole delivery up to the decision."""
        folder = self.folder()
        if not (folder / "depot.jpg").exists():
            self.drop_images(folder)
        self.drop(**changes)
        report = self.ingest()
        self.moderate()
        return report

    def receipt(self, name: str = "brief", folder: Path | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            ((folder or self.folder()) / f"{name}.receipt.json").read_text("utf-8")
        )
        return found

    def errors(self, name: str = "brief", folder: Path | None = None) -> str:
        return ((folder or self.folder()) / f"{name}.errors.txt").read_text("utf-8")

    def status(self, **wanted: Any) -> list[WishStatus]:
        return status(self.database, Wanted(**wanted))

    def words(self, **wanted: Any) -> set[str]:
        return {str(one.word) for one in self.status(**wanted)}

    def rows(self, table: sa.Table) -> list[sa.Row[Any]]:
        with self.database.reading() as connection:
            return list(connection.execute(sa.select(table).order_by(*table.primary_key)))

    def revision(self, number: int = 1) -> sa.Row[Any]:
        [row] = [row for row in self.rows(schema.revisions) if row.number == number]
        return row

    def change(self, table: sa.Table, subject: str, **columns: Any) -> None:
        """Put a row into a state that other steps would bring about."""
        self.database.run(
            lambda tx: tx.connection.execute(sa.update(table).where(table.c.id == subject).values(**columns))
        )

    def with_policy(self, policy: ModerationPolicy) -> Author:
        return replace(self, policy=policy)


@pytest.fixture
def author(database: Database, clock: Clock, sandbox: Sandbox, tmp_path: Path) -> Author:
    root = tmp_path / "objects"
    intake = Intake(database, LocalStore(root), sandbox, PROVIDERS, tmp_path / "spool")
    return Author(intake, root, clock)
