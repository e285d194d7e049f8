"""A person materializes a campaign from Dagster's window (E1, E3)."""

from __future__ import annotations

import dagster as dg
import pytest

from pipeline.assets.campaign import CAMPAIGN_ASSETS
from pipeline.assets.partitions import CAMPAIGNS
from resources.adapters import Adapters
from resources.database import schema
from tests.jobs.window import API, OPERATING
from tests.steps.author import CAMPAIGN, Author


def materialize(
    instance: dg.DagsterInstance, adapters: Adapters, *assets: dg.AssetsDefinition, campaign: str = CAMPAIGN
) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions(CAMPAIGNS, [campaign])
    return dg.materialize(
        list(assets),
        instance=instance,
        partition_key=campaign,
        resources={"adapters": adapters, "operating": OPERATING},
        raise_on_error=False,
    )


def green(instance: dg.DagsterInstance) -> set[str]:
    return {
        key.to_user_string()
        for key in instance.all_asset_keys()
        if CAMPAIGN in instance.get_materialized_partitions(key)
    }


def observed(instance: dg.DagsterInstance, name: str) -> int:
    found = instance.fetch_observations(dg.AssetKey(name), limit=10)
    return len(found.records)


def test_an_approved_campaign_turns_green_as_far_as_it_is(
    adapters: Adapters, dropped: Author, instance: dg.DagsterInstance
) -> None:
    dropped.ingest()
    dropped.relay()
    result = materialize(instance, adapters, *CAMPAIGN_ASSETS[:3])

    assert result.success
    assert green(instance) == {"source_set", "moderated_source_set"}
    assert observed(instance, "generation_attempts") == 1


def test_an_undecided_part_is_observed_and_what_follows_is_skipped(
    adapters: Adapters, dropped: Author, instance: dg.DagsterInstance
) -> None:
    dropped.drop(submit="manual")
    dropped.ingest()
    result = materialize(instance, adapters, *CAMPAIGN_ASSETS)

    assert result.success
    assert green(instance) == set()
    assert observed(instance, "source_set") == 1
    assert observed(instance, "moderated_source_set") == 0


def test_what_wants_a_look_stands_above_the_counts(
    adapters: Adapters, dropped: Author, instance: dg.DagsterInstance
) -> None:
    """The window shows metadata in its order, and who is called at night does not scroll."""
    dropped.ingest()
    dropped.relay()
    materialize(instance, adapters, *CAMPAIGN_ASSETS[:3])

    [record] = instance.fetch_observations(dg.AssetKey("generation_attempts"), limit=1).records
    assert record.asset_observation is not None
    names = list(record.asset_observation.metadata)
    assert names.index("words") < names.index("items") < names.index("wishes")


def test_materializing_again_makes_nothing_again(
    adapters: Adapters, dropped: Author, instance: dg.DagsterInstance
) -> None:
    dropped.ingest()
    dropped.relay()
    materialize(instance, adapters, *CAMPAIGN_ASSETS[:2])
    before = len(dropped.rows(schema.attempts)), len(dropped.rows(schema.audit))
    materialize(instance, adapters, *CAMPAIGN_ASSETS[:2])

    assert (len(dropped.rows(schema.attempts)), len(dropped.rows(schema.audit))) == before


def test_metadata_holds_counts_and_states_and_no_address(
    adapters: Adapters, dropped: Author, instance: dg.DagsterInstance
) -> None:
    dropped.ingest()
    dropped.relay()
    result = materialize(instance, adapters, *CAMPAIGN_ASSETS[:2])
    events = result.get_asset_materialization_events()
    metadata = {event.asset_key.to_user_string(): event.materialization.metadata for event in events}  # type: ignore[union-attr]

    assert metadata["source_set"]["sources_present"].value == 2
    assert metadata["moderated_source_set"]["verdict"].value == "approved"
    assert metadata["source_set"]["status_page"].value == f"{API}/status?campaign={CAMPAIGN}"
    assert "://" not in str(metadata).replace(API, "")
    assert "Your parcel" not in str(metadata)


@pytest.mark.parametrize("asset", CAMPAIGN_ASSETS, ids=lambda asset: asset.key.to_user_string())
def test_a_partition_without_a_campaign_fails_by_name(
    adapters: Adapters, instance: dg.DagsterInstance, asset: dg.AssetsDefinition
) -> None:
    result = materialize(instance, adapters, asset, campaign="northwind.nobody")
    [failed] = [event for event in result.all_events if event.is_step_failure]

    assert "no campaign 'northwind.nobody'" in str(failed.step_failure_data.user_failure_data)
