"""What should somebody be told? Runs that failed lately, and alerts that a channel did not take."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from pipeline.steps.operate.alert import send_waiting
from pipeline.steps.operate.watch_runs import FailedRun, failing_jobs, recovered, tell_failed_runs
from resources.dagster_resources import Adapters, Operating

#: A failed run is looked for as long; after a longer standstill of the daemon, the window still shows it.
LOOK_BACK = timedelta(hours=1)
RUNS = 50
SECOND = 1_000_000


@dg.sensor(
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Tells of failed runs, once a job until one succeeds, and sends alerts that wait.",
)
def alerts(
    context: dg.SensorEvaluationContext,
    sensor_adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
) -> dg.SkipReason:
    database, instance = sensor_adapters.database, context.instance
    told = tell_failed_runs(
        database, operating.outlet, _failed(instance), lambda run_id: _reason(instance, run_id)
    )
    over = [job for job, since in failing_jobs(database).items() if _succeeded(instance, job, since)]
    for job in over:
        recovered(database, job)
    sent = send_waiting(database, operating.outlet).total()
    return dg.SkipReason(f"{told} failed runs, {len(over)} jobs recovered, {sent} waiting alerts tried")


def _failed(instance: dg.DagsterInstance) -> list[FailedRun]:
    wanted = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.FAILURE],
        updated_after=datetime.now(UTC) - LOOK_BACK,
    )
    records = instance.get_run_records(wanted, limit=RUNS, order_by="update_timestamp")
    return [FailedRun(one.dagster_run.job_name, one.dagster_run.run_id, _ended_at(one)) for one in records]


def _ended_at(record: dg.RunRecord) -> int:
    return int((record.end_time or record.update_timestamp.timestamp()) * SECOND)


def _succeeded(instance: dg.DagsterInstance, job: str, since: int) -> bool:
    wanted = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS])
    newest = instance.get_run_records(wanted, limit=1, order_by="update_timestamp")
    return any(_ended_at(one) > since for one in newest)


def _reason(instance: dg.DagsterInstance, run_id: str) -> str:
    """The class of what broke it: a name of ours or of Python's, never its words."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
        data = entry.get_dagster_event().step_failure_data
        named = data.user_failure_data and data.user_failure_data.metadata.get("error")
        if named:
            return str(named.value)
        if data.error is not None and data.error.cls_name:
            return data.error.cls_name
    return "run_lost"
