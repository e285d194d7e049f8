"""Pruning takes out of Dagster's storage on PostgreSQL what it takes out of SQLite files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
import yaml

from pipeline.assets.partitions import CAMPAIGNS
from resources.dagster_storage import prune
from tests.dagster_home import instance_of
from tests.jobs.test_pruning import (
    CAMPAIGN,
    later,
    test_a_lots_run_goes_with_its_log_and_its_partition_stays_green,
    test_events_of_no_run_go_too_but_for_the_newest,
    test_runs_of_other_jobs_and_young_ones_stay,
    test_what_was_pruned_is_told_and_shown_again_like_anything_new,
)
from tests.services.deploy.composed import ROOT
from tests.services.deploy.installation import postgres_on_tcp

__all__ = [
    "test_a_lots_run_goes_with_its_log_and_its_partition_stays_green",
    "test_events_of_no_run_go_too_but_for_the_newest",
    "test_runs_of_other_jobs_and_young_ones_stay",
    "test_what_was_pruned_is_told_and_shown_again_like_anything_new",
]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with postgres_on_tcp() as found:
        yield found


@pytest.fixture
def kept(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance of the production configuration."""
    where = {"HOST": "127.0.0.1", "PORT": str(port), "USER": "reelwright", "PASSWORD": "-", "DB": "dagster"}
    for name, value in where.items():
        monkeypatch.setenv(f"DAGSTER_PG_{name}", value)
    configured = yaml.safe_load((ROOT / "deploy/dagster.postgres.yaml").read_text())
    del configured["compute_logs"]  # what becomes of those `test_production` shows
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(configured))
    with instance_of(tmp_path) as instance:
        instance.wipe()
        instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
        yield instance


#: Two observations of each of so many partitions, where a sort has to go to disk at once.
PARTITIONS = 20_000
NARROW = ("SET work_mem = '64kB'", "SET statement_timeout = '15s'")
OBSERVATIONS = sa.text("""
INSERT INTO event_logs (run_id, event, dagster_event_type, timestamp, asset_key, partition)
SELECT '', '-', 'ASSET_OBSERVATION', now() - interval '1 day', '["tag_index"]', 'p' || mod(i, :partitions)
FROM generate_series(1, 2 * :partitions) AS i
""")


def test_many_partitions_take_one_sort_however_little_memory_there_is(
    kept: dg.DagsterInstance, port: int
) -> None:
    url = f"postgresql+psycopg2://reelwright@127.0.0.1:{port}/dagster"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(OBSERVATIONS, {"partitions": PARTITIONS})
        for setting in NARROW:
            connection.exec_driver_sql(setting.replace("SET", "ALTER DATABASE dagster SET"))
        connection.exec_driver_sql("ANALYZE event_logs")
        pruned = prune(kept, [], later())
        left = connection.scalar(sa.text("SELECT count(*) FROM event_logs"))

    assert (pruned.events, left) == (PARTITIONS, PARTITIONS)
