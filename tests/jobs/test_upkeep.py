"""Checks, reconciliation and pruning as runs of Dagster's, and what they tell (E5, E6, E8)."""

from __future__ import annotations

import json
from dataclasses import replace

import dagster as dg
import pytest
import sqlalchemy as sa

from pipeline.assets.checks import ON, page_of
from pipeline.assets.partitions import CAMPAIGNS
from pipeline.definitions import defs
from pipeline.steps.operate.checks import Name
from pipeline.steps.operate.prune import prune_record
from resources.adapters import Adapters
from resources.dagster_resources import Operating
from resources.database import schema
from tests.conftest import NOON, Clock
from tests.database import rows
from tests.jobs.window import OPERATING, WINDOW, outlet_to
from tests.notify.sinks import http_sink
from tests.steps.author import CAMPAIGN, Author


def run(
    name: str, instance: dg.DagsterInstance, adapters: Adapters, operating: Operating = OPERATING
) -> dg.ExecuteInProcessResult:
    resources = {"adapters": adapters, "operating": operating}
    job = defs.resolve_job_def(name)
    return job.execute_in_process(instance=instance, resources=resources, raise_on_error=False)


def evaluations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {one.check_name: one for one in result.get_asset_check_evaluations()}


@pytest.fixture
def broken(adapters: Adapters) -> None:
    """A lane that says one job is in flight where none is."""
    rows.campaign(adapters.database)
    values = {"provider": "local", "tenant": "northwind", "in_flight": 1, "cap": 4}
    adapters.database.run(lambda tx: tx.connection.execute(sa.insert(schema.lanes).values(values)))


def mend(adapters: Adapters) -> None:
    adapters.database.run(lambda tx: tx.connection.execute(sa.update(schema.lanes).values(in_flight=0)))


def test_every_check_stands_on_an_asset_and_passes_where_all_is_well(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    dropped.deliver()
    dropped.relay()
    result = run("checks", instance, adapters)
    found = evaluations(result)
    errors = [one for one in found.values() if one.severity is dg.AssetCheckSeverity.ERROR and not one.passed]

    assert result.success
    assert set(found) == set(Name)
    assert errors == []


def test_the_run_of_the_checks_measures_the_installation(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    run("checks", instance, adapters)
    event = instance.get_latest_materialization_event(dg.AssetKey("system_health"))

    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert metadata["outbox_undelivered"].value == 0.0
    assert metadata["prometheus"].value == f"{OPERATING.api}/metrics"


@pytest.mark.usefixtures("broken")
def test_what_is_broken_fails_its_check_with_a_row_that_says_what_to_do(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    failed = evaluations(run("checks", instance, adapters))[Name.MONEY]
    [record] = failed.metadata["rows"].value.records

    assert not failed.passed
    assert failed.severity is dg.AssetCheckSeverity.ERROR
    assert failed.metadata["count"].value == 1
    assert record.data["subject"] == "local northwind"
    assert record.data["next"]


@pytest.mark.usefixtures("broken")
def test_an_error_is_told_once_with_its_page_and_again_only_after_it_was_over(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    with http_sink() as sink:
        operating = replace(OPERATING, outlet=outlet_to(sink))
        for _ in range(2):
            run("checks", instance, adapters, operating)
        told = len(sink.bodies)
        mend(adapters)
        run("checks", instance, adapters, operating)
        adapters.database.run(lambda tx: tx.connection.execute(sa.update(schema.lanes).values(in_flight=1)))
        run("checks", instance, adapters, operating)

    alert = json.loads(sink.bodies[0])

    assert (told, len(sink.bodies)) == (1, 2)
    assert alert["id"] == f"check_failed/{Name.MONEY}"
    assert alert["link"] == f"{WINDOW}{page_of(Name.MONEY)}"


def test_the_page_of_each_check_is_its_assets() -> None:
    assert all(page_of(name).startswith(f"/assets/{part}?") for name, part in ON.items())


def test_reconciliation_tells_what_it_mended_and_mends_it_once(
    adapters: Adapters, instance: dg.DagsterInstance, broken: None
) -> None:
    first, second = (run("reconciliation", instance, adapters) for _ in range(2))
    told = [
        event.event_specific_data.metadata  # type: ignore[union-attr]
        for one in (first, second)
        for event in one.all_events
        if event.event_type_value == "STEP_OUTPUT"
    ]

    assert first.success
    assert (told[0]["lanes_drifted_mended"].value, told[0]["mended"].value) == (1, 1)
    assert told[0]["findings"].value.records[0].data["subject"] == "local northwind"
    assert told[1]["mended"].value == 0


def test_delivered_messages_go_and_those_that_prove_a_state_stay(adapters: Adapters, clock: Clock) -> None:
    rows.campaign(adapters.database)

    def message(topic: str, delivered_at: int | None) -> dict[str, object]:
        subject = f"r-{topic}-{delivered_at}"
        return {
            "id": f"{topic}:{subject}:1", "tenant": "northwind", "topic": topic, "subject_id": subject,
            "attempts": 1, "created_at": NOON, "next_try_at": NOON, "delivered_at": delivered_at,
        }  # fmt: skip

    written = [message("wish_changed", NOON), message("wish_changed", None), message("owned", NOON)]
    adapters.database.run(lambda tx: tx.connection.execute(sa.insert(schema.outbox), written))
    clock.pass_seconds(86_400 * 31)
    removed = prune_record(adapters.database, days=30)
    left = {row.topic: row.delivered_at for row in rows.rows(adapters.database, schema.outbox)}

    assert removed["messages"] == 1
    assert left == {"wish_changed": None, "owned": NOON}


def test_pruning_succeeds_where_there_is_nothing_old(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])

    assert run("pruning", instance, adapters).success
