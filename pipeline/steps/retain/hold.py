"""Place and release legal holds: at once, and against a purge that is under way (C1, C4).

Belongs here: those commands, and returning to live what the hold reaches. Does not belong here: what a hold
reaches (`resources.database.legal_holds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.lifecycle import Move, ObjectState
from pipeline.domain.retention import Scope
from pipeline.steps.retain.retaining import Retaining
from resources.database import retention_plans as rows
from resources.database.database import Transaction
from resources.database.legal_holds import NewHold, exists, place_hold, release_hold
from resources.database.retention_facts import BEGUN
from resources.database.schema import objects, retention_items
from resources.database.transitions import Transition, apply

_BACK = Move(ObjectState.MARKED, ObjectState.LIVE)
HELD = "held"
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Placed:
    id: str
    returned: tuple[str, ...]  #: objects that were marked, and are live again
    too_late: tuple[str, ...]  #: objects whose purge had begun: the hold does not keep them


def place(
    retaining: Retaining, tenant: str, scope: Scope, subject: str, *, matter: str, reason: str
) -> Placed:
    """Hold everything that *subject* reaches. Raises UnknownSubject for what is not this tenant's."""

    def work(tx: Transaction) -> Placed:
        if not exists(tx.connection, tenant, scope, subject):
            raise UnknownSubject(str(scope), subject, "name something that the tenant has delivered")
        name = place_hold(tx, NewHold(tenant, matter, scope, subject, retaining.actor, reason))
        reached = _reached(retaining, tx, tenant)
        returned = tuple(name for name, state in reached.items() if state == ObjectState.MARKED)
        _return(retaining, tx, returned)
        late = tuple(name for name, state in reached.items() if state == ObjectState.PURGING)
        return Placed(name, returned, late)

    return retaining.adapters.database.run(work)


def release(retaining: Retaining, hold: str, *, reason: str) -> None:
    """Raises UnknownSubject when no such hold is active. What is due goes into the next plan."""
    done = retaining.adapters.database.run(
        lambda tx: release_hold(tx, hold, actor=retaining.actor, reason=reason)
    )
    if not done:
        raise UnknownSubject("active hold", hold, "`reelwright hold list` names them")


def _reached(retaining: Retaining, tx: Transaction, tenant: str) -> dict[str, str]:
    """Objects of *tenant* that are on their way out and that some active hold reaches, by their state."""
    going = sa.select(objects.c.id).where(
        objects.c.tenant == tenant, objects.c.state.in_([ObjectState.MARKED, ObjectState.PURGING])
    )
    ids = list(tx.connection.scalars(going.order_by(objects.c.id)))
    reader = retaining.facts(tx.connection, tx.now)
    found: dict[str, str] = {}
    for start in range(0, len(ids), _CHUNK):
        facts = reader.of(ids[start : start + _CHUNK], BEGUN)
        found |= {one.id: one.state for one in facts.values() if one.matter}
    return found


def _return(retaining: Retaining, tx: Transaction, names: tuple[str, ...]) -> None:
    """Marked objects are live again, and their items say why."""
    locked = rows.lock_objects(tx, names)
    facts: dict[str, Any] = {"marked_at": None, "purge_after": None}
    marked = [row for row in locked.values() if row.state == ObjectState.MARKED]
    apply(tx, [Transition("object", row, _BACK, retaining.actor, HELD, facts=facts) for row in marked])
    wanted = sa.select(retention_items).where(
        retention_items.c.subject.in_([row.id for row in marked]), retention_items.c.standing == rows.MARKED
    )
    items = tx.connection.execute(wanted).all()
    for plan in sorted({item.plan for item in items}):
        mine = [item for item in items if item.plan == plan]
        rows.settle(tx, mine, rows.SKIPPED, {one.number: HELD for one in mine}, completed_at=tx.now)
