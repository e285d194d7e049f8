"""From an approved source set to renditions: what is made, what is carried forward, what is wanted (L5).

Belongs here: naming a rendition for every wish, in the transaction of the approval or take. Does not belong
here: deciding that a set is approved (`moderate`), or sending anything (`submit`).

The same wish names the same rendition however often it is planned: its id is its fingerprint. What exists is
carried and costs nothing, whatever became of it; only a take asks for a fresh one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import OWNED_STATES, AttemptState, Submission
from pipeline.domain.outcomes import HoldFate
from pipeline.steps.produce.answers import ended
from pipeline.steps.produce.making import CARRIED, MADE, PlannedWish, PlanningRules, making_of, name_rendition
from resources.database import planning as rows
from resources.database.database import Transaction
from resources.database.objects import SOURCES_AGAIN, hold_sources
from resources.database.settings import in_force
from resources.database.transitions import message, post
from resources.database.wish_facts import weights

__all__ = ["Plan", "PlannedWish", "PlanningRules", "plan_revision", "plan_takes"]

#: What wakes a carried rendition that its slot wants anew, by the state of its selected attempt.
_WAKES: Mapping[str, Topic] = MappingProxyType(
    {AttemptState.STORED: Topic.OWNED, AttemptState.INDEXED: Topic.INDEXED}
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan came to; every list in the order of variants."""

    batch: str
    wishes: tuple[PlannedWish, ...]
    dropped: tuple[str, ...] = ()  #: slots of variants that this revision wants no more
    cancelled: tuple[str, ...] = ()  #: attempts that nobody wants and that were not sent

    @property
    def made(self) -> int:
        return sum(one.origin == MADE for one in self.wishes)


def plan_revision(tx: Transaction, revision: sa.Row[Any], rules: PlanningRules, *, actor: str) -> Plan:
    """Name a rendition for every wish of an approved revision, in the transaction that approves it.

    The caller holds the campaign's lock. Takes that were asked for before the approval are fresh ones.
    """
    wishes = rows.wishes_of(tx, revision.id)
    slots = rows.lock_slots(tx, revision.campaign)
    fresh = frozenset(wish.id for wish in wishes if wish.take_wanted)
    plan = _plan_wishes(tx, revision, wishes, slots, rules, fresh=fresh, kind="submission", actor=actor)
    wanted = {wish.slot for wish in wishes}
    dropped = [slot for slot in slots.values() if slot.id not in wanted]
    cancelled = _drop(tx, dropped, actor)
    return Plan(plan.batch, plan.wishes, tuple(slot.id for slot in dropped), (*plan.cancelled, *cancelled))


def plan_takes(
    tx: Transaction, revision: sa.Row[Any], wishes: Sequence[sa.Row[Any]], rules: PlanningRules, *, actor: str
) -> Plan:
    """A fresh rendition for each of *wishes* of an approved revision: on purpose, and paid for."""
    slots = rows.lock_slots(tx, revision.campaign)
    fresh = frozenset(wish.id for wish in wishes)
    return _plan_wishes(tx, revision, wishes, slots, rules, fresh=fresh, kind="take", actor=actor)


def _plan_wishes(
    tx: Transaction,
    revision: sa.Row[Any],
    wishes: Sequence[sa.Row[Any]],
    slots: Mapping[str, sa.Row[Any]],
    rules: PlanningRules,
    *,
    fresh: frozenset[str],
    kind: str,
    actor: str,
) -> Plan:
    settings = in_force(tx.connection, revision.campaign, tx.now)
    if settings is None:
        raise NotAllowed(revision.id, "its campaign has no settings", "deliver the brief again")
    making = making_of(tx, revision, rules, settings.currency)
    existing = rows.existing_renditions(tx, revision.campaign, [wish.variant for wish in wishes])
    planned: list[PlannedWish] = []
    new: list[rows.NewRendition] = []
    for wish in wishes:
        one, made = name_rendition(tx, making, wish, existing[wish.variant], fresh=wish.id in fresh)
        planned.append(one)
        new += made
    if new and not hold_sources(tx, revision.tenant, making.sources):
        raise NotAllowed(revision.id, "its source images were purged", SOURCES_AGAIN)
    rows.insert_renditions(tx, new, actor=actor, reason=kind)
    _name_all(tx, wishes, planned)
    batch = rows.open_batch(tx, revision, kind=kind, completion=settings.completion, actor=actor)
    standing = {row.id: row for found in existing.values() for row in found}
    rows.insert_items(
        tx, [_item(tx, batch, slots[w.slot], p, standing) for w, p in zip(wishes, planned, strict=True)]
    )
    wants = [
        rows.Want(slots[wish.slot], one.rendition)
        for wish, one in zip(wishes, planned, strict=True)
        if slots[wish.slot].wanted_rendition != one.rendition
    ]
    rows.move_wants(tx, wants, actor=actor, reason=kind)
    _post_messages(tx, revision, new, wants, standing)
    return Plan(batch, tuple(planned), cancelled=_cancel_unwanted(tx, wants, actor))


def _name_all(tx: Transaction, wishes: Sequence[sa.Row[Any]], planned: Sequence[PlannedWish]) -> None:
    """A wish that leaves a rendition takes along what that one added to its entity version."""
    changed = [
        (wish, one) for wish, one in zip(wishes, planned, strict=True) if wish.rendition != one.rendition
    ]
    weight = weights(tx.connection, [wish.rendition for wish, _ in changed])
    rows.name_renditions(
        tx,
        [
            rows.Naming(one.wish, one.rendition, one.origin, weight.get(wish.rendition, 0))
            for wish, one in changed
        ],
    )


def _item(
    tx: Transaction, batch: str, slot: sa.Row[Any], one: PlannedWish, standing: Mapping[str, sa.Row[Any]]
) -> dict[str, Any]:
    """B1's four facts; of a carried rendition those that hold already first held for this batch now."""
    carried = standing.get(one.rendition) if one.origin == CARRIED else None
    state = carried.attempt_state if carried else None
    facts = {
        "accepted_at": carried is not None and carried.attempt_submission == Submission.ACCEPTED,
        "media_at": state in OWNED_STATES,
        "processed_at": state == AttemptState.INDEXED,
        "usable_at": slot.published_rendition == one.rendition,
    }
    item = {"batch": batch, "wish": one.wish, "tenant": slot.tenant, "rendition": one.rendition}
    return item | {name: tx.now if holds else None for name, holds in facts.items()}


def _post_messages(
    tx: Transaction,
    revision: sa.Row[Any],
    new: Sequence[rows.NewRendition],
    wants: Sequence[rows.Want],
    standing: Mapping[str, sa.Row[Any]],
) -> None:
    """New attempts may be sent; a carried output that its slot wants anew goes on from where it rests."""
    tenant = revision.tenant
    messages = [message(tx, Topic.APPROVED, tenant, str(one.attempt["id"]), "1") for one in new]
    for want in wants:
        carried = standing.get(want.rendition or "")
        if carried is not None and carried.attempt_state in _WAKES:
            topic, key = _WAKES[carried.attempt_state], f"{want.slot.id}@{want.slot.wants + 1}"
            messages.append(message(tx, topic, tenant, carried.selected_attempt, key))
    messages.append(message(tx, Topic.WISH_CHANGED, tenant, revision.campaign, tx.operation_id))
    post(tx, messages)


def _drop(tx: Transaction, slots: Sequence[sa.Row[Any]], actor: str) -> tuple[str, ...]:
    """Slots that no wish names keep what they show and want nothing else."""
    wants = [
        rows.Want(slot, slot.published_rendition)
        for slot in slots
        if slot.wanted_rendition != slot.published_rendition
    ]
    rows.move_wants(tx, wants, actor=actor, reason="dropped")
    return _cancel_unwanted(tx, wants, actor)


def _cancel_unwanted(tx: Transaction, wants: Sequence[rows.Want], actor: str) -> tuple[str, ...]:
    """Attempts that were not sent and whose rendition no slot wants any more; what was sent runs on (L4)."""
    left = [want.slot.wanted_rendition for want in wants if want.slot.wanted_rendition is not None]
    if not left:
        return ()
    results = [
        ended(
            tx, row, AttemptState.CANCELLED, None, "unwanted",
            actor=actor, hold=HoldFate.RELEASE, take_over=True,
        )
        for row in rows.lock_unsent(tx, left)
    ]  # fmt: skip
    return tuple(result.subject for result in results if result.word == AttemptState.CANCELLED)
