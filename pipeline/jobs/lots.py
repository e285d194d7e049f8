"""The lot jobs: one run takes on a stage's share of due work over all campaigns.

Belongs here: a job and a pool a stage, so that a burst in one keeps no other waiting (E4). Does not belong
here: the work, or when a run is requested (`sensors`).

A failed item fails no run: it is an outcome, named in the run's log and metadata and in its campaign's
partition. A run fails when the lot itself broke (docs/what-turns-red.md).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import dagster as dg

from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.follow_ons import Stage
from pipeline.jobs.bulk_events import Teller
from pipeline.steps.operate.carry_out_lot import carry_out_lot, conclude, follow_at_once
from pipeline.steps.operate.mark_partitions import mark_partitions
from pipeline.steps.produce.lot import ItemResult, LotReport
from resources.dagster_resources import Adapters, Operating

#: Items that went wrong and are named in a run's log and metadata; all of them are in the database.
NAMED_ITEMS = 50
AMISS = frozenset({"failed", "refused", "rejected", "parked", "postponed", "lost", "unknown", "not_sent"})
#: Runs of lots go before a backfill's when both wait.
PRIORITY_TAG = {"dagster/priority": "10"}

ABOUT: Mapping[Stage, str] = MappingProxyType(
    {
        Stage.INGEST: "Takes on dropped briefs and their images, judges what is complete, writes receipts,"
        " and sends the first of what was approved.",
        Stage.SUBMIT: "Sends queued attempts to their providers, each paid for once.",
        Stage.RETRIEVE: "Brings reported outputs home: fetched, proven whole, owned.",
        Stage.DERIVE: "Makes thumbnails and posters of owned videos.",
        Stage.PUBLISH: "Makes outputs findable, then shows them in their slots.",
    }
)

AMISS_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("item", description="id of the attempt, revision or brief"),
        dg.TableColumn("campaign", description="the partition whose page says what happens next to it"),
        dg.TableColumn("word", description="what it came to"),
        dg.TableColumn("why", description="reason code"),
    ]
)


class LotConfig(dg.Config):
    """Which requested lot this run carries out."""

    number: int | None = None  #: None: nobody requested it; it takes what is due


def lot_job(stage: Stage) -> dg.JobDefinition:
    """The job of one stage's lots."""

    @dg.op(name=f"{stage}_due", description=ABOUT[stage], pool=str(stage))
    def work(
        context: dg.OpExecutionContext,
        config: LotConfig,
        adapters: dg.ResourceParam[Adapters],
        operating: dg.ResourceParam[Operating],
    ) -> None:
        with as_dagster_failures():
            report = carry_out_lot(adapters, stage, config.number, context.run_id)
            reports = [report, *follow_at_once(adapters, stage, context.run_id)]
            _say(context, reports)
            teller = Teller(
                context.instance, operating.api, context.run_id, context.job_name, context.op_handle.name
            )
            campaigns = {name for one in reports for name in one.campaigns if name}
            mark_partitions(adapters.database, teller, campaigns=campaigns, terms=adapters.terms)
            conclude(adapters)

    @dg.job(
        name=job_name(stage),
        description=ABOUT[stage],
        tags={"stage": str(stage), **PRIORITY_TAG},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        work()

    return job


def job_name(stage: Stage) -> str:
    return f"{stage}_lot"


def lot_request(stage: Stage, number: int) -> dg.RunRequest:
    """A run for one opened lot. Its key holds the number: a key is used up even by a run that fails."""
    return dg.RunRequest(
        run_key=f"{stage}-{number}",
        job_name=job_name(stage),
        run_config={"ops": {f"{stage}_due": {"config": {"number": number}}}},
        tags={"lot": f"{stage}-{number}"},
    )


def is_over(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether a lot's run has ended, or is unknown to Dagster."""
    run = instance.get_run_by_id(run_id)
    return run is None or run.is_finished


def _say(context: dg.OpExecutionContext, reports: Sequence[LotReport]) -> None:
    for report in reports:
        counts = ", ".join(f"{number} {word}" for word, number in report.counts.items()) or "nothing was due"
        context.log.info(f"{report.stage}: {counts} in {report.seconds:.1f} s")
    amiss = [result for report in reports for result in report.results if result.word in AMISS]
    for result in amiss[:NAMED_ITEMS]:
        context.log.warning(f"{result.campaign} {result.subject}: {result.word} ({result.reason})")
    numbers = {word: number for report in reports for word, number in report.counts.items()}
    campaigns = {name for report in reports for name in report.campaigns if name}
    context.add_output_metadata({**numbers, "campaigns": len(campaigns), "amiss": _table(amiss)})


def _table(amiss: Sequence[ItemResult]) -> dg.TableMetadataValue:
    rows = [
        {"item": one.subject, "campaign": one.campaign, "word": one.word, "why": one.reason}
        for one in amiss[:NAMED_ITEMS]
    ]
    return dg.MetadataValue.table(records=[dg.TableRecord(row) for row in rows], schema=AMISS_COLUMNS)


LOT_JOBS = [lot_job(stage) for stage in Stage]
