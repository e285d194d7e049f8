"""When the house is kept: checks, reconciliation, retention, pruning.

Belongs here: the times. Does not belong here: the jobs (`pipeline.jobs.upkeep`). All run by default; each can
be stopped in the window, and running one by hand at any time is harmless.
"""

from datetime import timedelta

import dagster as dg

from pipeline.assets.finance_report import report_job
from pipeline.assets.ledger import ledger_job
from pipeline.assets.usage import delivery_job
from pipeline.jobs.retention import retention_plan_job, retention_run_job
from pipeline.jobs.upkeep import checks_job, pruning_job, reconciliation_job


@dg.schedule(
    name="delivery_daily",
    job=delivery_job,
    cron_schedule="5 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Reads the delivery logs that came in, in the small hours (UTC), and shows the day before.",
)
def delivery_daily(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """CloudFront delivers a day late at worst: what comes after is taken up by the next run."""
    day = context.scheduled_execution_time - timedelta(days=1)
    return dg.RunRequest(partition_key=f"{day:%Y-%m-%d}")


@dg.schedule(
    name="ledger_daily",
    job=ledger_job,
    cron_schedule="35 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Measures and prices the day before, once its delivery logs are read (UTC).",
)
def ledger_daily(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """What comes later is posted by the next run, which rates the month as a whole."""
    day = context.scheduled_execution_time - timedelta(days=1)
    return dg.RunRequest(partition_key=f"{day:%Y-%m-%d}")


#: Days into a month until which the one before is reported anew: late logs, the settling, the close.
STILL_NEW = 20


@dg.schedule(
    name="report_daily",
    job=report_job,
    cron_schedule="5 5 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Writes the report of yesterday's month, and of the month before while that is new.",
)
def report_daily(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
    """A closed month's report stays as it is, so that asking for it once more is harmless."""
    day = context.scheduled_execution_time - timedelta(days=1)
    before = day.replace(day=1) - timedelta(days=1)
    wanted = [day, before] if day.day <= STILL_NEW else [day]
    return [dg.RunRequest(partition_key=f"{one:%Y-%m}-01") for one in wanted]


SCHEDULES = [
    report_daily,
    ledger_daily,
    delivery_daily,
    dg.ScheduleDefinition(
        name="checks_twice_an_hour",
        job=checks_job,
        cron_schedule="10,40 * * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Evaluates the checks and measures the installation.",
    ),
    dg.ScheduleDefinition(
        name="reconciliation_hourly",
        job=reconciliation_job,
        cron_schedule="25 * * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Mends what nobody moves any more.",
    ),
    dg.ScheduleDefinition(
        name="retention_plan_daily",
        job=retention_plan_job,
        cron_schedule="10 2 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Plans what is due under the retention policy; somebody approves it, or nothing goes.",
    ),
    dg.ScheduleDefinition(
        name="retention_run_daily",
        job=retention_run_job,
        cron_schedule="50 2 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Marks what was approved and purges what was marked a grace ago.",
    ),
    dg.ScheduleDefinition(
        name="pruning_daily",
        job=pruning_job,
        cron_schedule="20 3 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Removes old runs, events and messages, in the small hours (UTC).",
    ),
]
