"""Carry out one requested lot from beginning to end, and write down what came of it.

Belongs here: the lot's row around its work, and what a lot's run does right after it. Does not belong here:
the work itself (`produce.stages`), or what Dagster is told (`mark_partitions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.request_lots import request_lots
from pipeline.steps.produce.lot import LotReport
from pipeline.steps.produce.receipts import write_due_receipts
from pipeline.steps.produce.stages import run_lot
from resources.adapters import Adapters
from resources.database.database import Transaction
from resources.database.due import open_lot
from resources.database.lots import Lot, begin_lot, end_lot

BROKEN = "broken"

#: What a lot makes due and begins itself: starting another run for it takes longer than the work.
AT_ONCE: Mapping[Stage, Stage] = MappingProxyType({Stage.INGEST: Stage.SUBMIT})
#: No more than this, so that the pool of the first stage is soon free again (E4); the rest is the next lot's.
AT_ONCE_ITEMS = 20


def carry_out_lot(
    adapters: Adapters, stage: Stage, number: int | None, run_id: str, items: int | None = None
) -> LotReport:
    """Run lot *number* of *stage* (None: one that nobody requested), then relay what it left to say.

    It takes on at most *items*, or as many as a lot does.

    What breaks it is raised after its row was closed; the items it had claimed come free with their leases.
    """
    lot = adapters.database.run(lambda tx: _begin(tx, stage, number, run_id))
    counts = {BROKEN: 1}
    try:
        report = run_lot(adapters, stage, items=items)
        counts = report.counts
    finally:
        adapters.database.run(lambda tx: end_lot(tx, lot, counts))
    relay_outbox(adapters.database)
    return report


def follow_at_once(adapters: Adapters, stage: Stage, run_id: str) -> list[LotReport]:
    """Carry out a small lot of what a lot of *stage* made due, where no lot of that is open; else nothing.

    It has a row like every lot, so that nobody requests another meanwhile.
    """
    if stage not in AT_ONCE:
        return []
    return [
        carry_out_lot(adapters, lot.stage, lot.number, run_id, AT_ONCE_ITEMS)
        for lot in request_lots(adapters.database, [AT_ONCE[stage]])
    ]


def conclude(adapters: Adapters) -> None:
    """After Dagster was told: receipts of what became complete, which are not worth a run of their own."""
    relay_outbox(adapters.database)
    write_due_receipts(adapters.database, adapters.store)


def _begin(tx: Transaction, stage: Stage, number: int | None, run_id: str) -> Lot:
    lot = Lot(stage, open_lot(tx, stage) if number is None else number)
    begin_lot(tx, lot, run_id)
    return lot
