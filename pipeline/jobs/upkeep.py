"""The jobs that keep the house: checks with their numbers, reconciliation, pruning.

Belongs here: the jobs and what their runs tell. Does not belong here: what is checked, mended or removed
(`steps.operate`, `resources.dagster_storage`), or when (`sensors.schedules`).
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from pipeline.assets.checks import system_checks
from pipeline.assets.failures import as_dagster_failures
from pipeline.assets.health import system_health
from pipeline.jobs.lots import LOT_JOBS, is_over
from pipeline.steps.operate.prune import prune_record
from pipeline.steps.operate.reconcile import reconcile
from pipeline.steps.operate.reconciled import Done, Finding, ReconcileReport
from resources.dagster_resources import Adapters, Operating
from resources.dagster_storage import prune

#: Findings that a reconciliation names; all of them are in the audit.
NAMED_FINDINGS = 50

FINDING_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("item", description="what was looked for"),
        dg.TableColumn("done", description="mended, waits, listed for a person, overtaken, failed"),
        dg.TableColumn("subject", description="its id"),
        dg.TableColumn("campaign", description="its partition"),
        dg.TableColumn("why", description="what was not as it should be"),
        dg.TableColumn("before", description="as it was found"),
        dg.TableColumn("after", description="as it was left"),
    ]
)

checks_job = dg.define_asset_job(
    "checks",
    selection=dg.AssetSelection.checks(system_checks) | dg.AssetSelection.assets(system_health),
    description="Evaluates every check over all campaigns, tells of errors, and measures the installation.",
    tags={"upkeep": "checks"},
    executor_def=dg.in_process_executor,
)


@dg.op(description="Looks for what nobody moves any more, and makes the one legal step that is missing.")
def reconcile_all(context: dg.OpExecutionContext, adapters: dg.ResourceParam[Adapters]) -> None:
    with as_dagster_failures():
        report = reconcile(
            adapters, adapters.database.now(), lambda run_id: is_over(context.instance, run_id)
        )
    for one in report.those(Done.FAILED):
        context.log.error(f"{one.item}: {one.why} ({one.before})")
    for one in report.mended[:NAMED_FINDINGS]:
        context.log.info(f"{one.item}: {one.subject}: {one.why}; {one.before} -> {one.after}")
    numbers = {
        f"{item}_{done}": number for item, found in report.counts.items() for done, number in found.items()
    }
    totals = {str(done): len(report.those(done)) for done in Done}
    context.add_output_metadata({**totals, **numbers, "findings": _table(_first(report))})


def _first(report: ReconcileReport) -> list[Finding]:
    """What failed or waits for a person stands above what was mended."""
    order = (Done.FAILED, Done.LISTED, Done.WAITS, Done.MENDED, Done.OVERTAKEN)
    return [one for done in order for one in report.those(done)][:NAMED_FINDINGS]


def _table(findings: Iterable[Finding]) -> dg.TableMetadataValue:
    records = [
        dg.TableRecord(
            {
                "item": str(one.item),
                "done": str(one.done),
                "subject": one.subject,
                "campaign": one.campaign,
                "why": one.why,
                "before": one.before,
                "after": one.after,
            }
        )
        for one in findings
    ]
    return dg.MetadataValue.table(records=records, schema=FINDING_COLUMNS)


@dg.job(
    name="reconciliation",
    description="Hourly: what is overdue, forgotten, lost or left over becomes due, free or told. Nothing is"
    " moved back, and running it twice changes nothing.",
    tags={"upkeep": "reconciliation"},
    executor_def=dg.in_process_executor,
)
def reconciliation_job() -> None:
    reconcile_all()


@dg.op(description="Removes old runs of lots and upkeep with their logs, older events, delivered messages.")
def prune_old(
    context: dg.OpExecutionContext,
    adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
) -> None:
    before = datetime.now(UTC) - timedelta(days=operating.run_log_days)
    with as_dagster_failures():
        pruned = prune(context.instance, PRUNED_JOBS, before)
        record = prune_record(adapters.database, operating.delivered_days)
    context.log.info(f"{pruned.runs} runs, {pruned.events} events, {record['messages']} messages removed")
    context.add_output_metadata({"runs": pruned.runs, "events": pruned.events, **record})


@dg.job(
    name="pruning",
    description="Daily: removes runs of lots and upkeep that are older than the setting `run_log_days`, and"
    " of each partition's events all but the newest; never what the window shows of a partition.",
    tags={"upkeep": "pruning"},
    executor_def=dg.in_process_executor,
)
def pruning_job() -> None:
    prune_old()


UPKEEP_JOBS: list[dg.JobDefinition | UnresolvedAssetJobDefinition] = [
    checks_job,
    reconciliation_job,
    pruning_job,
]
#: What runs by itself, all day. Runs that a person started, of assets and backfills, stay.
PRUNED_JOBS = frozenset(job.name for job in (*LOT_JOBS, *UPKEEP_JOBS))
