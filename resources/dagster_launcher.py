"""Starts runs as Dagster's default launcher does, and notices those whose process is gone.

Belongs here: finding a run's process again. Does not belong here: what happens to its work (leases end by
themselves). Dagster's own launcher cannot tell, so a run that died together with its code server would stay
"started" for ever and keep its pool's slot (measured).
"""

from __future__ import annotations

import re

import psutil
from dagster import DagsterEventType, DagsterInstance, DagsterRun
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher

#: Said by Dagster when a run's process begins; `Started process for run (pid: 4711).`
_STARTED = re.compile(r"Started process for run \(pid: (\d+)\)")
#: A process that began later than the event that names its number is another one with that number.
_CLOCK_SLACK_SECONDS = 2.0


class WatchedRunLauncher(DefaultRunLauncher):
    """For one machine: it looks for the process by number and start time."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        started = process_of(self._instance, run.run_id)
        if started is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "no process yet")
        pid, at = started
        if _is_alive(pid, at):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"process {pid} of the run is gone")


def process_of(instance: DagsterInstance, run_id: str) -> tuple[int, float] | None:
    """Number of the run's newest process, and when it said that it had begun; None before."""
    found = None
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.ENGINE_EVENT):
        named = _STARTED.search(entry.message)
        if named:
            found = int(named.group(1)), entry.timestamp
    return found


def _is_alive(pid: int, at: float) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= at + _CLOCK_SLACK_SECONDS
    except psutil.NoSuchProcess:
        return False
