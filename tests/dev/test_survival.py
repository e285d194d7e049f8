"""Sixty renditions under a real `dev`: two moments of `python -m tests.dev.survival`, and doubles."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from tests.dev.house import House, Kind
from tests.dev.survival import begin, complete, reach, require_all_well, strike
from tests.dev.window import preview_tick, reload_code


@pytest.mark.timeout(900)  # a loaded machine may take as long; two idle cores take under four minutes
def test_a_campaign_survives_its_killed_processes_and_is_paid_for_once(tmp_path: Path) -> None:
    with House(tmp_path) as house:
        scene = begin(house, "survivor")
        first = strike(scene, "mid-submit", [Kind.CODE_SERVER, Kind.WORKER])
        second = strike(scene, "publish run", list(Kind))
        complete(scene)

        # A worker's run may be marked failed before anybody counts it: what was killed is what is asserted.
        assert min(first.killed, second.killed) >= 2
        require_all_well(scene)


@pytest.mark.timeout(900)
def test_a_campaign_survives_a_second_daemon_previewed_ticks_and_a_code_reload(tmp_path: Path) -> None:
    with House(tmp_path) as house, house.second_daemon() as second:
        scene = begin(house, "doubled")
        for moment in ("ingest run", "mid-submit", "retrieve run"):
            reach(scene, moment)
            for sensor in ("campaign_intake", "generation_status", "lifecycle"):
                preview_tick(house.dagster_url, sensor)
            if moment == "mid-submit":
                reload_code(house.dagster_url)
        complete(scene)

        assert second.is_running()
        require_all_well(scene)
        assert {run.status for run in house.instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
