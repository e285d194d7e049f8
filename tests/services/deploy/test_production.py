"""The production configuration runs: PostgreSQL under both, output in S3, processes as in compose.yaml."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from dagster_postgres import PostgresRunStorage

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.jobs.upkeep import PRUNED_JOBS
from pipeline.steps.answer.standing import Part
from resources.dagster_launcher import WatchedRunLauncher
from resources.dagster_storage import prune
from resources.database.schema import sends
from tests.services.deploy.installation import TENANT, Installation, installation

CAMPAIGN = "spring"


def outputs(house: Installation) -> list[str]:
    listed = house.s3.list_objects_v2(Bucket="reelwright-logs").get("Contents", [])
    return [one["Key"] for one in listed]


def runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return list(instance.get_runs())


def test_a_campaign_is_published_and_pruning_leaves_it_as_it_shows(tmp_path: Path) -> None:
    with installation(tmp_path) as house:
        house.drop(CAMPAIGN, "local", ["de-DE"], ["16:9", "9:16"])
        for name in ("renderer", "code-server"):
            house.start(name)
        house.until_serving("127.0.0.1", house.moved.places["code-server:4266"])
        house.start("daemon")
        house.until_published(CAMPAIGN, 2)
        with house.instance() as instance, house.database() as database:
            green = Part.RENDITIONS, {f"{TENANT}.{CAMPAIGN}"}
            house.until(lambda: all(run.is_finished for run in runs(instance)), 60)
            house.until(lambda: instance.get_materialized_partitions(dg.AssetKey(green[0])) == green[1], 60)
            house.stop("daemon")
            ended = {run.run_id: run.status for run in runs(instance)}
            printed = outputs(house)
            with database.reading() as connection:
                sent = connection.scalar(sa.select(sa.func.count()).select_from(sends))
            pruned = prune(instance, PRUNED_JOBS, datetime.now(UTC) + timedelta(seconds=1))

            assert isinstance(instance.run_storage, PostgresRunStorage)
            assert isinstance(instance.run_launcher, WatchedRunLauncher)
            assert set(ended.values()) == {dg.DagsterRunStatus.SUCCESS}
            assert sent == 2
            assert {key.split("/")[2] for key in printed} == set(ended)
            assert pruned.runs == len(ended)
            assert outputs(house) == runs(instance) == []
            assert instance.get_materialized_partitions(dg.AssetKey(green[0])) == green[1]
            assert instance.get_dynamic_partitions(CAMPAIGNS) == list(green[1])
