"""Events stored in bulk are what Dagster's own events are; fails when Dagster's private names move."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.definitions import defs
from pipeline.jobs.bulk_events import Teller
from pipeline.steps.answer.standing import Part, Standing
from pipeline.steps.operate.mark_partitions import Say, Saying
from resources.dagster_resources import document_versions

CAMPAIGN = "northwind.spring-depot"


@pytest.fixture
def window(instance: dg.DagsterInstance) -> Iterator[dg.DagsterInstance]:
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN, "northwind.autumn"])
    return instance


def saying(part: Part, say: Say = Say.MATERIALIZED, campaign: str = CAMPAIGN, version: str = "1") -> Saying:
    row = {"variant": "en-GB/16x9/6s", "state": "failed", "why": "quota", "attempt": "r-1-a1"}
    standing = Standing(
        part, campaign, 3, say is Say.MATERIALIZED, version, {"wishes": 4}, {"words": "4 ready"}, (row,)
    )
    return Saying(say, standing)


def versions() -> dict[Part, str]:
    found = document_versions()
    return dict.fromkeys(Part, "1") | {
        Part.MODERATED_SOURCE_SET: found.moderation,
        Part.RENDITIONS: found.profile,
        Part.THUMBNAILS: found.transforms,
    }


def everything(**changed: str) -> list[Saying]:
    return [saying(part, version=changed.get(part, version)) for part, version in versions().items()]


def stale(window: dg.DagsterInstance) -> dict[str, list[str]]:
    from dagster._core.loader import LoadingContextForTest

    resolver = CachingStaleStatusResolver(
        window, defs.resolve_asset_graph(), loading_context=LoadingContextForTest(window)
    )
    return {
        part: [cause.reason for cause in resolver.get_stale_causes(dg.AssetKey(part), CAMPAIGN)]
        for part in Part
        if resolver.get_status(dg.AssetKey(part), CAMPAIGN) is not StaleStatus.FRESH
    }


def test_a_materialization_turns_its_partition_green_and_no_other(window: dg.DagsterInstance) -> None:
    Teller(window)([saying(Part.THUMBNAILS), saying(Part.TAG_INDEX, Say.OBSERVED)])

    assert window.get_materialized_partitions(dg.AssetKey("thumbnails")) == {CAMPAIGN}
    assert window.get_materialized_partitions(dg.AssetKey("tag_index")) == set()


def test_an_event_shows_counts_and_the_items_table(window: dg.DagsterInstance) -> None:
    Teller(window)([saying(Part.TAG_INDEX, Say.OBSERVED)])
    [record] = window.fetch_observations(dg.AssetKey("tag_index"), limit=5).records
    observation = record.asset_observation

    assert observation is not None
    assert observation.partition == CAMPAIGN
    assert observation.metadata["wishes"].value == 4
    assert observation.metadata["items"].value.records[0].data["why"] == "quota"


def test_an_event_of_a_run_stands_in_that_runs_log(window: dg.DagsterInstance) -> None:
    Teller(window, "", "run-1", "derive_lot", "derive_due")([saying(Part.THUMBNAILS)])
    [record] = window.fetch_materializations(dg.AssetKey("thumbnails"), limit=5).records

    assert record.run_id == "run-1"
    assert [entry.step_key for entry in window.all_logs("run-1")] == ["derive_due"]


def test_what_was_told_of_a_whole_campaign_is_fresh(window: dg.DagsterInstance) -> None:
    Teller(window)(everything())

    assert stale(window) == {}


def test_pictures_of_an_older_transform_show_as_stale(window: dg.DagsterInstance) -> None:
    Teller(window)(everything(thumbnails="pictures-0"))

    assert stale(window) == {"thumbnails": ["has a new code version"]}


def test_a_thousand_campaigns_are_told_in_one_batch_a_part(window: dg.DagsterInstance) -> None:
    keys = [f"northwind.c{number}" for number in range(1000)]
    window.add_dynamic_partitions(CAMPAIGNS, keys)
    Teller(window)([saying(Part.RENDITIONS, campaign=key) for key in keys])

    assert len(window.get_materialized_partitions(dg.AssetKey("renditions"))) == 1000
