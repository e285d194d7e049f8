"""Which lots are wanted now: one open lot a stage that has something due.

Belongs here: asking, and writing down what was requested. Does not belong here: starting a run (`sensors`),
or the work (`carry_out_lot`).

Two that ask at once are safe: the second finds the first one's lot open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from pipeline.domain.follow_ons import Stage
from resources.database.database import Database
from resources.database.due import due_by_stage, waiting_since
from resources.database.lots import Lot, begun_lots, busy_stages, end_lot, request_missing

#: Lots of one stage at a time; a second one could take nothing that the first does not.
LOTS_A_STAGE = 1
#: While a lot of an earlier stage is open or begins, a stage waits for this many items: a run costs seconds …
WORTH_A_RUN = 500
#: … but no item waits longer than this for company.
PATIENCE_SECONDS = 45
SECOND = 1_000_000
#: How the row of a lot ends whose run ended without a word.
LOST_RUN = "lost_run"

ALL_STAGES = tuple(Stage)


def request_lots(database: Database, stages: Collection[Stage] = ALL_STAGES) -> list[Lot]:
    """Open a lot of each of *stages* that is worth a run and has none open; the caller starts their runs."""
    with database.reading() as connection:
        now = database.clock(connection)
        due = due_by_stage(connection, now)
        busy = busy_stages(connection, now, LOTS_A_STAGE)
        wanted: list[Stage] = []
        for stage in sorted(stages, key=ALL_STAGES.index):
            if (
                due[stage]
                and stage not in busy
                and (
                    due[stage] >= WORTH_A_RUN
                    or not _more_is_coming(stage, busy, wanted)
                    or waiting_since(connection, stage) <= now - PATIENCE_SECONDS * SECOND
                )
            ):
                wanted.append(stage)
    return open_lots(database, wanted)


def _more_is_coming(stage: Stage, busy: Collection[Stage], wanted: Collection[Stage]) -> bool:
    """Whether a lot of an earlier stage is open or begins now; one of ingest may begin for receipts alone."""
    bringing = {*busy, *(set(wanted) - {Stage.INGEST})}
    return any(earlier in bringing for earlier in ALL_STAGES[: ALL_STAGES.index(stage)])


def open_lots(database: Database, stages: Collection[Stage]) -> list[Lot]:
    """Open a lot of each of *stages* that has no open one, due or not."""
    return database.run(lambda tx: request_missing(tx, stages, LOTS_A_STAGE)) if stages else []


def close_lost_lots(database: Database, is_over: Callable[[str], bool]) -> int:
    """Close lots whose run *is_over* although they never said so; returns their number."""
    with database.reading() as connection:
        begun = begun_lots(connection, database.clock(connection))
    lost = [Lot(Stage(row.stage), row.number) for row in begun if is_over(row.run_id)]
    for lot in lost:
        database.run(lambda tx, lot=lot: end_lot(tx, lot, {LOST_RUN: 1}))  # type: ignore[misc]
    return len(lost)
