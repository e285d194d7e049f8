"""A run whose process is gone is noticed, a living one is left alone."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator
from dagster._core.launcher.base import WorkerStatus
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster._daemon.monitoring.run_monitoring import execute_run_monitoring_iteration

from pipeline.cli.processes import project_file
from resources.dagster_launcher import WatchedRunLauncher
from tests.dagster_home import instance_of


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance of this project's dagster.yaml."""
    (tmp_path / "dagster.yaml").symlink_to(project_file("dagster.yaml"))
    with instance_of(tmp_path) as instance:
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


def gone_process() -> int:
    """Number of a process that has ended."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def monitor_once(instance: dg.DagsterInstance) -> None:
    """What the daemon does every few seconds."""
    with WorkspaceProcessContext(instance, EmptyWorkspaceTarget()) as context:
        assert list(execute_run_monitoring_iteration(context, logging.getLogger("monitor"))) != []


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
    assert health(configured, started(configured, gone_process())) is WorkerStatus.FAILED


def test_a_later_process_of_the_same_number_is_another_one(
    configured: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(configured, os.getpid())
    monkeypatch.setattr("resources.dagster_launcher._CLOCK_SLACK_SECONDS", -10_000_000.0)

    assert health(configured, run) is WorkerStatus.FAILED


def test_the_daemon_fails_the_run_of_a_dead_process_and_leaves_a_living_one(
    configured: dg.DagsterInstance,
) -> None:
    dead, living = started(configured, gone_process()), started(configured, os.getpid())
    monitor_once(configured)
    found = [configured.get_run_by_id(run.run_id) for run in (dead, living)]

    assert [run.status for run in found if run] == [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED]


def test_a_dead_run_is_noticed_within_a_minute_wherever_it_died(configured: dg.DagsterInstance) -> None:
    patience = configured.run_monitoring_start_timeout_seconds

    assert patience + configured.run_monitoring_poll_interval_seconds <= 60


def test_a_worker_that_comes_after_its_run_was_given_up_does_nothing(configured: dg.DagsterInstance) -> None:
    run = configured.create_run_for_job(_job(), status=dg.DagsterRunStatus.STARTING)
    configured.report_run_failed(run, "took too long to start")
    given_up = configured.get_run_by_id(run.run_id)
    assert given_up is not None
    events = list(execute_run_iterator(InMemoryJob(_job()), given_up, configured))

    assert [event.event_type for event in events] == [dg.DagsterEventType.ENGINE_EVENT]
    assert configured.get_run_by_id(run.run_id) == given_up
