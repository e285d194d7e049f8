"""Mark what an approved plan lets go: from now on the grace runs, and everything still serves (L1, C2).

Belongs here: beginning a plan, and moving its objects from live to marked. Does not belong here: what happens
when the grace is over (`purge`).

Each batch judges its objects anew under their locks; what was changed, held or needed since is skipped with
its reason. A plan that cannot be begun any more skips all that it has not marked: it never widens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from pipeline.domain.lifecycle import Move, ObjectState
from pipeline.domain.retention import DAY, Facts, Verdict, What, judge
from pipeline.steps.retain.approve import missing_roles, require_valid
from pipeline.steps.retain.leftovers import Leftover, changed, judged_leftovers
from pipeline.steps.retain.plan import ERASURE
from pipeline.steps.retain.retaining import BATCH, Retaining
from resources.database import retention_plans as rows
from resources.database.database import Transaction
from resources.database.legal_holds import meet_holds
from resources.database.retention_seen import seen_before
from resources.database.transitions import Transition, apply

ACTOR = "retention"
_MARK = Move(ObjectState.LIVE, ObjectState.MARKED)
#: Things that are no objects.
LEFTOVERS = frozenset({What.ORPHAN_OBJECT, What.TEMPORARY_OBJECT, What.SPOOL_FILE, What.GRANT})
PAUSED = "paused"


def mark(retaining: Retaining, plan: str) -> Counter[str]:
    """Mark the items of an approved plan, batch by batch; counts of `marked`, `skipped` and `paused`.

    Raises NotAllowed when it is not approved by every role that it needs. Marking twice marks nothing new.
    """
    database = retaining.adapters.database
    done: Counter[str] = Counter()
    problem = database.run(lambda tx: _begin(retaining, tx, plan))
    last = 0
    while True:
        with database.reading() as connection:
            batch = rows.items_of(connection, plan, standing=(rows.PLANNED,), after=last, limit=BATCH)
            paused = bool(batch) and any(
                retaining.is_paused(connection, tenant) for tenant in {item.tenant for item in batch}
            )
        if not batch:
            break
        if paused:
            done[PAUSED] += len(batch)
            break
        other = changed(retaining, [item for item in batch if item.what in LEFTOVERS])
        done += database.run(_work(retaining, plan, batch, problem, other))
        last = batch[-1].number
    database.run(rows.end_finished)
    return done


def _work(
    retaining: Retaining, plan: str, batch: Sequence[sa.Row[Any]], problem: str, other: Collection[int]
) -> Callable[[Transaction], Counter[str]]:
    return lambda tx: mark_batch(retaining, tx, plan, batch, problem, other)


def _begin(retaining: Retaining, tx: Transaction, plan: str) -> str:
    """Note that it runs; why nothing more of it may be marked, or nothing."""
    found = rows.locked_plan(tx, plan)
    missing = missing_roles(tx.connection, plan)
    if missing or (found.items and not rows.approvals_of(tx.connection, plan)):
        problem = f"the approval of {', '.join(missing) or 'anybody'} is missing"
        raise NotAllowed(f"plan {plan[:12]}", problem, f"`reelwright retention approve {plan[:12]}`")
    retaining.refuse_wrong_clock(tx.connection, tx.now)
    try:
        require_valid(retaining.policy, found, tx.now)
    except NotAllowed as refusal:
        if found.begun_at is None:
            raise
        return str(refusal).partition(": ")[2]
    rows.begin(tx, plan)
    return ""


def mark_batch(
    retaining: Retaining,
    tx: Transaction,
    plan: str,
    batch: Sequence[sa.Row[Any]],
    problem: str = "",
    other: Collection[int] = (),
) -> Counter[str]:
    """Mark what of *batch* may go. *problem*: why nothing may; *other*: what is another thing by now."""
    found = rows.locked_plan(tx, plan)
    meet_holds(tx)
    locked = rows.lock_objects(tx, [item.subject for item in batch if item.what not in LEFTOVERS])
    batch = rows.lock_items(tx, batch, rows.PLANNED)
    why = (
        dict.fromkeys((item.number for item in batch), problem)
        if problem
        else _kept(retaining, tx, found.kind == ERASURE, batch, locked)
    )
    why |= {number: "changed" for number in other if number not in why}
    marked = [item for item in batch if item.number not in why]
    skipped = [item for item in batch if item.number in why]
    until = tx.now + retaining.policy.grace_days * DAY
    _move(tx, [locked[item.subject] for item in marked if item.subject in locked], found, until)
    rows.settle(tx, marked, rows.MARKED, marked_at=tx.now, purge_after=until)
    rows.settle(tx, skipped, rows.SKIPPED, why, completed_at=tx.now)
    return Counter({rows.MARKED: len(marked), rows.SKIPPED: len(skipped)})


def _move(tx: Transaction, objects: Sequence[sa.Row[Any]], plan: sa.Row[Any], until: int) -> None:
    facts = {"marked_at": tx.now, "purge_after": until}
    detail = {"plan": plan.id, "policy_version": plan.policy_version}
    apply(
        tx,
        [
            Transition("object", row, _MARK, ACTOR, "chosen_by_plan", facts=facts, detail=detail)
            for row in objects
        ],
    )


def _kept(
    retaining: Retaining,
    tx: Transaction,
    erasing: bool,
    batch: Sequence[sa.Row[Any]],
    locked: Mapping[str, sa.Row[Any]],
) -> dict[int, str | None]:
    """Why items of *batch* stay, by their number."""
    reader = retaining.facts(tx.connection, tx.now)
    facts = reader.of(locked.keys())
    going: set[str] = set()
    why: dict[int, str | None] = {}
    leftovers = [item for item in batch if item.what in LEFTOVERS]
    for item in batch:
        if item.what in LEFTOVERS:
            continue
        kept = _changed(item, facts.get(item.subject))
        if not kept:
            verdict = judge(retaining.policy, facts[item.subject], tx.now, going=going, erasing=erasing)
            kept = "" if verdict.goes else str(verdict.reason)
        if kept:
            why[item.number] = kept
        else:
            going.add(item.subject)
    for item, verdict in judged_items(retaining, tx, leftovers):
        if not verdict.goes:
            why[item.number] = str(verdict.reason)
    return why


def _changed(item: sa.Row[Any], facts: Facts | None) -> str:
    if facts is None or facts.state != ObjectState.LIVE:
        return "not_live"
    is_same = (facts.version, facts.size_bytes, facts.key) == (item.seen_version, item.size_bytes, item.key)
    return "" if is_same else "changed"


def judged_items(
    retaining: Retaining, tx: Transaction, items: Sequence[sa.Row[Any]]
) -> list[tuple[sa.Row[Any], Verdict]]:
    """Leftovers of a plan under the rules as they are now, by when they were first seen."""
    known = seen_before(tx.connection, [(item.what, item.subject) for item in items])
    held = retaining.facts(tx.connection, tx.now).held if items else None
    found = []
    for item in items:
        seen = known.get((item.what, item.subject))
        first_seen_at = tx.now if seen is None else seen.first_seen_at
        if item.what == What.GRANT:
            first_seen_at = item.anchor_at  # a grant's own end, which nothing changes any more
        one = Leftover(What(item.what), item.subject, item.tenant, item.size_bytes, 0, first_seen_at)
        assert held is not None  # noqa: S101
        [(_, verdict)] = judged_leftovers(retaining.policy, [one], held, (), tx.now)
        found.append((item, verdict))
    return found
