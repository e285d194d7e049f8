"""The code location as a whole keeps its shape, and every part of it says what it is (E1, E2, E4, E5)."""

from __future__ import annotations

import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from pipeline.assets.campaign import POOL
from pipeline.assets.finance_report import ADDS_UP as REPORT_ADDS_UP
from pipeline.assets.ledger import ADDS_UP, PRICED, RECONCILES
from pipeline.assets.partitions import days, months
from pipeline.definitions import defs
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from pipeline.steps.operate.checks import Name
from resources.dagster_resources import document_versions

GRAPH = {
    "source_set": (set(), "intake"),
    "moderated_source_set": ({"source_set"}, "intake"),
    "generation_attempts": ({"moderated_source_set"}, "generation"),
    "renditions": ({"generation_attempts"}, "media"),
    "thumbnails": ({"renditions"}, "media"),
    "tag_index": ({"thumbnails"}, "publication"),
    "system_health": (set(), "operations"),
    "retention_plan": (set(), "retention"),
    "delivery_usage": (set(), "finance"),
    "storage_usage": (set(), "finance"),
    "cost_ledger": ({"storage_usage", "delivery_usage"}, "finance"),
    "finance_report": ({"cost_ledger"}, "finance"),
}
CHECKED = {
    "tag_index": {Name.PUBLISH, Name.REVISIONS},
    "renditions": {Name.OBJECTS, Name.PURGES},
    "thumbnails": {Name.MANIFESTS},
    "cost_ledger": {RECONCILES, ADDS_UP, PRICED},
    "finance_report": {REPORT_ADDS_UP},
    "generation_attempts": {Name.ATTEMPTS, Name.MONEY, Name.AUDIT},
}
SENSORS = {"campaign_intake": 5, "generation_status": 5, "lifecycle": 5, "alerts": 15}
SCHEDULES = {
    "checks_twice_an_hour": "10,40 * * * *",
    "reconciliation_hourly": "25 * * * *",
    "pruning_daily": "20 3 * * *",
    "retention_plan_daily": "10 2 * * *",
    "retention_run_daily": "50 2 * * *",
    "delivery_daily": "5 4 * * *",
    "ledger_daily": "35 4 * * *",
    "report_daily": "5 5 * * *",
}
UPKEEP = {
    "checks", "reconciliation", "pruning", "retention_planning", "retention_run", "delivery", "ledger",
    "report",
}  # fmt: skip


def _assets() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_the_graph_keeps_its_shape() -> None:
    found = {
        name: ({dep.asset_key.to_user_string() for dep in spec.deps}, spec.group_name)
        for name, spec in _assets().items()
    }

    assert found == GRAPH


def test_every_asset_says_what_it_is_and_whose_and_what_a_row_means() -> None:
    for name, spec in _assets().items():
        assert len(spec.description or "") > 100, name
        assert spec.owners, name
        assert spec.kinds, name
        columns = spec.metadata["dagster/column_schema"].columns
        assert columns, name
        assert all(column.description for column in columns), name


def test_all_but_the_numbers_are_partitioned_by_campaign() -> None:
    partitioned = {name: spec.partitions_def for name, spec in _assets().items()}

    assert partitioned.pop("system_health") is partitioned.pop("retention_plan") is None
    assert partitioned.pop("storage_usage") == partitioned.pop("cost_ledger") == days
    assert partitioned.pop("delivery_usage") == days
    assert partitioned.pop("finance_report") == months
    assert set(partitioned) == set(Part)
    assert set(partitioned.values()) == {dg.DynamicPartitionsDefinition(name="campaigns")}


def test_code_versions_are_the_versions_of_the_documents_that_shape_the_output() -> None:
    versions, assets = document_versions(), _assets()

    assert assets["thumbnails"].code_version == versions.transforms
    assert assets["renditions"].code_version == versions.profile
    assert assets["moderated_source_set"].code_version == versions.moderation
    assert all(spec.code_version for spec in assets.values())


def test_every_check_stands_on_its_asset_and_says_what_to_do() -> None:
    graph = defs.resolve_asset_graph()
    found: dict[str, set[str]] = {}
    for key in graph.asset_check_keys:
        found.setdefault(key.asset_key.to_user_string(), set()).add(key.name)
        assert "When it fails" in (graph.get_check_spec(key).description or "")

    assert found == CHECKED


def test_every_stage_has_a_lot_job_with_a_pool_of_its_own() -> None:
    pools = {
        stage: {node.definition.pool for node in defs.resolve_job_def(f"{stage}_lot").nodes}
        for stage in Stage
    }

    assert pools == {stage: {str(stage)} for stage in Stage}


def test_backfills_wait_for_no_lot() -> None:
    job = defs.resolve_implicit_global_asset_job_def()
    pools = {node.definition.pool for node in job.nodes if node.name in set(Part)}

    assert pools == {POOL}
    assert POOL not in set(Stage)


def test_every_job_says_what_it_does() -> None:
    names = {f"{stage}_lot" for stage in Stage} | UPKEEP

    assert all(defs.resolve_job_def(name).description for name in names)
    assert {job.name for job in defs.jobs or ()} == names


def test_sensors_run_by_default_at_their_pace() -> None:
    sensors = {sensor.name: sensor for sensor in defs.sensors or ()}

    assert {name: sensor.minimum_interval_seconds for name, sensor in sensors.items()} == SENSORS
    for sensor in sensors.values():
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        assert sensor.description


def test_schedules_run_by_default_at_their_times() -> None:
    schedules = {one.name: one for one in defs.schedules or () if isinstance(one, dg.ScheduleDefinition)}

    assert {name: one.cron_schedule for name, one in schedules.items()} == SCHEDULES
    for one in schedules.values():
        assert one.default_status is dg.DefaultScheduleStatus.RUNNING
        assert one.description


def test_the_code_location_loads_and_can_be_sent_to_the_window() -> None:
    dg.Definitions.validate_loadable(defs)

    assert serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
