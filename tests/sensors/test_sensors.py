"""Sensors ask one question and request; two ticks at once are safe (E2, P3)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import pytest

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.request_lots import request_lots
from resources.adapters import Adapters
from resources.database import schema
from resources.database.lots import begin_lot
from sensors.campaign_intake import campaign_intake
from sensors.generation_status import generation_status
from sensors.lifecycle import lifecycle
from tests.conftest import NOON, Clock
from tests.database import rows
from tests.jobs.window import OPERATING
from tests.steps.author import CAMPAIGN, Author

Found = dg.SensorResult | dg.SkipReason


def tick(sensor: dg.SensorDefinition, instance: dg.DagsterInstance, adapters: Adapters) -> Found:
    resources = {"sensor_adapters": adapters}
    if "operating" in sensor.required_resource_keys:
        resources["operating"] = OPERATING
    context = dg.build_sensor_context(instance=instance, resources=resources)
    found = sensor(context)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def run_keys(found: Found) -> list[str | None]:
    return [] if isinstance(found, dg.SkipReason) else [one.run_key for one in found.run_requests or ()]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's clock decides what has settled."""
    monkeypatch.setattr("sensors.campaign_intake.SETTLE_SECONDS", 0.0)


@pytest.fixture
def due_item(adapters: Adapters) -> None:
    """One attempt to retrieve, and no campaign told."""
    rows.campaign(adapters.database)
    rows.rendition(adapters.database, "northwind.spring")
    rows.attempt(adapters.database, "northwind.spring", "r-1", state="retrieving", next_action_at=NOON)


def test_a_brief_is_requested_once_it_has_not_grown_for_five_seconds(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author, clock: Clock
) -> None:
    first = tick(campaign_intake, instance, adapters)
    clock.pass_seconds(5)
    second = tick(campaign_intake, instance, adapters)
    third = tick(campaign_intake, instance, adapters)

    assert [run_keys(found) for found in (first, second, third)] == [[], ["ingest-1"], []]
    assert isinstance(third, dg.SkipReason)
    assert third.skip_message == "3 files, 1 due, 0 new campaigns"


def test_one_tick_looks_twice_where_something_is_new(
    adapters: Adapters,
    instance: dg.DagsterInstance,
    dropped: Author,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("sensors.campaign_intake.sleep", clock.pass_seconds)
    began = clock.at

    assert run_keys(tick(campaign_intake, instance, adapters)) == ["ingest-1"]
    assert clock.at > began


def test_a_tick_without_news_waits_for_nothing(
    adapters: Adapters, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensors.campaign_intake.sleep", lambda _: pytest.fail("it waited"))

    assert run_keys(tick(campaign_intake, instance, adapters)) == []


def test_intake_makes_a_partition_of_every_campaign(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    dropped.ingest()
    tick(campaign_intake, instance, adapters)

    assert instance.get_dynamic_partitions(CAMPAIGNS) == [CAMPAIGN]


@pytest.mark.usefixtures("due_item")
def test_lifecycle_requests_one_run_a_due_stage_and_none_while_it_is_open(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    first, second = (tick(lifecycle, instance, adapters) for _ in range(2))

    assert (run_keys(first), run_keys(second)) == (["retrieve-1"], [])


def test_lifecycle_relays_first_so_that_what_a_message_makes_due_is_seen(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author
) -> None:
    dropped.deliver()

    assert "submit-1" in run_keys(tick(lifecycle, instance, adapters))


@pytest.mark.usefixtures("due_item")
def test_ticks_at_once_request_one_run(adapters: Adapters, instance: dg.DagsterInstance) -> None:
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: run_keys(tick(lifecycle, instance, adapters)), range(6)))

    assert sorted(key for keys in found for key in keys if key) == ["retrieve-1"]


@pytest.mark.usefixtures("due_item")
def test_a_lot_whose_run_dagster_does_not_know_makes_way_for_the_next(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    [lot] = request_lots(adapters.database)
    adapters.database.run(lambda tx: begin_lot(tx, lot, "0000-unknown"))

    assert run_keys(tick(lifecycle, instance, adapters)) == ["retrieve-2"]


def test_lifecycle_tells_what_no_lot_told(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author, clock: Clock
) -> None:
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
    dropped.deliver()
    tick(lifecycle, instance, adapters)
    clock.pass_seconds(20)
    found = tick(lifecycle, instance, adapters)

    assert isinstance(found, dg.SkipReason | dg.SensorResult)
    assert CAMPAIGN in instance.get_materialized_partitions(dg.AssetKey("source_set"))
    assert len(instance.fetch_observations(dg.AssetKey("tag_index"), limit=5).records) == 1


def test_generation_status_polls_itself_and_says_what_it_saw(
    adapters: Adapters, instance: dg.DagsterInstance
) -> None:
    rows.campaign(adapters.database)
    rows.rendition(adapters.database, "northwind.spring")
    rows.attempt(
        adapters.database, "northwind.spring", "r-1", state="generating", submission="accepted",
        handle="h-1", next_poll_at=NOON, submitted_at=NOON, deadline_at=NOON * 2, purge_horizon_at=NOON * 2,
    )  # fmt: skip
    found = tick(generation_status, instance, adapters)

    assert isinstance(found, dg.SkipReason)
    assert found.skip_message == "1 looks: 1 unchanged"
    assert rows.rows(adapters.database, schema.attempts)[0].poll_count == 1


def test_generation_status_with_nothing_due_says_so(adapters: Adapters, instance: dg.DagsterInstance) -> None:
    found = tick(generation_status, instance, adapters)

    assert isinstance(found, dg.SkipReason)
    assert found.skip_message == "0 looks"


def test_every_stage_can_be_requested(adapters: Adapters, instance: dg.DagsterInstance) -> None:
    named = {job.name for sensor in (lifecycle,) for job in sensor.jobs}

    assert named == {f"{stage}_lot" for stage in Stage}
