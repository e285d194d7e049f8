"""What planning writes: renditions with their first attempts, the wishes that name them, what slots want.

Belongs here: statements in batches, all inside the transaction of an approval or a take. Does not belong
here: which rendition a wish names (`pipeline.steps.produce.planning`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.lifecycle import AttemptState, Submission
from resources.database.database import Transaction
from resources.database.revisions import write_creation
from resources.database.schema import (
    attempts,
    batch_items,
    batches,
    renditions,
    revision_sources,
    selections,
    slot_wants,
    slots,
    source_assets,
    wishes,
)

_UNSENT = sa.or_(
    attempts.c.state == str(AttemptState.QUEUED),
    sa.and_(
        attempts.c.state == str(AttemptState.SUBMITTING),
        attempts.c.submission == str(Submission.NOT_SENT),
    ),
)


@dataclass(frozen=True, slots=True)
class NewRendition:
    """A rendition and its first attempt, as columns."""

    rendition: Mapping[str, Any]
    attempt: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Naming:
    """A wish learns its rendition. `absorbed` keeps its entity version rising when it had another one."""

    wish: str
    rendition: str
    origin: str  #: made or carried
    absorbed: int = 0


@dataclass(frozen=True, slots=True)
class Want:
    """One move of a slot's wanted pointer."""

    slot: sa.Row[Any]
    rendition: str | None


def wishes_of(tx: Transaction, revision: str) -> Sequence[sa.Row[Any]]:
    wanted = sa.select(wishes).where(wishes.c.revision == revision)
    return tx.connection.execute(wanted.order_by(wishes.c.id).with_for_update()).all()


def source_sha256s(tx: Transaction, revision: str) -> tuple[str, ...]:
    """The source set's bytes in scene order."""
    wanted = (
        sa.select(source_assets.c.sha256)
        .join(revision_sources, revision_sources.c.source_asset == source_assets.c.id)
        .where(revision_sources.c.revision == revision)
        .order_by(revision_sources.c.position)
    )
    return tuple(tx.connection.scalars(wanted))


def existing_renditions(
    tx: Transaction, campaign: str, variants: Collection[str]
) -> dict[str, list[sa.Row[Any]]]:
    """Every rendition of these variants, oldest take first, with how its selected attempt stands."""
    wanted = (
        sa.select(
            renditions,
            attempts.c.state.label("attempt_state"),
            attempts.c.submission.label("attempt_submission"),
        )
        .outerjoin(attempts, attempts.c.id == renditions.c.selected_attempt)
        .where(renditions.c.campaign == campaign, renditions.c.variant.in_(variants))
        .order_by(renditions.c.take)
    )
    found: dict[str, list[sa.Row[Any]]] = {variant: [] for variant in variants}
    for row in tx.connection.execute(wanted):
        found[row.variant].append(row)
    return found


def insert_renditions(tx: Transaction, new: Sequence[NewRendition], *, actor: str, reason: str) -> None:
    """Renditions, each with attempt 1, selected; nothing is due before its outbox message is delivered."""
    if not new:
        return
    tx.connection.execute(sa.insert(renditions), [dict(one.rendition) for one in new])
    tx.connection.execute(sa.insert(attempts), [dict(one.attempt) for one in new])
    tenant = str(new[0].rendition["tenant"])
    ids = [str(one.attempt["id"]) for one in new]
    write_creation(tx, "attempt", tenant, ids, AttemptState.QUEUED, actor, reason)
    tx.connection.execute(
        sa.insert(selections),
        [
            {
                "rendition": one.rendition["id"],
                "number": 1,
                "tenant": tenant,
                "attempt": one.attempt["id"],
                "actor": actor,
                "reason": "first",
                "operation_id": tx.operation_id,
                "at": tx.now,
            }
            for one in new
        ],
    )


def name_renditions(tx: Transaction, namings: Sequence[Naming]) -> None:
    if not namings:
        return
    rises = wishes.c.entity_version + 1 + sa.bindparam("absorbed")
    tx.connection.execute(
        sa.update(wishes)
        .where(wishes.c.id == sa.bindparam("wish"))
        .values(
            rendition=sa.bindparam("named"),
            origin=sa.bindparam("how"),
            take_wanted=0,
            entity_version=rises,
        ),
        [
            {"wish": one.wish, "named": one.rendition, "how": one.origin, "absorbed": one.absorbed}
            for one in namings
        ],
    )


def want_takes(tx: Transaction, wish_ids: Sequence[str]) -> None:
    """Remember that these wishes want a fresh rendition once their revision is approved."""
    tx.connection.execute(
        sa.update(wishes)
        .where(wishes.c.id.in_(wish_ids), wishes.c.take_wanted == 0)
        .values(take_wanted=1, entity_version=wishes.c.entity_version + 1)
    )


def lock_slots(tx: Transaction, campaign: str) -> dict[str, sa.Row[Any]]:
    """Every slot of *campaign* by id, locked in one order."""
    wanted = sa.select(slots).where(slots.c.campaign == campaign).order_by(slots.c.id).with_for_update()
    return {row.id: row for row in tx.connection.execute(wanted)}


def move_wants(tx: Transaction, moves: Sequence[Want], *, actor: str, reason: str) -> None:
    """Move wanted pointers by compare-and-set, each move kept (T6); LostRace when one was moved meanwhile."""
    for move in moves:
        changed = tx.connection.execute(
            sa.update(slots)
            .where(slots.c.id == move.slot.id, slots.c.wants == move.slot.wants)
            .values(
                wanted_rendition=move.rendition,
                wants=slots.c.wants + 1,
                entity_version=slots.c.entity_version + 1,
            )
        ).rowcount
        if changed != 1:
            raise LostRace("slot", move.slot.id, "stale")
    if moves:
        tx.connection.execute(sa.insert(slot_wants), [_kept(tx, one, actor, reason) for one in moves])


def _kept(tx: Transaction, move: Want, actor: str, reason: str) -> dict[str, Any]:
    return {
        "slot": move.slot.id,
        "number": move.slot.wants + 1,
        "tenant": move.slot.tenant,
        "rendition": move.rendition,
        "actor": actor,
        "reason": reason,
        "operation_id": tx.operation_id,
        "at": tx.now,
    }


def lock_unsent(tx: Transaction, rendition_ids: Collection[str]) -> Sequence[sa.Row[Any]]:
    """Attempts of these renditions of which nothing was sent, locked so that none is sent meanwhile."""
    wanted = sa.select(attempts).where(attempts.c.rendition.in_(rendition_ids), _UNSENT)
    return tx.connection.execute(wanted.order_by(attempts.c.id).with_for_update()).all()


def open_batch(tx: Transaction, revision: sa.Row[Any], *, kind: str, completion: str, actor: str) -> str:
    """A batch of *revision*, numbered within it; returns its id."""
    before = tx.connection.scalar(
        sa.select(sa.func.count()).select_from(batches).where(batches.c.revision == revision.id)
    )
    name = f"{revision.id}/batch-{int(before or 0) + 1}"
    tx.connection.execute(
        sa.insert(batches).values(
            id=name,
            tenant=revision.tenant,
            campaign=revision.campaign,
            revision=revision.id,
            kind=kind,
            completion=completion,
            actor=actor,
            created_at=tx.now,
        )
    )
    return name


def insert_items(tx: Transaction, items: Sequence[Mapping[str, Any]]) -> None:
    if items:
        tx.connection.execute(sa.insert(batch_items), [dict(item) for item in items])


def selected_outputs(tx: Transaction, campaign: str) -> Sequence[str]:
    """Selected attempts of *campaign* that are indexed and whose rendition its slot wants or shows."""
    wanted = (
        sa.select(attempts.c.id)
        .join(renditions, renditions.c.selected_attempt == attempts.c.id)
        .join(slots, slots.c.id == renditions.c.slot)
        .where(
            renditions.c.campaign == campaign,
            attempts.c.state == str(AttemptState.INDEXED),
            renditions.c.id.in_([slots.c.wanted_rendition, slots.c.published_rendition]),
        )
    )
    return tx.connection.scalars(wanted.order_by(attempts.c.id)).all()
