"""`retention_plan`: what would go, as a table that a person can read before anybody approves it (C2).

Belongs here: the asset and how a plan reads. Does not belong here: the plan (`steps.retain.plan`), or running
one: that needs an approval, which only `reelwright retention approve HASH` records.
"""

import dagster as dg

from pipeline.assets.campaign import OWNERS
from pipeline.assets.failures import as_dagster_failures
from pipeline.domain.units import money
from pipeline.steps.answer.retention import PlanView, one_plan
from pipeline.steps.answer.standing import STEP_VERSION
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.retaining import Retaining
from pipeline.steps.retain.tell import tell_plan
from resources.dagster_resources import Adapters, Operating, RetentionTerms

GROUP = "retention"
ACTOR = "retention_sweep"
NAMED = 200

ITEM_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("what", description="kind of thing"),
        dg.TableColumn("object", description="its id, or its key"),
        dg.TableColumn("campaign", description="its partition"),
        dg.TableColumn("bytes", "int", description="that its purge frees"),
        dg.TableColumn("because", description="why it goes"),
        dg.TableColumn("row", description="row of the policy, and its version"),
        dg.TableColumn("since", description="the event that its duration counts from"),
        dg.TableColumn("due", description="when it fell due"),
    ]
)
KEPT_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("what", description="kind of thing"),
        dg.TableColumn("because", description="why it stays"),
        dg.TableColumn("objects", "int", description="how many"),
        dg.TableColumn("bytes", "int", description="how much"),
    ]
)


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"table"},
    code_version=STEP_VERSION,
    metadata={"dagster/column_schema": ITEM_COLUMNS},
)
def retention_plan(
    adapters: dg.ResourceParam[Adapters],
    operating: dg.ResourceParam[Operating],
    retention_terms: dg.ResourceParam[RetentionTerms],
) -> dg.MaterializeResult[None]:
    """What is due under the retention policy, frozen and hashed; **nothing goes by this alone**.

    `goes` names what would be purged and why, `stays` counts everything else by reason. Approve it within a
    day, on a terminal: `reelwright retention approve PLAN`; then the job `retention_run` marks it, and purges
    it once the grace is over. A plan beyond the policy's limits is refused as a whole; `refused` says why.
    """
    retaining = Retaining(adapters, retention_terms.policy, retention_terms.price, ACTOR)
    with as_dagster_failures():
        made = plan(retaining, reason="daily sweep")
        view = one_plan(adapters.database, made.id)
        tell_plan(adapters.database, operating.outlet, view)
    return dg.MaterializeResult(metadata=_metadata(view))


def _metadata(view: PlanView) -> dict[str, dg.MetadataValue]:
    goes = [
        dg.TableRecord(
            {
                "what": one.what,
                "object": one.subject,
                "campaign": one.campaign or "",
                "bytes": one.size_bytes,
                "because": one.reason,
                "row": one.policy_row,
                "since": f"{one.since:%Y-%m-%d}" if one.since else "",
                "due": f"{one.due:%Y-%m-%d}" if one.due else "",
            }
        )
        for one in view.named[:NAMED]
    ]
    stays = [
        dg.TableRecord(
            {
                "what": one["what"],
                "because": one["reason"],
                "objects": one["objects"],
                "bytes": one["size_bytes"],
            }
        )
        for one in view.kept
    ]
    return {
        "plan": dg.MetadataValue.text(view.plan),
        "state": dg.MetadataValue.text(view.state),
        "approve": dg.MetadataValue.text(f"reelwright retention approve {view.plan[:12]}"),
        "things": dg.MetadataValue.int(view.items),
        "bytes": dg.MetadataValue.int(view.size_bytes),
        "saves_a_month": dg.MetadataValue.text(f"{money(view.monthly_saving)} {view.currency or ''}".strip()),
        "refused": dg.MetadataValue.text(view.refused or ""),
        "policy": dg.MetadataValue.text(view.policy_version),
        "goes": dg.MetadataValue.table(records=goes, schema=ITEM_COLUMNS),
        "stays": dg.MetadataValue.table(records=stays, schema=KEPT_COLUMNS),
    }
