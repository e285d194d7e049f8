"""Carry out one requested lot from beginning to end, and write down what came of it.

Belongs here: the lot's row around its work. Does not belong here: the work itself (`produce.stages`), or what
Dagster is told (`mark_partitions`).
"""

from __future__ import annotations

from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.lot import LotReport
from pipeline.steps.produce.stages import run_lot
from resources.adapters import Adapters
from resources.database.database import Transaction
from resources.database.due import open_lot
from resources.database.lots import Lot, begin_lot, end_lot

BROKEN = "broken"


def carry_out_lot(adapters: Adapters, stage: Stage, number: int | None, run_id: str) -> LotReport:
    """Run lot *number* of *stage* (None: one that nobody requested), then relay what it left to say.

    What breaks it is raised after its row was closed; the items it had claimed come free with their leases.
    """
    lot = adapters.database.run(lambda tx: _begin(tx, stage, number, run_id))
    counts = {BROKEN: 1}
    try:
        report = run_lot(adapters, stage)
        counts = report.counts
    finally:
        adapters.database.run(lambda tx: end_lot(tx, lot, counts))
    relay_outbox(adapters.database)
    return report


def _begin(tx: Transaction, stage: Stage, number: int | None, run_id: str) -> Lot:
    lot = Lot(stage, open_lot(tx, stage) if number is None else number)
    begin_lot(tx, lot, run_id)
    return lot
