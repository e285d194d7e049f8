"""What each stage's lot does: one table from stage to work, for lots, command line, tests and benchmarks.

Belongs here: handing the adapters to each step. Does not belong here: when a lot runs (`sensors`), or what
any step does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.reconcile_unknown import reconcile_unknown
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.retry import retry_due
from pipeline.steps.produce.derive import derive_group
from pipeline.steps.produce.index import sync_index
from pipeline.steps.produce.ingest import LOT_BRIEFS, ingest_lot
from pipeline.steps.produce.inputs import Inputs
from pipeline.steps.produce.lot import LOT_ITEMS, LotReport, work_lot
from pipeline.steps.produce.moderate import moderate_due
from pipeline.steps.produce.planning import PlanningRules
from pipeline.steps.produce.poll import BUDGET_SECONDS, PollReport, poll
from pipeline.steps.produce.publish import publish_group
from pipeline.steps.produce.receipts import write_due_receipts
from pipeline.steps.produce.retrieve import retrieve_group
from pipeline.steps.produce.sources import Intake
from pipeline.steps.produce.spool import sweep_spool
from pipeline.steps.produce.submit import Submitting, submit_lot
from resources.adapters import Adapters
from resources.database.claims import claim_stage


def run_lot(
    adapters: Adapters, stage: Stage, campaign: str | None = None, items: int | None = None
) -> LotReport:
    """One lot of *stage*: claim what is due and work on it until the lot is full or nothing is due.

    With *campaign* it takes only that one's items, whatever else is due. A lot is full at *items*.
    """
    return LOTS[stage](adapters, campaign, LOT_ITEMS if items is None else items)


def planning_rules(adapters: Adapters) -> PlanningRules:
    return PlanningRules(adapters.terms, adapters.profile.version)


def intake_of(adapters: Adapters, actor: str = "intake") -> Intake:
    return Intake(adapters.database, adapters.store, adapters.sandbox, adapters.terms, adapters.spool, actor)


def poll_tick(adapters: Adapters, budget_seconds: float = BUDGET_SECONDS) -> PollReport:
    """One tick of the poller: look for lost submissions, then at the remote jobs that are due."""
    began = time.monotonic()
    found = reconcile_unknown(adapters.database, _submitting(adapters))
    left = budget_seconds - (time.monotonic() - began)
    report = poll(adapters.database, adapters.providers, adapters.terms, budget_seconds=left)
    report.counts += Counter({f"lost_submission_{word}": number for word, number in found.items()})
    return report


def _submitting(adapters: Adapters) -> Mapping[str, Submitting]:
    inputs = Inputs(adapters.database, adapters.store, adapters.spool)
    return {
        name: Submitting(adapters.database, adapters.providers[name], terms, inputs, "reconciler")
        for name, terms in adapters.terms.items()
    }


def _ingest(adapters: Adapters, campaign: str | None, items: int) -> LotReport:
    """Briefs, then what became complete is judged at once, then receipts."""
    ingested = ingest_lot(intake_of(adapters), limit=min(items, LOT_BRIEFS), campaign=campaign)
    relay_outbox(adapters.database)
    judged = moderate_due(adapters.database, adapters.moderation, planning_rules(adapters), campaign=campaign)
    relay_outbox(adapters.database)
    write_due_receipts(adapters.database, adapters.store)
    return _together(Stage.INGEST, ingested, judged)


def _submit(adapters: Adapters, campaign: str | None, items: int) -> LotReport:
    retried = retry_due(adapters.database, adapters.terms)
    relay_outbox(adapters.database)
    submitted = submit_lot(
        adapters.database,
        adapters.providers,
        adapters.terms,
        adapters.store,
        adapters.spool,
        items=items,
        campaign=campaign,
    )
    return _together(Stage.SUBMIT, retried, submitted)


def _retrieve(adapters: Adapters, campaign: str | None, items: int) -> LotReport:
    """What dead workers left in the spool goes first: a full disk would stop everybody."""
    sweep_spool(adapters.database, adapters.spool)
    return work_lot(
        adapters.database,
        Stage.RETRIEVE,
        lambda tx, owner, limit: claim_stage(tx, Stage.RETRIEVE, owner, limit, campaign),
        lambda rows: retrieve_group(
            adapters.database,
            rows,
            providers=adapters.providers,
            terms=adapters.terms,
            store=adapters.store,
            sandbox=adapters.sandbox,
            profile=adapters.profile,
            spool=adapters.spool,
        ),
        items=items,
    )


def _derive(adapters: Adapters, campaign: str | None, items: int) -> LotReport:
    return work_lot(
        adapters.database,
        Stage.DERIVE,
        lambda tx, owner, limit: claim_stage(tx, Stage.DERIVE, owner, limit, campaign),
        lambda rows: derive_group(
            adapters.database,
            rows,
            store=adapters.store,
            sandbox=adapters.sandbox,
            transforms=adapters.transforms,
            spool=adapters.spool,
        ),
        items=items,
    )


def _publish(adapters: Adapters, campaign: str | None, items: int) -> LotReport:
    """Entries that lag behind first: a withdrawal is not kept waiting by publications."""
    sync_index(adapters.database, adapters.index)
    return work_lot(
        adapters.database,
        Stage.PUBLISH,
        lambda tx, owner, limit: claim_stage(tx, Stage.PUBLISH, owner, limit, campaign),
        lambda rows: publish_group(adapters.database, rows, index=adapters.index),
        items=items,
    )


def _together(stage: Stage, *reports: LotReport) -> LotReport:
    results = tuple(result for report in reports for result in report.results)
    return LotReport(stage, results, sum(report.seconds for report in reports))


LOTS: Mapping[Stage, Callable[[Adapters, str | None, int], LotReport]] = MappingProxyType(
    {
        Stage.INGEST: _ingest,
        Stage.SUBMIT: _submit,
        Stage.RETRIEVE: _retrieve,
        Stage.DERIVE: _derive,
        Stage.PUBLISH: _publish,
    }
)
