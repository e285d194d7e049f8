"""The jobs of retention: the daily plan, and running what was approved.

Belongs here: the jobs and what their runs tell. Does not belong here: approving, as the window knows no user.
Nothing here purges a thing of which no approval is recorded.
"""

import dagster as dg

from pipeline.assets.failures import as_dagster_failures
from pipeline.assets.retention import retention_plan
from pipeline.steps.retain.retaining import Retaining
from pipeline.steps.retain.run import run
from resources.dagster_resources import Adapters, RetentionTerms

ACTOR = "retention_run"

retention_plan_job = dg.define_asset_job(
    "retention_planning",
    selection=dg.AssetSelection.assets(retention_plan),
    description="Plans what is due under the retention policy; nothing goes by it.",
    tags={"upkeep": "retention"},
    executor_def=dg.in_process_executor,
)


@dg.op(description="Marks what approved plans let go, and purges what was marked a grace ago.")
def run_approved(
    context: dg.OpExecutionContext,
    adapters: dg.ResourceParam[Adapters],
    retention_terms: dg.ResourceParam[RetentionTerms],
) -> None:
    retaining = Retaining(adapters, retention_terms.policy, retention_terms.price, ACTOR)
    with as_dagster_failures():
        ran = run(retaining)
    for refusal in ran.refused:
        context.log.warning(f"not begun: {refusal}")
    context.add_output_metadata({**ran.counts, "not_begun": len(ran.refused)})


@dg.job(
    name="retention_run",
    description="Runs the plans whose approval is recorded: marks them, and purges what was marked a grace"
    " ago, with a receipt for each. Without an approval it does nothing.",
    tags={"upkeep": "retention"},
    executor_def=dg.in_process_executor,
)
def retention_run_job() -> None:
    run_approved()
