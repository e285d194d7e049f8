"""A lot's run from request to its last event (E2, E4)."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest
import sqlalchemy as sa

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from pipeline.jobs.lots import LOT_JOBS, job_name, lot_request
from pipeline.steps.operate.request_lots import open_lots
from resources.adapters import Adapters
from resources.database import schema
from tests.jobs.window import OPERATING
from tests.steps.author import CAMPAIGN, Author

JOBS = {job.name: job for job in LOT_JOBS}


def run(
    instance: dg.DagsterInstance, adapters: Adapters, stage: Stage, number: int | None = None
) -> dg.ExecuteInProcessResult:
    config = {"ops": {f"{stage}_due": {"config": {"number": number}}}} if number else {}
    return JOBS[job_name(stage)].execute_in_process(
        run_config=config,
        instance=instance,
        resources={"adapters": adapters, "operating": OPERATING},
        raise_on_error=False,
    )


def lots(adapters: Adapters) -> list[sa.Row[tuple[object, ...]]]:
    with adapters.database.reading() as connection:
        return list(connection.execute(sa.select(schema.lots)))


@pytest.mark.parametrize("stage", list(Stage))
def test_a_lot_with_nothing_due_ends_well_and_says_so(
    adapters: Adapters, instance: dg.DagsterInstance, stage: Stage
) -> None:
    result = run(instance, adapters, stage)
    [lot] = lots(adapters)

    assert result.success
    assert (lot.stage, lot.run_id, lot.counts) == (stage, result.run_id, {})
    assert lot.ended_at is not None


def test_a_requested_lot_is_the_one_that_is_carried_out(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    [lot] = open_lots(adapters.database, [Stage.DERIVE])
    request = lot_request(lot.stage, lot.number)
    result = run(instance, adapters, Stage.DERIVE, lot.number)
    [row] = lots(adapters)

    assert (request.run_key, request.job_name) == ("derive-1", "derive_lot")
    assert (row.number, row.run_id) == (1, result.run_id)


def test_a_lot_tells_dagster_of_its_campaigns_once(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
    dropped.ingest()
    result = run(instance, adapters, Stage.INGEST)
    run(instance, adapters, Stage.INGEST)
    found = instance.fetch_materializations(dg.AssetKey("moderated_source_set"), limit=10).records

    assert [(record.partition_key, record.run_id) for record in found] == [(CAMPAIGN, result.run_id)]


def test_the_run_that_ingests_sends_the_first_of_it_under_a_lot_of_its_own(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    dropped.ingest()
    result = run(instance, adapters, Stage.INGEST)
    found = {(lot.stage, lot.run_id, lot.ended_at is not None) for lot in lots(adapters)}

    assert found == {("ingest", result.run_id, True), ("submit", result.run_id, True)}
    assert len(dropped.rows(schema.sends)) == 4


def test_no_second_submit_lot_begins_beside_an_open_one(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    open_lots(adapters.database, [Stage.SUBMIT])
    dropped.ingest()
    run(instance, adapters, Stage.INGEST)

    assert sorted(lot.stage for lot in lots(adapters)) == ["ingest", "submit"]
    assert dropped.rows(schema.sends) == []


def test_what_breaks_a_lot_fails_its_run_and_closes_its_row(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    without_its_adapter = replace(adapters, providers={})
    result = run(instance, without_its_adapter, Stage.SUBMIT)
    [lot] = lots(adapters)

    assert not result.success
    assert lot.counts == {"broken": 1}
    assert lot.ended_at is not None
