"""Begin the purge of marked things, or let them be: the one transaction that decides (C4).

Belongs here: the last judgement under all locks, the withdrawal of what is shown, the move to purging. Does
not belong here: deleting (`purge`), or proof of it (`verify`).

Whoever may come to need an object locks its slot or the object itself first; a hold meets every purge at one
row. So what is needed, held or granted by a transaction that commits before this one is seen here, and what
comes after it finds the object purging. Locks are taken in one order: slots, holds, objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import Move, ObjectState
from pipeline.domain.retention import PASSING, Facts, Reason, What, judge
from pipeline.steps.produce.withdraw import withdraw_shown
from pipeline.steps.retain.mark import ACTOR, LEFTOVERS, judged_items
from pipeline.steps.retain.plan import ERASURE
from pipeline.steps.retain.retaining import Retaining
from resources.database import retention_plans as rows
from resources.database.database import Transaction
from resources.database.index_entries import entries_of_objects, take_objects_from_index
from resources.database.legal_holds import meet_holds
from resources.database.purged_objects import own_orphan
from resources.database.retention_facts import FactsReader
from resources.database.schema import attempts, publications, renditions, retention_plans, slots
from resources.database.transitions import Transition, apply

_PURGE = Move(ObjectState.MARKED, ObjectState.PURGING)
_KEEP = Move(ObjectState.MARKED, ObjectState.LIVE)
INDEX = "index_not_told"  #: why an item waits: searches may still find it
MASTER = "master_waits"


@dataclass(frozen=True, slots=True)
class Begun:
    """What one transaction decided about a batch."""

    purging: tuple[sa.Row[Any], ...]
    waiting: tuple[sa.Row[Any], ...]
    kept: tuple[sa.Row[Any], ...]
    entries: tuple[str, ...]  #: that the index is to be told of before the bytes may go


def begin_batch(retaining: Retaining, tx: Transaction, batch: Sequence[sa.Row[Any]]) -> Begun:
    """Decide about marked items of *batch*, masters before their pictures."""
    ids = [item.subject for item in batch if item.what not in LEFTOVERS]
    shown_in = _lock_slots(tx, ids)
    meet_holds(tx)
    locked = rows.lock_objects(tx, ids)
    batch = rows.lock_items(tx, batch, rows.MARKED)
    own = [item for item in batch if item.what not in LEFTOVERS]
    _withdraw(retaining, tx, own, shown_in)
    deciding = _Deciding(retaining, tx, locked, _erasures(tx, batch))
    for item in own:
        deciding.decide(item)
    for item, verdict in judged_items(retaining, tx, [one for one in batch if one.what in LEFTOVERS]):
        deciding.decide_leftover(item, "" if verdict.goes else str(verdict.reason))
    return deciding.settle()


def _lock_slots(tx: Transaction, ids: Sequence[str]) -> dict[str, sa.Row[Any]]:
    """Slots in which these objects are or may be shown, locked; by the object that each shows."""
    mine = (
        sa.select(renditions.c.slot)
        .join(attempts, attempts.c.rendition == renditions.c.id)
        .where(attempts.c.object.in_(ids))
    )
    shows = sa.select(publications.c.slot).where(
        publications.c.object.in_(ids), publications.c.until_at.is_(None)
    )
    either = sa.or_(slots.c.id.in_(mine), slots.c.id.in_(shows))
    wanted = sa.select(slots).where(either).order_by(slots.c.id).with_for_update()
    return {row.published_object: row for row in tx.connection.execute(wanted) if row.published_object}


def _withdraw(
    retaining: Retaining, tx: Transaction, items: Sequence[sa.Row[Any]], shown_in: dict[str, sa.Row[Any]]
) -> None:
    """What is shown and goes is taken from view first; its bytes wait for index and grants (C4)."""
    shown = [item for item in items if item.subject in shown_in]
    if not shown:
        return
    facts = retaining.facts(tx.connection, tx.now).of([item.subject for item in shown])
    erasures = _erasures(tx, shown)
    for item in shown:
        mine = facts.get(item.subject)
        erasing = item.plan in erasures
        if mine is not None and judge(retaining.policy, mine, tx.now, erasing=erasing).goes:
            withdraw_shown(tx, shown_in[item.subject], actor=ACTOR, reason=f"purge_by_{item.policy_row}")


def _erasures(tx: Transaction, items: Sequence[sa.Row[Any]]) -> frozenset[str]:
    """Those of the items' plans that a person's request made."""
    wanted = sa.select(retention_plans.c.id).where(
        retention_plans.c.id.in_({item.plan for item in items}), retention_plans.c.kind == ERASURE
    )
    return frozenset(tx.connection.scalars(wanted))


class _Deciding:
    """One batch under its locks."""

    def __init__(
        self,
        retaining: Retaining,
        tx: Transaction,
        locked: dict[str, sa.Row[Any]],
        erasures: frozenset[str],
    ) -> None:
        self.retaining, self.tx, self.locked, self.erasures = retaining, tx, locked, erasures
        self.reader: FactsReader = retaining.facts(tx.connection, tx.now)
        self.facts: dict[str, Facts] = self.reader.of(locked.keys())
        gone = [name for name, mine in self.facts.items() if self._goes_by(mine)]
        take_objects_from_index(tx, gone)
        self.entries = entries_of_objects(tx.connection, gone)
        self.purging: list[sa.Row[Any]] = []
        self.kept: list[sa.Row[Any]] = []
        self.waiting: list[sa.Row[Any]] = []
        self.why: dict[int, str | None] = {}
        self.moved: set[str] = set()

    def _goes_by(self, mine: Facts) -> bool:
        """Whether it leaves the index: also while its last grant still runs."""
        if mine.what is None or mine.is_shown or mine.what in (What.DERIVATIVE, What.SOURCE_ASSET):
            return False
        verdict = judge(self.retaining.policy, mine, self.tx.now, erasing=bool(self.erasures))
        return verdict.goes or verdict.reason in PASSING

    def decide(self, item: sa.Row[Any]) -> None:
        mine = self.facts.get(item.subject)
        if mine is None or mine.state != ObjectState.MARKED:
            self._keep(item, "not_marked")
            return
        verdict = judge(
            self.retaining.policy, mine, self.tx.now, going=self.moved, erasing=item.plan in self.erasures
        )
        if verdict.goes:
            self._waits_or_goes(item, mine)
        elif verdict.reason in PASSING:
            self._wait(item, str(verdict.reason))
        else:
            self._keep(item, str(verdict.reason))

    def _waits_or_goes(self, item: sa.Row[Any], mine: Facts) -> None:
        masters = mine.masters if mine.what is What.DERIVATIVE else ()
        if any(one.state == "marked" and one.id not in self.moved for one in masters):
            self._wait(item, MASTER)
        elif mine.is_shown:
            self._wait(item, str(Reason.SHOWN))
        elif item.subject in self.entries:
            self._wait(item, INDEX)
        else:
            self.purging.append(item)
            self.moved.add(item.subject)

    def decide_leftover(self, item: sa.Row[Any], kept: str) -> None:
        if kept:
            self._keep(item, kept)
        elif item.what == What.ORPHAN_OBJECT and not own_orphan(self.tx, item):
            self._keep(item, str(Reason.NEEDED))
        else:
            self.purging.append(item)

    def _keep(self, item: sa.Row[Any], why: str) -> None:
        self.kept.append(item)
        self.why[item.number] = why

    def _wait(self, item: sa.Row[Any], why: str) -> None:
        self.waiting.append(item)
        self.why[item.number] = why

    def settle(self) -> Begun:
        tx = self.tx
        self._move(self.purging, _PURGE, "grace_over")
        self._move([item for item in self.kept if self._is_marked(item)], _KEEP, None)
        for plan in sorted({item.plan for item in (*self.purging, *self.kept, *self.waiting)}):
            rows.settle(tx, _of(plan, self.purging), rows.PURGING)
            rows.settle(tx, _of(plan, self.kept), rows.SKIPPED, self.why, completed_at=tx.now)
            rows.settle(tx, _of(plan, self.waiting), rows.MARKED, self.why)
        entries = tuple(sorted({name for names in self.entries.values() for name in names}))
        return Begun(tuple(self.purging), tuple(self.waiting), tuple(self.kept), entries)

    def _is_marked(self, item: sa.Row[Any]) -> bool:
        return item.subject in self.locked and self.locked[item.subject].state == ObjectState.MARKED

    def _move(self, items: Sequence[sa.Row[Any]], move: Move, reason: str | None) -> None:
        facts = {} if move is _PURGE else {"marked_at": None, "purge_after": None}
        apply(
            self.tx,
            [
                Transition(
                    "object", self.locked[item.subject], move, ACTOR, reason or str(self.why[item.number]),
                    facts=facts, detail={"plan": item.plan},
                )
                for item in items
                if item.subject in self.locked
            ],
        )  # fmt: skip


def _of(plan: str, items: Sequence[sa.Row[Any]]) -> list[sa.Row[Any]]:
    return [item for item in items if item.plan == plan]
