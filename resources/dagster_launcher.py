"""Starts runs as Dagster's default launcher does, and notices those whose process is gone.

Belongs here: finding a run's process again. Does not belong here: what happens to its work (leases end by
themselves). Dagster's own launcher cannot tell, so a run that died together with its code server would stay
"started" for ever and keep its pool's slot (measured).
"""

from __future__ import annotations

import json
import re
from typing import Any

import psutil
from dagster import DagsterEventType, DagsterInstance, DagsterRun, deserialize_value
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult

#: Said by Dagster when a run's process begins; `Started process for run (pid: 4711).`
_STARTED = re.compile(r"Started process for run \(pid: (\d+)\)")
#: A process that began later than the event that names its number is another one with that number.
_CLOCK_SLACK_SECONDS = 2.0
#: Under these names a code server is on the daemon's own machine, and so are the processes of its runs.
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_ANSWER_SECONDS = 10


class WatchedRunLauncher(DefaultRunLauncher):
    """On this machine it looks for the process by number and start time; elsewhere it asks the code server.

    A name must lead to one code server: one of two behind it knows nothing of the other's runs.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        server = json.loads(run.tags.get(GRPC_INFO_TAG, "{}"))
        if server.get("host", "localhost") not in _HERE:
            return _asked(server, run)
        started = process_of(self._instance, run.run_id)
        if started is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "no process yet")
        pid, at = started
        if _is_alive(pid, at):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"process {pid} of the run is gone")


def _asked(server: dict[str, Any], run: DagsterRun) -> CheckRunHealthResult:
    """What the run's code server says. One that was started anew knows no run of the one before it."""
    where = f"{server['host']}:{server.get('port')}"
    is_secret = bool(server.get("use_ssl"))
    client = DagsterGrpcClient(port=server.get("port"), host=server["host"], use_ssl=is_secret)
    asked = CanCancelExecutionRequest(run_id=run.run_id)
    try:
        said = client.can_cancel_execution(asked, timeout=_ANSWER_SECONDS)
    except DagsterUserCodeUnreachableError:
        return CheckRunHealthResult(WorkerStatus.RUNNING, f"code server {where} does not answer")
    if deserialize_value(said, CanCancelExecutionResult).can_cancel:
        return CheckRunHealthResult(WorkerStatus.RUNNING)
    return CheckRunHealthResult(WorkerStatus.FAILED, f"code server {where} has no process of the run")


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
