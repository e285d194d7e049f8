"""New briefs and images: which campaigns are there, and is there something to ingest?

A file is taken on when two looks at least five seconds apart found it the same. Where a first look found a
new one, the second follows in the same tick, so that nobody waits for the next.
"""

from time import sleep

import dagster as dg

from pipeline.assets.partitions import CAMPAIGNS
from pipeline.domain.follow_ons import Stage
from pipeline.jobs.lots import LOT_JOBS, lot_request
from pipeline.steps.operate.mark_partitions import add_partitions
from pipeline.steps.operate.request_lots import open_lots
from pipeline.steps.produce.ingest import look_at_intake
from resources.dagster_resources import Adapters

#: Between two looks of one tick; a tick has 60 s.
SETTLE_SECONDS = 5.05


@dg.sensor(
    jobs=[job for job in LOT_JOBS if job.tags["stage"] == Stage.INGEST],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Looks into the intake, adds a partition for each new campaign, requests an ingest lot.",
)
def campaign_intake(
    context: dg.SensorEvaluationContext, sensor_adapters: dg.ResourceParam[Adapters]
) -> dg.SensorResult | dg.SkipReason:
    database = sensor_adapters.database
    added = add_partitions(
        database, lambda keys: context.instance.add_dynamic_partitions(CAMPAIGNS, list(keys))
    )
    look = look_at_intake(database, sensor_adapters.store)
    if look.settling and not look.is_due:
        sleep(SETTLE_SECONDS)
        look = look_at_intake(database, sensor_adapters.store)
    lots = open_lots(database, [Stage.INGEST]) if look.is_due else []
    if not lots:
        due = len(look.briefs) + len(look.revisions)
        return dg.SkipReason(f"{look.files} files, {due} due, {added} new campaigns")
    return dg.SensorResult(run_requests=[lot_request(lot.stage, lot.number) for lot in lots])
