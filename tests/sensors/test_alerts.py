"""Failed runs reach a real webhook: once a job, with id and link, cleared by a run that succeeds (A4)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest

from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.errors import BadSettings
from resources.adapters import Adapters
from sensors.alerts import alerts
from tests.jobs.window import OPERATING, WINDOW, outlet_to
from tests.notify.sinks import HttpSink, http_sink

SECRET = "https://provider.example/v1?key=S3CRET"


@dg.op(config_schema={"fails": bool})
def send(context: dg.OpExecutionContext) -> None:
    with as_dagster_failures():
        if context.op_config["fails"]:
            raise BadSettings("providers", f"{SECRET} does not answer", "ask somebody")


@dg.job
def submit_lot() -> None:
    send()


@pytest.fixture
def sink() -> Iterator[HttpSink]:
    with http_sink() as listening:
        yield listening


def run(instance: dg.DagsterInstance, *, fails: bool) -> str:
    config = {"ops": {"send": {"config": {"fails": fails}}}}
    return submit_lot.execute_in_process(config, instance=instance, raise_on_error=False).run_id


def tick(instance: dg.DagsterInstance, adapters: Adapters, sink: HttpSink) -> str:
    resources = {"sensor_adapters": adapters, "operating": replace(OPERATING, outlet=outlet_to(sink))}
    found = alerts(dg.build_sensor_context(instance=instance, resources=resources))
    assert isinstance(found, dg.SkipReason)
    return found.skip_message or ""


def told(sink: HttpSink) -> list[dict[str, Any]]:
    return [json.loads(body) for body in sink.bodies]


def test_a_failed_run_is_told_with_its_reason_and_page(
    adapters: Adapters, instance: dg.DagsterInstance, sink: HttpSink
) -> None:
    run_id = run(instance, fails=True)
    tick(instance, adapters, sink)
    [alert] = told(sink)

    assert alert["id"] == "run_failed/submit_lot"
    assert alert["facts"]["reason"] == "BadSettings"
    assert alert["link"] == f"{WINDOW}/runs/{run_id}"


def test_nothing_private_leaves_the_house(
    adapters: Adapters, instance: dg.DagsterInstance, sink: HttpSink
) -> None:
    run(instance, fails=True)
    tick(instance, adapters, sink)

    assert "provider.example" not in sink.bodies[0].decode()
    assert "S3CRET" not in sink.bodies[0].decode()


def test_ticks_tell_a_failure_once(adapters: Adapters, instance: dg.DagsterInstance, sink: HttpSink) -> None:
    run(instance, fails=True)
    said = [tick(instance, adapters, sink) for _ in range(3)]

    assert [one.split(",")[0] for one in said] == ["1 failed runs", "0 failed runs", "0 failed runs"]
    assert len(sink.bodies) == 1


def test_a_job_that_keeps_failing_is_critical_and_told_once_more(
    adapters: Adapters, instance: dg.DagsterInstance, sink: HttpSink
) -> None:
    for _ in range(4):
        run(instance, fails=True)
        tick(instance, adapters, sink)

    assert [alert["severity"] for alert in told(sink)] == ["warning", "critical"]


def test_a_run_that_succeeds_ends_it_and_the_next_failure_is_new(
    adapters: Adapters, instance: dg.DagsterInstance, sink: HttpSink
) -> None:
    run(instance, fails=True)
    tick(instance, adapters, sink)
    run(instance, fails=False)
    recovered = tick(instance, adapters, sink)
    quiet = tick(instance, adapters, sink)
    run(instance, fails=True)
    tick(instance, adapters, sink)

    assert "1 jobs recovered" in recovered
    assert quiet.startswith("0 failed runs, 0 jobs recovered")
    assert len(sink.bodies) == 2
    assert told(sink)[1]["count"] == 1
