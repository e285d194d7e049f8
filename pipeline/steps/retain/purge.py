"""Purge what is marked and whose grace is over: begin, tell the index, delete, look again, receipt (C2, C4).

Belongs here: the order of it, batch by batch, the pause read before each. Does not belong here: what may go
(`begin`), or the proof (`verify`).

Each step is durable before the next, and each may be done again: a crash leaves things marked or purging, and
the next purge takes up the purging ones first. It never takes on what no plan marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import StoreUnavailable
from pipeline.steps.produce.telling import tell
from pipeline.steps.retain.begin import INDEX, Begun, begin_batch
from pipeline.steps.retain.mark import PAUSED
from pipeline.steps.retain.retaining import BATCH, Retaining
from pipeline.steps.retain.verify import Place, Proof, delete_and_verify, receipt
from resources.database import retention_plans as rows
from resources.database.database import Transaction

WAITING, KEPT, LEFT = "waiting", "kept", "not_gone"


def purge(retaining: Retaining) -> Counter[str]:
    """Purge all that is due, of every plan; counts of `purged`, `waiting`, `kept`, `not_gone`, `paused`.

    What the store does not let go now stays purging and is tried again by the next call. Raises NotAllowed
    for a clock that may be wrong.
    """
    database = retaining.adapters.database
    done: Counter[str] = Counter()
    after = ("", 0)
    with database.reading() as connection:
        now = database.clock(connection)
        retaining.refuse_wrong_clock(connection, now)
    while True:
        with database.reading() as connection:
            batch = rows.due_items(connection, now, BATCH, after)
            held_up = {
                tenant
                for tenant in {item.tenant for item in batch}
                if retaining.is_paused(connection, tenant)
            }
        if not batch:
            break
        after = (batch[-1].plan, batch[-1].number)
        done[PAUSED] += sum(item.tenant in held_up for item in batch)
        done += purge_batch(retaining, [item for item in batch if item.tenant not in held_up])
    database.run(rows.end_finished)
    return +done


def purge_batch(retaining: Retaining, batch: Sequence[sa.Row[Any]]) -> Counter[str]:
    """One batch from its decision to its receipts."""
    purging = [item for item in batch if item.standing == rows.PURGING]
    done: Counter[str] = Counter()
    begun = _begin(retaining, [item for item in batch if item.standing == rows.MARKED])
    purging += begun.purging
    done[WAITING], done[KEPT] = len(begun.waiting), len(begun.kept)
    if begun.entries:
        tell(retaining.adapters.database, retaining.adapters.index, begun.entries)
        again = _begin(retaining, begun.waiting)
        purging += again.purging
        done[WAITING], done[KEPT] = len(again.waiting), done[KEPT] + len(again.kept)
    return done + _finish(retaining, purging)


def _begin(retaining: Retaining, items: Sequence[sa.Row[Any]]) -> Begun:
    if not items:
        return Begun((), (), (), ())
    return retaining.adapters.database.run(lambda tx: begin_batch(retaining, tx, items))


def _finish(retaining: Retaining, items: Sequence[sa.Row[Any]]) -> Counter[str]:
    if not items:
        return Counter()
    try:
        proofs, left = delete_and_verify(retaining, items)
    except StoreUnavailable as error:
        proofs, left = {}, {(item.plan, item.number): error.reason for item in items}
    retaining.adapters.database.run(_settled(items, proofs, left))
    return Counter({rows.PURGED: len(proofs), LEFT: len(left)})


def _settled(
    items: Sequence[sa.Row[Any]], proofs: Mapping[Place, Proof], left: Mapping[Place, str]
) -> Callable[[Transaction], None]:
    def work(tx: Transaction) -> None:
        receipt(tx, [item for item in items if (item.plan, item.number) in proofs], proofs)
        for plan in sorted({plan for plan, _ in left}):
            still = [item for item in items if item.plan == plan and (plan, item.number) in left]
            rows.settle(tx, still, rows.PURGING, {item.number: left[plan, item.number] for item in still})

    return work


__all__ = ["INDEX", "KEPT", "LEFT", "WAITING", "purge", "purge_batch"]
