"""E1: `delivery_usage` shows a day in numbers that plot, and what became of each log."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from pipeline.assets.usage import delivery_usage
from resources.adapters import Adapters
from resources.object_store.local import LocalStore
from tests.conftest import SECOND, Clock
from tests.usage_logs.logs import CASES, NOW


def _shown(instance: dg.DagsterInstance, adapters: Adapters, day: str) -> dict[str, Any]:
    done = dg.materialize(
        [delivery_usage], instance=instance, partition_key=day, resources={"adapters": adapters}
    )
    [event] = done.get_asset_materialization_events()
    return {name: value.value for name, value in event.materialization.metadata.items()}


def test_a_partition_shows_its_day_and_a_backfill_changes_nothing(
    adapters: Adapters, instance: dg.DagsterInstance, tmp_path: Path, clock: Clock
) -> None:
    clock.at = NOW * SECOND
    for path in CASES.glob("E2EXAMPLE*.gz"):
        (tmp_path / "logs").mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / "logs")
    (tmp_path / "logs" / "cut.gz").write_bytes(b"\x1f\x8b")
    ours = replace(adapters, delivery_logs=LocalStore(tmp_path / "logs"))
    march = _shown(instance, ours, "2026-03-31")
    april = _shown(instance, ours, "2026-04-01")

    assert (march["files_read"], march["files_known"], march["files_refused"]) == (3, 1, 1)
    assert (march["delivered_bytes"], march["unattributed_bytes"]) == (31_000, 31_000)
    assert march["read_until"] == "2026-04-01T00:00:03+00:00"
    assert march["files"].records[0].data["file"] == "cut.gz"
    assert (april["files_read"], april["delivered_bytes"]) == (0, 32_000)
    assert _shown(instance, ours, "2026-03-31")["delivered_bytes"] == 31_000
