"""What a lifecycle tick tells of campaigns is bounded by time: each event costs its share of it (E2)."""

from __future__ import annotations

import dagster as dg
import pytest

from pipeline.assets.partitions import CAMPAIGNS
from resources.adapters import Adapters
from sensors.lifecycle import lifecycle
from tests.conftest import Clock
from tests.sensors.test_sensors import tick
from tests.steps.author import CAMPAIGN, Author


def test_a_tick_whose_time_is_over_leaves_the_telling_to_the_next(
    adapters: Adapters,
    instance: dg.DagsterInstance,
    dropped: Author,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance.add_dynamic_partitions(CAMPAIGNS, [CAMPAIGN])
    dropped.deliver()
    tick(lifecycle, instance, adapters)
    clock.pass_seconds(20)
    told = []
    for seconds in (0.0, 8.0):
        monkeypatch.setattr("sensors.lifecycle.TELLING_SECONDS", seconds)
        tick(lifecycle, instance, adapters)
        told.append(instance.get_materialized_partitions(dg.AssetKey("source_set")))

    assert told == [set(), {CAMPAIGN}]
