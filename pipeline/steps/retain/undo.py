"""Undo within grace: what a plan marked returns to live, and this version of the policy lets it be (C2).

Belongs here: that command. Does not belong here: bringing back what was purged: nobody can.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pipeline.domain.errors import NotAllowed
from pipeline.domain.lifecycle import Move, ObjectState
from pipeline.steps.retain.retaining import Retaining
from resources.database import retention_plans as rows
from resources.database.database import Transaction
from resources.database.legal_holds import pictures_of
from resources.database.transitions import Transition, apply

_BACK = Move(ObjectState.MARKED, ObjectState.LIVE)


@dataclass(frozen=True, slots=True)
class Undone:
    plan: str
    subjects: tuple[str, ...]
    too_late: int  #: items of the plan, among those asked for, whose purge had begun


def undo(retaining: Retaining, name: str, subjects: Collection[str] = (), *, reason: str) -> Undone:
    """Undo a plan, or what it says of *subjects* (ids or keys) with the pictures made of them.

    Raises NotAllowed when nothing of it is marked any more; a plan that was not begun simply lapses.
    """

    def work(tx: Transaction) -> Undone:
        plan = rows.plan_named(tx.connection, name)
        items = rows.items_of(tx.connection, plan.id, standing=(rows.MARKED, rows.PURGING))
        wanted = {item.subject for item in items if item.subject in subjects or item.key in subjects}
        wanted |= set(pictures_of(tx.connection, sorted(wanted)))
        asked = [item for item in items if not subjects or item.subject in wanted]
        locked = rows.lock_objects(tx, [item.subject for item in asked])
        mine = rows.lock_items(tx, asked, rows.MARKED)
        if not mine:
            problem = "nothing of it is marked: it was not begun, was undone before, or its grace is over"
            raise NotAllowed(f"plan {plan.id[:12]}", problem, f"`reelwright retention status {plan.id[:12]}`")
        objects = [locked[item.subject] for item in mine if item.subject in locked]
        facts = {"marked_at": None, "purge_after": None}
        apply(
            tx,
            [
                Transition("object", row, _BACK, retaining.actor, f"undone: {reason}", facts=facts)
                for row in objects
            ],
        )
        rows.settle(tx, mine, rows.UNDONE, {item.number: reason for item in mine}, completed_at=tx.now)
        rows.exempt(
            tx,
            {item.subject: item.tenant for item in mine},
            policy_version=plan.policy_version,
            actor=retaining.actor,
            reason=reason,
        )
        rows.end_finished(tx)
        return Undone(plan.id, tuple(item.subject for item in mine), len(asked) - len(mine))

    return retaining.adapters.database.run(work)
