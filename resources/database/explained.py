"""Everything that the rows say of one video, kept after its bytes went (C3).

Belongs here: which rows are a video's, each kind one statement. Does not belong here: what they prove
(`pipeline.steps.answer.explain_proof`), or what it cost (`resources.database.explained_money`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.schema import (
    attempts,
    decisions,
    derivatives,
    index_entries,
    legal_holds,
    object_parents,
    objects,
    observations,
    publications,
    remote_jobs,
    renditions,
    retention_approvals,
    retention_items,
    retention_plans,
    retention_receipts,
    revision_sources,
    revisions,
    selections,
    sends,
    slot_wants,
    source_assets,
    wishes,
)

Rows = Sequence[sa.Row[Any]]


def object_named(connection: sa.Connection, name: str) -> sa.Row[Any] | None:
    """By id or key; of several that held a key one after the other, the newest."""
    named = sa.select(objects).where(sa.or_(objects.c.id == name, objects.c.key == name))
    return connection.execute(
        named.order_by(objects.c.created_at.desc(), objects.c.id).limit(1)
    ).one_or_none()


def attempts_with(connection: sa.Connection, object_: sa.Row[Any]) -> Rows:
    """Attempts that own the object, or what it was made from; of a source, those of videos that show it."""
    parents = sa.select(object_parents.c.parent).where(object_parents.c.object == object_.id)
    owned = attempts.c.object.in_(parents) | (attempts.c.object == object_.id)
    found = connection.execute(sa.select(attempts).where(owned).order_by(attempts.c.id)).all()
    if found:
        return found
    hashes = sa.select(source_assets.c.sha256).where(
        source_assets.c.object.in_(parents) | (source_assets.c.object == object_.id)
    )
    shown = [renditions.c.sources.cast(sa.Text).contains(one) for one in connection.scalars(hashes)]
    selected = sa.select(attempts).join(renditions, renditions.c.selected_attempt == attempts.c.id)
    mine = sa.and_(renditions.c.tenant == object_.tenant, sa.or_(sa.false(), *shown))
    return connection.execute(selected.where(mine).order_by(attempts.c.id)).all()


def rendition_row(connection: sa.Connection, rendition: str) -> sa.Row[Any]:
    return connection.execute(sa.select(renditions).where(renditions.c.id == rendition)).one()


def wanting_revisions(connection: sa.Connection, campaign: str, rendition: str, first: str) -> Rows:
    """Revisions that wished for it, each with `origin`: made there, or carried from an earlier one."""
    wished = sa.and_(wishes.c.revision == revisions.c.id, wishes.c.rendition == rendition)
    wanted = sa.select(revisions, wishes.c.origin).outerjoin(wishes, wished)
    mine = sa.or_(wishes.c.id.is_not(None), revisions.c.id == first)
    here = wanted.where(revisions.c.campaign == campaign, mine)
    return connection.execute(here.order_by(revisions.c.number)).all()


def sources_of(connection: sa.Connection, tenant: str, sha256s: Collection[str]) -> Rows:
    """Source assets with their object's `key`, `state`, `size_bytes`, `purged_at`."""
    kept = [objects.c[name] for name in ("key", "state", "size_bytes", "purged_at", "store_version")]
    wanted = sa.select(source_assets, *kept).join(objects, objects.c.id == source_assets.c.object)
    mine = sa.and_(source_assets.c.tenant == tenant, source_assets.c.sha256.in_(sha256s))
    return connection.execute(wanted.where(mine)).all()


def set_hashes(connection: sa.Connection, revision: str) -> list[str]:
    """SHA-256 of a revision's sources in scene order."""
    joined = sa.select(source_assets.c.sha256).join(
        revision_sources, revision_sources.c.source_asset == source_assets.c.id
    )
    mine = joined.where(revision_sources.c.revision == revision)
    return list(connection.scalars(mine.order_by(revision_sources.c.position)))


def decided(connection: sa.Connection, subjects: Collection[str]) -> Rows:
    """About revisions and attempts; naming the kinds lets their index serve."""
    kinds = decisions.c.subject_kind.in_(["revision", "attempt"])
    mine = sa.select(decisions).where(kinds, decisions.c.subject_id.in_(subjects))
    return connection.execute(mine.order_by(decisions.c.id)).all()


def attempts_of(connection: sa.Connection, rendition: str) -> Rows:
    mine = sa.select(attempts).where(attempts.c.rendition == rendition)
    return connection.execute(mine.order_by(attempts.c.number)).all()


def told_of(connection: sa.Connection, ids: Collection[str]) -> tuple[Rows, Rows, Rows]:
    """Sends, remote jobs and what providers said of attempts."""
    sent, jobs, seen = (sa.select(one).where(one.c.attempt.in_(ids)) for one in _TOLD)
    return (
        connection.execute(sent.order_by(sends.c.attempt, sends.c.n)).all(),
        connection.execute(jobs.order_by(remote_jobs.c.attempt, remote_jobs.c.at)).all(),
        connection.execute(seen.order_by(observations.c.id)).all(),
    )


_TOLD = (sends, remote_jobs, observations)


def selections_of(connection: sa.Connection, rendition: str) -> Rows:
    mine = sa.select(selections).where(selections.c.rendition == rendition)
    return connection.execute(mine.order_by(selections.c.number)).all()


def objects_of(connection: sa.Connection, ids: Collection[str]) -> Rows:
    return connection.execute(sa.select(objects).where(objects.c.id.in_(ids)).order_by(objects.c.id)).all()


def derivatives_of(connection: sa.Connection, tenant: str, sha256s: Collection[str]) -> Rows:
    kept = [objects.c[name] for name in ("key", "sha256", "state", "purged_at")]
    wanted = sa.select(derivatives, *kept).join(objects, objects.c.id == derivatives.c.object)
    mine = sa.and_(derivatives.c.tenant == tenant, derivatives.c.source_sha256.in_(sha256s))
    return connection.execute(
        wanted.where(mine).order_by(derivatives.c.transform_version, derivatives.c.name)
    ).all()


def entries_of(connection: sa.Connection, rendition: str) -> Rows:
    mine = sa.select(index_entries).where(index_entries.c.rendition == rendition)
    return connection.execute(mine.order_by(index_entries.c.id)).all()


def shown_of(connection: sa.Connection, slot: str, rendition: str) -> tuple[Rows, Rows]:
    """Publications of the slot that showed the video or ended its show; who had the slot want it."""
    shown = sa.select(publications.c.number).where(
        publications.c.slot == slot, publications.c.rendition == rendition
    )
    ended = publications.c.number.in_(sa.select(shown.subquery().c.number + 1))
    mine = sa.and_(publications.c.slot == slot, sa.or_(publications.c.rendition == rendition, ended))
    moves = connection.execute(sa.select(publications).where(mine).order_by(publications.c.number)).all()
    wanted = sa.select(slot_wants).where(slot_wants.c.slot == slot, slot_wants.c.rendition == rendition)
    return moves, connection.execute(wanted.order_by(slot_wants.c.number)).all()


def retention_of(connection: sa.Connection, ids: Collection[str]) -> tuple[Rows, Rows, Rows]:
    """Items of plans about these objects with their plan's policy, approvals of those plans, receipts."""
    plan = retention_plans.c
    policy = [plan.kind, plan.policy_version.label("policy"), plan.policy_sha256, plan.made_by, plan.made_at]
    items = connection.execute(
        sa.select(retention_items, *policy)
        .join(retention_plans, plan.id == retention_items.c.plan)
        .where(retention_items.c.subject.in_(ids))
        .order_by(retention_items.c.planned_at, retention_items.c.plan, retention_items.c.number)
    ).all()
    mine = retention_approvals.c.plan.in_({one.plan for one in items})
    approved = sa.select(retention_approvals).where(mine).order_by(retention_approvals.c.at)
    receipts = sa.select(retention_receipts).where(retention_receipts.c.subject.in_(ids))
    return (
        items,
        connection.execute(approved).all(),
        connection.execute(receipts.order_by(retention_receipts.c.number)).all(),
    )


def hash_of_receipt(connection: sa.Connection, number: int) -> str:
    """Of the receipt *number*, which the next one names; empty before the first."""
    mine = sa.select(retention_receipts.c.sha256).where(retention_receipts.c.number == number)
    return connection.scalar(mine) or ""


def holds_on(connection: sa.Connection, tenant: str, subjects: Collection[str]) -> Rows:
    mine = sa.and_(legal_holds.c.tenant == tenant, legal_holds.c.subject.in_(subjects))
    return connection.execute(sa.select(legal_holds).where(mine).order_by(legal_holds.c.placed_at)).all()
