"""A run whose process is gone is noticed, a living one is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.launcher.base import WorkerStatus

from pipeline.cli.processes import project_file
from resources.dagster_launcher import WatchedRunLauncher


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance of this project's dagster.yaml."""
    (tmp_path / "dagster.yaml").symlink_to(project_file("dagster.yaml"))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        yield instance


def started(instance: dg.DagsterInstance, pid: int) -> dg.DagsterRun:
    run = instance.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTED)
    instance.report_engine_event(f"Started process for run (pid: {pid}).", run)
    return run


def _job() -> dg.JobDefinition:
    @dg.op
    def nothing() -> None: ...

    @dg.job
    def some_lot() -> None:
        nothing()

    return some_lot


def health(instance: dg.DagsterInstance, run: dg.DagsterRun) -> WorkerStatus:
    assert isinstance(instance.run_launcher, WatchedRunLauncher)
    return instance.run_launcher.check_run_worker_health(run).status


def test_the_shipped_configuration_watches_runs_and_keeps_everything_at_home(
    configured: dg.DagsterInstance,
) -> None:
    assert configured.run_launcher.supports_check_run_worker_health
    assert not configured.telemetry_enabled
    assert not configured.nux_enabled
    assert configured.run_monitoring_enabled


def test_a_living_process_is_healthy(configured: dg.DagsterInstance) -> None:
    assert health(configured, started(configured, os.getpid())) is WorkerStatus.RUNNING


def test_a_run_that_has_not_said_its_process_yet_is_left_alone(configured: dg.DagsterInstance) -> None:
    run = configured.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTING)

    assert health(configured, run) is WorkerStatus.RUNNING


def test_a_process_that_is_gone_fails_its_run(configured: dg.DagsterInstance) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert health(configured, started(configured, gone.pid)) is WorkerStatus.FAILED


def test_a_later_process_of_the_same_number_is_another_one(
    configured: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(configured, os.getpid())
    monkeypatch.setattr("resources.dagster_launcher._CLOCK_SLACK_SECONDS", -10_000_000.0)

    assert health(configured, run) is WorkerStatus.FAILED
