"""Many campaigns of up to 50 one-second clips of 320x180, and the installation that makes them.

Belongs here: briefs, the provider list that names the null renderer, settings, and knowing when all is done.
Does not belong here: who runs the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
import yaml
from PIL import Image

from pipeline.documents.settings import Settings
from resources.database.database import Database
from resources.database.due import due_by_stage
from resources.database.schema import partition_marks, slots

VARIANTS = 50
TENANTS = 4
#: English has a locale for each.
REGIONS = (
    "AG AU BB BE BI BM BS BW BZ CA CC CH CM CX CY DE DK DM ER FI FJ FK FM GB GD "
    "GG GH GI GM GU GY HK IE IL IM IN IO JE JM KE KI KN KY LC LR LS MG MH MO MS"
)


def installation(home: Path, provider_url: str) -> Settings:
    """Settings of a fresh installation below *home* whose one provider is the null renderer."""
    home.mkdir(parents=True, exist_ok=True)
    providers = home / "providers.yaml"
    listed = {"version": "bench-1", "providers": {"null": _provider(provider_url)}}
    providers.write_text(yaml.safe_dump(listed, sort_keys=False))
    return Settings(home=home, providers=providers, actor="bench")


def _provider(url: str) -> dict[str, object]:
    """Wide enough never to be what is waited for."""
    return {
        "adapter": "tests.faults.renderer.adapters:KeyProvider",
        "base_url": url,
        "private_origin": True,
        "spend": "test",
        "currency": "EUR",
        "models": {"kenburns-1": {"price_per_second": "0.01"}},
        "rates": {
            "submits_per_second": 2000, "polls_per_second": 2000,
            "submit_concurrency": 50, "poll_concurrency": 50,
        },
        "in_flight": {"total": 20_000, "per_tenant": 20_000},
        "waiting": {"deadline_seconds": 1800, "purge_horizon_seconds": 86_400},
        "polling": {"first_seconds": 1, "ceiling_seconds": 15},
    }  # fmt: skip


def drop_briefs(settings: Settings, renditions: int, a_brief: int = VARIANTS) -> int:
    """Write briefs of up to *a_brief* variants, and their image, until they want *renditions*; how many."""
    briefs = 0
    while renditions > 0:
        variants = min(a_brief, renditions)
        _drop(settings.objects / "intake", briefs, variants)
        renditions -= variants
        briefs += 1
    return briefs


def _drop(intake: Path, number: int, variants: int) -> None:
    tenant, campaign = f"tenant-{number % TENANTS}", f"c{number:04}"
    folder = intake / tenant / campaign
    folder.mkdir(parents=True)
    Image.new("RGB", (640, 360), (number % 256, 90, 140)).save(folder / "still.jpg")
    locales = [f"en-{region}" for region in REGIONS.split()[:variants]]
    brief = {
        "tenant": tenant,
        "campaign": campaign,
        "revision": 1,
        "cost_center": "MKT-1",
        "sources": ["still.jpg"],
        "copy": {locale: f"Hello {locale}, from campaign {number}." for locale in locales},
        "variants": {"locales": locales, "aspect_ratios": ["16:9"], "duration_seconds": [1]},
        "generation": {
            "provider": "null", "model": "kenburns-1", "settings": {"fps": 25, "short_side": 180},
        },
        "tags": {"asset_type": "marketing-video", "visibility": "public"},
        "publish": "auto",
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
        "ends_on": "2099-12-31",
    }  # fmt: skip
    (folder / "brief.yaml").write_text(yaml.safe_dump(brief, sort_keys=False, allow_unicode=True))


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    database = Database.at(settings.database)
    try:
        yield database
    finally:
        database.close()


def published(database: Database) -> int:
    """Slots that show a video."""
    with database.reading() as connection:
        shown = sa.select(sa.func.count()).where(slots.c.publication.is_not(None))
        return connection.scalar(shown) or 0


def is_at_rest(database: Database) -> bool:
    """No stage has anything due: receipts are written and the index knows everything."""
    with database.reading() as connection:
        return not any(due_by_stage(connection, database.clock(connection)).values())


def is_told(database: Database) -> bool:
    """Dagster knows of every change."""
    with database.reading() as connection:
        untold = sa.select(sa.func.count()).where(partition_marks.c.marked < partition_marks.c.due)
        return not connection.scalar(untold)
