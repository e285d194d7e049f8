"""What is due, stage by stage? Requests one lot run for each, and tells what no lot told."""

import time

import dagster as dg

from pipeline.jobs.bulk_events import Teller
from pipeline.jobs.lots import LOT_JOBS, is_over, lot_request
from pipeline.steps.operate.mark_partitions import mark_partitions
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.request_lots import close_lost_lots, request_lots
from pipeline.steps.produce.receipts import write_due_receipts
from resources.dagster_resources import Adapters, Operating

RELAY_SECONDS = 10.0
#: Changes that no lot has told by then (a poll ended the last item, a person's command) are told here,
#: a few campaigns at a time: an event takes 16 ms on SQLite, ten times that on a machine that has ten times
#: as much to do, and Dagster gives a tick up at 60 s.
UNTOLD_SECONDS = 15
UNTOLD_CAMPAIGNS = 4
TELLING_SECONDS = 8.0
#: Receipts that a tick writes, a few milliseconds each: a run for one costs seconds.
RECEIPTS = 20


@dg.sensor(
    jobs=LOT_JOBS,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Relays the outbox, requests one lot run for each stage that has due items and no open lot.",
)
def lifecycle(
    context: dg.SensorEvaluationContext,
    sensor_adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
) -> dg.SensorResult | dg.SkipReason:
    database = sensor_adapters.database
    relayed = relay_outbox(database, budget_seconds=RELAY_SECONDS)
    write_due_receipts(database, sensor_adapters.store, limit=RECEIPTS)
    close_lost_lots(database, lambda run_id: is_over(context.instance, run_id))
    lots = request_lots(database)
    told = _tell_untold(sensor_adapters, Teller(context.instance, operating.api))
    if not lots:
        return dg.SkipReason(f"{relayed} messages, {told} events, no lot wanted")
    return dg.SensorResult(run_requests=[lot_request(lot.stage, lot.number) for lot in lots])


def _tell_untold(adapters: Adapters, teller: Teller) -> int:
    """Number of events; stops when there is nothing to say, or the time is over."""
    told, until = 0, time.monotonic() + TELLING_SECONDS
    while time.monotonic() < until:
        said = mark_partitions(
            adapters.database,
            teller,
            overdue_seconds=UNTOLD_SECONDS,
            limit=UNTOLD_CAMPAIGNS,
            terms=adapters.terms,
        )
        told += said
        if not said:
            break
    return told
