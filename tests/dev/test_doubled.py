"""What happens twice at once is safe: overlapping ticks, a run launched by two daemons, a previewed tick.

Every tick of a sensor is a call with the same arguments, so that direct ones stand for two daemons, for a
tick that Dagster gave up and that goes on beside the next, and for the window's preview.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import dagster as dg
import pytest

from pipeline.documents.provider_list import read_provider_list
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.carry_out_lot import carry_out_lot
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.request_lots import request_lots
from resources.adapters import Adapters
from resources.database import schema
from resources.database.lots import UNSTARTED_SECONDS
from resources.providers.registry import adapters as provider_adapters
from sensors.campaign_intake import campaign_intake
from sensors.generation_status import generation_status
from sensors.lifecycle import lifecycle
from tests.conftest import NOON, Clock
from tests.database import rows
from tests.faults.renderer.process import RendererProcess
from tests.jobs.window import adapters, dropped, home, instance, sandbox
from tests.sensors.test_sensors import run_keys, tick
from tests.steps.author import Author

__all__ = ["adapters", "dropped", "home", "instance", "sandbox"]

CAMPAIGN = "northwind.spring"
AT_ONCE = 4
PROVIDERS = """
version: doubled-1
providers:
  local:
    adapter: tests.faults.renderer.adapters:KeyProvider
    base_url: {url}
    private_origin: true
    spend: test
    currency: EUR
    models: {{kenburns-1: {{price_per_second: "0.01"}}}}
    in_flight: {{total: 100, per_tenant: 100}}
    waiting: {{deadline_seconds: 1800, purge_horizon_seconds: 86400}}
"""
Told = TypeVar("Told")


def at_once(act: Callable[[], Told]) -> list[Told]:
    """What several said that began in the same moment."""
    together = Barrier(AT_ONCE)

    def one(_: int) -> Told:
        together.wait(30)
        return act()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(one, range(AT_ONCE)))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's clock decides what has settled."""
    monkeypatch.setattr("sensors.campaign_intake.SETTLE_SECONDS", 0.0)


@pytest.fixture
def renderer(tmp_path: Path) -> Iterator[RendererProcess]:
    with RendererProcess(tmp_path / "null-renderer") as found:
        yield found


@pytest.fixture
def paid(adapters: Adapters, renderer: RendererProcess) -> Adapters:
    """The adapters with a provider that bills every job."""
    listed = read_provider_list(PROVIDERS.format(url=renderer.url), name="providers.yaml").providers
    return replace(adapters, terms=listed, providers=provider_adapters(listed.values()))


def generating(adapters: Adapters, number: int) -> None:
    rows.rendition(adapters.database, CAMPAIGN, f"r-{number}")
    rows.attempt(
        adapters.database, CAMPAIGN, f"r-{number}", state="generating", submission="accepted",
        handle=f"h-{number}", next_poll_at=NOON, submitted_at=NOON, deadline_at=NOON * 2,
        purge_horizon_at=NOON * 2,
    )  # fmt: skip


def test_overlapping_intake_ticks_request_one_lot(
    adapters: Adapters, instance: dg.DagsterInstance, dropped: Author, clock: Clock
) -> None:
    tick(campaign_intake, instance, adapters)
    clock.pass_seconds(6)
    found = at_once(lambda: run_keys(tick(campaign_intake, instance, adapters)))

    assert sorted(key for keys in found for key in keys if key) == ["ingest-1"]


def test_overlapping_polls_look_once_at_each_job(adapters: Adapters, instance: dg.DagsterInstance) -> None:
    rows.campaign(adapters.database)
    for number in range(12):
        generating(adapters, number)
    at_once(lambda: tick(generation_status, instance, adapters))

    assert [one.poll_count for one in rows.rows(adapters.database, schema.attempts)] == [1] * 12


def test_a_run_launched_twice_pays_once(paid: Adapters, renderer: RendererProcess, dropped: Author) -> None:
    dropped.deliver()
    relay_outbox(paid.database)
    [lot] = request_lots(paid.database, [Stage.SUBMIT])
    at_once(lambda: carry_out_lot(paid, Stage.SUBMIT, lot.number, "one-run"))
    attempts = rows.rows(paid.database, schema.attempts)

    assert {one.state for one in attempts} == {"generating"}
    assert len(renderer.bill()) == len(attempts) > 0


def test_a_previewed_tick_holds_its_stage_up_for_a_minute_at_most(
    adapters: Adapters, instance: dg.DagsterInstance, clock: Clock
) -> None:
    rows.campaign(adapters.database)
    rows.rendition(adapters.database, CAMPAIGN)
    rows.attempt(adapters.database, CAMPAIGN, "r-1", state="retrieving", next_action_at=NOON)
    previewed = run_keys(tick(lifecycle, instance, adapters))
    meanwhile = run_keys(tick(lifecycle, instance, adapters))
    clock.pass_seconds(UNSTARTED_SECONDS)

    assert (previewed, meanwhile) == (["retrieve-1"], [])
    assert run_keys(tick(lifecycle, instance, adapters)) == ["retrieve-2"]
    assert UNSTARTED_SECONDS <= 60
