"""What became of remote jobs: the one sensor that works itself, through one bounded step (P1, P5)."""

import dagster as dg

from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.stages import poll_tick
from resources.dagster_resources import Adapters

#: Dagster gives a tick up at 60 s and starts the next one beside it.
BUDGET_SECONDS = 20.0


@dg.sensor(
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Polls remote jobs that are due, concurrently, without a run or an event a job.",
)
def generation_status(sensor_adapters: dg.ResourceParam[Adapters]) -> dg.SkipReason:
    report = poll_tick(sensor_adapters, BUDGET_SECONDS)
    relay_outbox(sensor_adapters.database, budget_seconds=5.0)
    counts = ", ".join(f"{number} {word}" for word, number in sorted(report.counts.items()) if number)
    return dg.SkipReason(f"{report.looks} looks" + (f": {counts}" if counts else ""))
