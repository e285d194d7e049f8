"""Sends runs to Celery workers, and notices those whose worker is gone.

Belongs here: asking a worker whether it lives. Does not belong here: how a worker is started or what its
queue is (`deploy/celery`). Celery's own record of a task stays "started" for ever when the whole worker dies
with its machine, and with it the run would keep its pool's slot until its longest time is over.
"""

from __future__ import annotations

from dagster import DagsterRun
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

#: A worker's main process answers while its children work; two silences are a death.
PING_SECONDS, PINGS = 4.0, 2


class WatchedCeleryRunLauncher(CeleryRunLauncher):
    """Dagster's launcher for Celery; a task that began lives as long as its worker answers."""

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        task = run.tags.get(DAGSTER_CELERY_TASK_ID_TAG)
        if task is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its task is not named yet")
        known = self.celery.AsyncResult(task)
        if known.state != "STARTED":
            return super().check_run_worker_health(run)
        worker = str(known.info["hostname"])
        if self._answers(worker):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"Celery worker {worker} of the run does not answer")

    def _answers(self, worker: str) -> bool:
        ping = self.celery.control.ping
        return any(ping(destination=[worker], timeout=PING_SECONDS) for _ in range(PINGS))
