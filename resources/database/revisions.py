"""Revisions with their sources, wishes and slots: recorded at intake, found again for work.

Belongs here: statements over `revisions`, `revision_sources`, and the rows that a revision brings along.
Does not belong here: moves (they are transitions), or which rendition a wish names (`planning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import SourceSetState
from pipeline.domain.renditions import Variant, slot_id, wish_id
from resources.database.database import Transaction
from resources.database.schema import audit, campaigns, revision_sources, revisions, slots, wishes
from resources.database.upsert import insert_for


@dataclass(frozen=True, slots=True)
class NewRevision:
    """What intake records of a brief before any source is looked at."""

    id: str
    campaign: sa.Row[Any]
    number: int
    creative: Mapping[str, Any]
    creative_sha256: str
    sources: Sequence[str]
    variants: Sequence[Variant]
    submit_mode: str
    intake_path: str
    intake_folder: str
    actor: str


def insert_revision(tx: Transaction, new: NewRevision) -> None:
    """The revision in `uploaded`, its sources as missing, its wishes, and slots that are new."""
    tx.connection.execute(
        sa.insert(revisions).values(
            id=new.id,
            tenant=new.campaign.tenant,
            campaign=new.campaign.id,
            number=new.number,
            creative=new.creative,
            creative_sha256=new.creative_sha256,
            state=str(SourceSetState.UPLOADED),
            submit_mode=new.submit_mode,
            intake_path=new.intake_path,
            intake_folder=new.intake_folder,
            receipt_due_at=tx.now,
            actor=new.actor,
            created_at=tx.now,
        )
    )
    write_creation(
        tx, "revision", new.campaign.tenant, [new.id], SourceSetState.UPLOADED, new.actor, "delivered"
    )
    _insert_sources(tx, new)
    _insert_slots(tx, new)
    _insert_wishes(tx, new)


def write_creation(
    tx: Transaction, kind: str, tenant: str, ids: Sequence[str], state: str, actor: str, reason: str
) -> None:
    """The first link of each subject's audit chain: version 0, from nothing."""
    tx.connection.execute(
        sa.insert(audit),
        [
            {
                "tenant": tenant,
                "subject_kind": kind,
                "subject_id": subject,
                "from_state": None,
                "to_state": str(state),
                "version": 0,
                "entity_version": 0,
                "operation_id": tx.operation_id,
                "actor": actor,
                "reason": reason,
                "at": tx.now,
            }
            for subject in ids
        ],
    )


def _insert_sources(tx: Transaction, new: NewRevision) -> None:
    tx.connection.execute(
        sa.insert(revision_sources),
        [
            {
                "revision": new.id,
                "position": position,
                "tenant": new.campaign.tenant,
                "name": name,
                "standing": "missing",
            }
            for position, name in enumerate(new.sources)
        ],
    )


def _insert_slots(tx: Transaction, new: NewRevision) -> None:
    tenant, slug = new.campaign.tenant, new.campaign.slug
    insert = insert_for(tx.connection, slots)
    tx.connection.execute(
        insert.on_conflict_do_nothing(),
        [
            {
                "id": slot_id(tenant, slug, variant),
                "tenant": tenant,
                "campaign": new.campaign.id,
                "variant": variant.key,
            }
            for variant in new.variants
        ],
    )


def _insert_wishes(tx: Transaction, new: NewRevision) -> None:
    tenant, slug = new.campaign.tenant, new.campaign.slug
    tx.connection.execute(
        sa.insert(wishes),
        [
            {
                "id": wish_id(tenant, slug, new.number, variant),
                "tenant": tenant,
                "campaign": new.campaign.id,
                "revision": new.id,
                "slot": slot_id(tenant, slug, variant),
                "variant": variant.key,
            }
            for variant in new.variants
        ],
    )


def revision_by_id(connection: sa.Connection, revision: str) -> sa.Row[Any] | None:
    return connection.execute(sa.select(revisions).where(revisions.c.id == revision)).one_or_none()


def revisions_in(
    tx: Transaction, campaign: str, states: Sequence[SourceSetState], *, below: int
) -> Sequence[sa.Row[Any]]:
    """Revisions of *campaign* with a smaller number than *below* that stand in one of *states*."""
    wanted = sa.select(revisions).where(
        revisions.c.campaign == campaign,
        revisions.c.number < below,
        revisions.c.state.in_([str(state) for state in states]),
    )
    return tx.connection.execute(wanted.order_by(revisions.c.number).with_for_update()).all()


def sources_of(connection: sa.Connection, revision: str) -> Sequence[sa.Row[Any]]:
    """The sources of a revision in scene order."""
    wanted = sa.select(revision_sources).where(revision_sources.c.revision == revision)
    return connection.execute(wanted.order_by(revision_sources.c.position)).all()


def revision_with_newest(connection: sa.Connection, revision: str) -> sa.Row[Any]:
    """A revision that exists, with the newest number of its campaign."""
    wanted = sa.select(revisions, campaigns.c.newest_revision).join(
        campaigns, campaigns.c.id == revisions.c.campaign
    )
    return connection.execute(wanted.where(revisions.c.id == revision)).one()


def due_revisions(
    connection: sa.Connection, now: int, limit: int, campaign: str | None = None
) -> Sequence[sa.Row[Any]]:
    """Revisions that are due, longest first, whatever their state: a message may come after a withdrawal."""
    wanted = sa.select(revisions).where(revisions.c.next_action_at <= now)
    if campaign is not None:
        wanted = wanted.where(revisions.c.campaign == campaign)
    return connection.execute(wanted.order_by(revisions.c.next_action_at).limit(limit)).all()


def nothing_due(tx: Transaction, revision: sa.Row[Any]) -> None:
    """Nothing is to be done about it now; a later due time stays."""
    tx.connection.execute(
        sa.update(revisions)
        .where(revisions.c.id == revision.id, revisions.c.next_action_at == revision.next_action_at)
        .values(next_action_at=None)
    )


def dropped_slots(connection: sa.Connection, revision: sa.Row[Any]) -> Sequence[str]:
    """Variants that stay in view although *revision*, approved, wants them no more."""
    if revision.state != SourceSetState.APPROVED or revision.number != revision.newest_revision:
        return []
    wanted = sa.select(wishes.c.slot).where(wishes.c.revision == revision.id)
    shown = sa.select(slots.c.variant).where(
        slots.c.campaign == revision.campaign,
        slots.c.published_rendition.is_not(None),
        slots.c.id.not_in(wanted),
    )
    return connection.scalars(shown.order_by(slots.c.variant)).all()


def move_delivery(tx: Transaction, revision: sa.Row[Any], *, path: str, folder: str) -> None:
    """The same brief came again from another place: look for its sources, and answer, there."""
    tx.connection.execute(
        sa.update(revisions)
        .where(revisions.c.id == revision.id)
        .values(intake_path=path, intake_folder=folder)
    )


def want_receipt(tx: Transaction, revision: str) -> None:
    tx.connection.execute(
        sa.update(revisions).where(revisions.c.id == revision).values(receipt_due_at=tx.now)
    )


def due_receipts(connection: sa.Connection, now: int, limit: int) -> Sequence[sa.Row[Any]]:
    """Revisions whose receipt is to be written again, with the newest number of their campaign."""
    wanted = (
        sa.select(revisions, campaigns.c.newest_revision)
        .join(campaigns, campaigns.c.id == revisions.c.campaign)
        .where(revisions.c.receipt_due_at <= now)
        .order_by(revisions.c.receipt_due_at)
        .limit(limit)
    )
    return connection.execute(wanted).all()


def receipt_written(tx: Transaction, revision: sa.Row[Any], sha256: str) -> None:
    """Its receipt says what held when it fell due; a later due time stays."""
    tx.connection.execute(
        sa.update(revisions)
        .where(revisions.c.id == revision.id, revisions.c.receipt_due_at == revision.receipt_due_at)
        .values(receipt_due_at=None, receipt_sha256=sha256)
    )
