"""The code location as a whole keeps its shape (E1, E2, E4)."""

from __future__ import annotations

import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from pipeline.definitions import defs
from pipeline.domain.follow_ons import Stage
from resources.dagster_resources import document_versions

GRAPH = {
    "source_set": (set(), "intake"),
    "moderated_source_set": ({"source_set"}, "intake"),
    "generation_attempts": ({"moderated_source_set"}, "generation"),
    "renditions": ({"generation_attempts"}, "media"),
    "thumbnails": ({"renditions"}, "media"),
    "tag_index": ({"thumbnails"}, "publication"),
}


def _assets() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_the_graph_keeps_its_shape() -> None:
    found = {
        name: ({dep.asset_key.to_user_string() for dep in spec.deps}, spec.group_name)
        for name, spec in _assets().items()
    }

    assert found == GRAPH


def test_every_asset_says_what_it_is_and_whose() -> None:
    for name, spec in _assets().items():
        assert spec.description, name
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.partitions_def == dg.DynamicPartitionsDefinition(name="campaigns"), name


def test_code_versions_are_the_versions_of_the_documents_that_shape_the_output() -> None:
    versions, assets = document_versions(), _assets()

    assert assets["thumbnails"].code_version == versions.transforms
    assert assets["renditions"].code_version == versions.profile
    assert assets["moderated_source_set"].code_version == versions.moderation
    assert all(spec.code_version for spec in assets.values())


def test_every_stage_has_a_lot_job_with_a_pool_of_its_own() -> None:
    pools = {
        stage: {node.definition.pool for node in defs.resolve_job_def(f"{stage}_lot").nodes}
        for stage in Stage
    }

    assert pools == {stage: {str(stage)} for stage in Stage}


def test_sensors_run_by_default_and_look_every_five_seconds() -> None:
    sensors = {sensor.name: sensor for sensor in defs.sensors or ()}

    assert set(sensors) == {"campaign_intake", "generation_status", "lifecycle"}
    for sensor in sensors.values():
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        assert sensor.minimum_interval_seconds == 5
        assert sensor.description


def test_the_code_location_loads_and_can_be_sent_to_the_window() -> None:
    dg.Definitions.validate_loadable(defs)

    assert serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
