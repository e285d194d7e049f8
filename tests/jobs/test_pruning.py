"""Pruning takes runs and logs out of Dagster's own storage and leaves every partition as it shows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.jobs.bulk_events import Teller
from pipeline.steps.answer.standing import Part, Standing
from pipeline.steps.operate.mark_partitions import Say, Saying
from resources.dagster_storage import prune

CAMPAIGN = "northwind.spring-depot"
PART = dg.AssetKey(str(Part.THUMBNAILS))


@dg.op
def tell_twice(context: dg.OpExecutionContext) -> None:
    """A lot's run: two events for one partition, as two lots would store them."""
    for wishes in (1, 2):
        standing = Standing(Part.THUMBNAILS, CAMPAIGN, 1, True, "1", {"wishes": wishes})
        Teller(context.instance, "", context.run_id, context.job_name, "tell_twice")(
            [Saying(Say.MATERIALIZED, standing)]
        )


@dg.job
def derive_lot() -> None:
    tell_twice()


@dg.job
def somebodys_own() -> None:
    tell_twice()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance on SQLite files, as `make dev` has it."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
        yield instance


def later() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)


def told(instance: dg.DagsterInstance) -> list[object]:
    records = instance.fetch_materializations(PART, limit=10).records
    return [one.asset_materialization.metadata["wishes"].value for one in records]  # type: ignore[union-attr]


def test_a_lots_run_goes_with_its_log_and_its_partition_stays_green(
    kept: dg.DagsterInstance, tmp_path: Path
) -> None:
    run_id = derive_lot.execute_in_process(instance=kept).run_id
    before = told(kept)
    pruned = prune(kept, ["derive_lot"], later())

    assert before == [2, 1]
    assert (pruned.runs, pruned.events > 0) == (1, True)
    assert kept.get_run_by_id(run_id) is None
    assert not list(tmp_path.rglob(f"{run_id}.db*"))
    assert kept.get_materialized_partitions(PART) == {CAMPAIGN}
    assert told(kept) == [2]


def test_runs_of_other_jobs_and_young_ones_stay(kept: dg.DagsterInstance) -> None:
    other = somebodys_own.execute_in_process(instance=kept).run_id
    young = derive_lot.execute_in_process(instance=kept).run_id
    long_ago = datetime.now(UTC) - timedelta(days=1)
    assert prune(kept, ["derive_lot"], long_ago).runs == 0
    prune(kept, ["derive_lot"], later())

    assert kept.get_run_by_id(other) is not None
    assert kept.get_run_by_id(young) is None
    assert kept.all_logs(other)


def test_what_was_pruned_is_told_and_shown_again_like_anything_new(kept: dg.DagsterInstance) -> None:
    derive_lot.execute_in_process(instance=kept)
    prune(kept, ["derive_lot"], later())
    derive_lot.execute_in_process(instance=kept)

    assert told(kept)[:1] == [2]
    assert prune(kept, ["derive_lot"], later()).runs == 1
    assert kept.get_materialized_partitions(PART) == {CAMPAIGN}


def test_events_of_no_run_go_too_but_for_the_newest(kept: dg.DagsterInstance) -> None:
    for wishes in (1, 2, 3):
        standing = Standing(Part.TAG_INDEX, CAMPAIGN, 1, False, "1", {"wishes": wishes})
        Teller(kept)([Saying(Say.OBSERVED, standing)])
    prune(kept, [], later())
    [record] = kept.fetch_observations(dg.AssetKey("tag_index"), limit=10).records

    assert record.asset_observation is not None
    assert record.asset_observation.metadata["wishes"].value == 3
