"""A person backfills a campaign from the window: anew what lies behind, by name what is held (E3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.definitions.data_version import CODE_VERSION_TAG

from pipeline.assets.campaign import CAMPAIGN_ASSETS
from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from pipeline.steps.produce.stages import run_lot
from resources.adapters import Adapters
from resources.database import schema
from resources.database.backfill import lease
from tests.conftest import NOON, SECOND, Clock
from tests.jobs.window import OPERATING
from tests.steps.author import CAMPAIGN, Author
from tests.steps.output_site import OutputSite, SiteProvider, video
from tests.steps.upkeep import TINY, WIDER

ASSETS = {asset.key.to_user_string(): asset for asset in CAMPAIGN_ASSETS}
ONE_RATIO = {"locales": ["en-GB", "de-DE"], "aspect_ratios": ["16:9"], "duration_seconds": [6]}


@pytest.fixture
def published(adapters: Adapters, dropped: Author, site: OutputSite, tmp_path: Path) -> Adapters:
    """Two videos of the campaign, shown with pictures of the set `tiny-1`."""
    small = replace(
        adapters, transforms=TINY, providers={"local": SiteProvider(site)}, terms={"local": site.terms}
    )
    dropped.deliver(variants=ONE_RATIO)
    clip = video(tmp_path, width=160, height=90)
    for row in dropped.rows(schema.attempts):
        site.bodies[f"job-{row.id}"] = clip
        dropped.change(schema.attempts, row.id, **_reported(f"job-{row.id}", dropped.clock))
    for row in dropped.rows(schema.renditions):
        dropped.change(schema.renditions, row.id, duration_seconds=1)
    for stage in (Stage.RETRIEVE, Stage.DERIVE, Stage.PUBLISH):
        dropped.relay()
        run_lot(small, stage)
    assert dropped.words() == {"ready"}
    return small


def _reported(handle: str, clock: Clock) -> dict[str, Any]:
    """An attempt whose provider said that there is output."""
    return {
        "state": "retrieving", "submission": "accepted", "handle": handle, "submitted_at": NOON,
        "deadline_at": NOON + 3600 * SECOND, "purge_horizon_at": NOON + 86_400 * SECOND,
        "next_action_at": clock.at,
    }  # fmt: skip


def materialize(instance: dg.DagsterInstance, adapters: Adapters, part: Part) -> Mapping[str, Any]:
    """What the run told of the part, as plain values."""
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
    result = dg.materialize(
        [ASSETS[part]],
        instance=instance,
        partition_key=CAMPAIGN,
        resources={"adapters": adapters, "operating": OPERATING},
    )
    [event] = result.asset_materializations_for_node(part)
    return {name: value.value for name, value in event.metadata.items()} | {"tags": event.tags}


def left(told: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [record.data for record in told[f"backfill_{kind}_left"].records]


def test_pictures_of_an_older_version_are_made_anew_and_nothing_is_made_twice(
    published: Adapters, instance: dg.DagsterInstance, dropped: Author, site: OutputSite
) -> None:
    wider = replace(published, transforms=WIDER)
    first, second = (materialize(instance, wider, Part.THUMBNAILS) for _ in range(2))

    assert first["backfill_thumbnails_renewed"] == 2
    assert first["tags"][CODE_VERSION_TAG] == "tiny-2"
    assert "backfill_thumbnails_renewed" not in second
    assert len(dropped.rows(schema.attempts)) == 2
    assert set(site.fetches.values()) == {1}


def test_what_is_leased_elsewhere_is_named_left_and_the_partition_stays_behind(
    published: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    held, free = dropped.rows(schema.attempts)
    published.database.run(lambda tx: lease(tx, [held], "derive-7"))
    told = materialize(instance, replace(published, transforms=WIDER), Part.THUMBNAILS)

    assert left(told, "thumbnails") == [{"item": held.id, "left": "skipped", "why": "leased by derive-7"}]
    assert told["tags"][CODE_VERSION_TAG] == "tiny-1+tiny-2"
    versions = {row.id: row.derived_version for row in dropped.rows(schema.attempts)}
    assert versions == {held.id: "tiny-1", free.id: "tiny-2"}


def test_an_index_that_lost_everything_is_told_again(
    published: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    ids = [row.id for row in dropped.rows(schema.index_entries)]

    def lose(tx: Any) -> None:
        tx.connection.execute(sa.delete(schema.search_tags))
        tx.connection.exec_driver_sql("DELETE FROM search_text")
        tx.connection.execute(sa.delete(schema.search_entries))

    published.database.run(lose)
    lost = published.index.get("northwind", ids)
    told = materialize(instance, published, Part.TAG_INDEX)

    assert lost == {}
    assert told["backfill_index_reindexed"] == 2
    assert len(published.index.get("northwind", ids)) == 2
    assert left(told, "index") == left(told, "tags") == []


def test_a_partition_leads_to_what_its_campaign_shows(
    published: Adapters, instance: dg.DagsterInstance
) -> None:
    videos = materialize(instance, published, Part.TAG_INDEX)
    pictures = materialize(instance, published, Part.THUMBNAILS)

    assert videos["published en-GB/16x9/6s"].startswith(f"{OPERATING.api}/previews/")
    assert pictures["poster en-GB/16x9/6s"].endswith("/poster")
    assert "objects" not in videos["published en-GB/16x9/6s"]
