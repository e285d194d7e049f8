"""Two of the ten moments of `python -m tests.dev.survival`, in one campaign of sixty under a real `dev`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dev.house import House, Kind
from tests.dev.survival import begin, complete, require_all_well, strike


@pytest.mark.timeout(900)  # a loaded machine may take as long; two idle cores take under four minutes
def test_a_campaign_survives_its_killed_processes_and_is_paid_for_once(tmp_path: Path) -> None:
    with House(tmp_path) as house:
        scene = begin(house, "survivor")
        first = strike(scene, "mid-submit", [Kind.CODE_SERVER, Kind.WORKER])
        second = strike(scene, "publish run", list(Kind))
        complete(scene)

        assert first.runs >= 1
        assert second.killed >= 2
        require_all_well(scene, campaigns=1)
