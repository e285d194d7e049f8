"""What backfills work on: owned videos with older pictures, entries of campaigns, slots with older tags (E3).

Belongs here: finding and leasing it, for any set of campaigns. Does not belong here: making pictures, telling
an index, moving a pointer (steps), or what is due by itself (`claims`).

A backfill takes what nobody leases and says who has the rest; it makes nothing due and mints nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.lifecycle import OWNED_STATES
from resources.database.claims import LEASE_SECONDS, LONGEST_LEASE_SECONDS, SECOND
from resources.database.database import Transaction
from resources.database.index_entries import TOMBSTONE
from resources.database.objects import SERVING_STATES
from resources.database.schema import (
    attempts,
    campaigns,
    derivatives,
    index_entries,
    object_uses,
    objects,
    publications,
    slots,
)

Rows = Sequence[sa.Row[Any]]


def campaigns_named(connection: sa.Connection, wanted: Collection[str] | None) -> list[str]:
    """*wanted* in order, or every campaign for None; UnknownSubject names one that there is not."""
    everyone = sa.select(campaigns.c.id).order_by(campaigns.c.id)
    if wanted is None:
        return list(connection.scalars(everyone))
    found = list(connection.scalars(everyone.where(campaigns.c.id.in_(wanted))))
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        raise UnknownSubject("campaign", ", ".join(unknown))
    return found


def lacks_pictures(version: str, names: Collection[str]) -> sa.ColumnElement[bool]:
    """It was derived under another transform version, or its set of this one is not whole."""
    there = _pictures(derivatives.c.transform_version == version, derivatives.c.name.in_(names))
    return sa.or_(attempts.c.derived_version != version, there < len(names))


def has_holes(version: str, names: Collection[str]) -> sa.ColumnElement[bool]:
    """A picture of the set that it says it has is gone. Of an older set nobody knows the full number."""
    own = derivatives.c.transform_version == attempts.c.derived_version
    listed = (
        sa.select(sa.func.count())
        .where(_of_source(), own)
        .correlate(attempts, objects)
        .scalar_subquery()
    )  # fmt: skip
    there = _pictures(own)
    is_short = sa.and_(attempts.c.derived_version == version, there < len(names))
    return sa.or_(there == 0, there < listed, is_short)


def _pictures(*which: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    """Pictures of the attempt's bytes that serve and that the attempt is known to need."""
    picture, need = objects.alias("picture"), object_uses.alias("need")
    is_needed = sa.and_(
        need.c.object == picture.c.id, need.c.user_kind == "attempt", need.c.user_id == attempts.c.id
    )
    return (
        sa.select(sa.func.count())
        .select_from(derivatives.join(picture, picture.c.id == derivatives.c.object).join(need, is_needed))
        .where(_of_source(), picture.c.state.in_(SERVING_STATES), *which)
        .correlate(attempts, objects)
        .scalar_subquery()
    )


def _of_source() -> sa.ColumnElement[bool]:
    return sa.and_(derivatives.c.tenant == objects.c.tenant, derivatives.c.source_sha256 == objects.c.sha256)


def derived_attempts(
    connection: sa.Connection,
    which: sa.ColumnElement[bool],
    *,
    campaign_ids: Collection[str] | None,
    after: str,
    limit: int,
) -> Rows:
    """Attempts that own a video which serves, were derived before and fulfil *which*, in the order of ids."""
    wanted = (
        sa.select(attempts)
        .join(objects, objects.c.id == attempts.c.object)
        .where(
            attempts.c.id > after,
            attempts.c.state.in_([str(state) for state in OWNED_STATES]),
            attempts.c.derived_version.is_not(None),
            objects.c.state.in_(SERVING_STATES),
            which,
        )
    )
    if campaign_ids is not None:
        wanted = wanted.where(attempts.c.campaign.in_(campaign_ids))
    return connection.execute(wanted.order_by(attempts.c.id).limit(limit)).all()


def is_leased(row: sa.Row[Any], now: int) -> bool:
    """Whether somebody works on it; a lease longer than the longest is an accident of clocks."""
    return bool(now <= row.lease_until <= now + LONGEST_LEASE_SECONDS * SECOND)


def lease(tx: Transaction, wanted: Rows, owner: str) -> Rows:
    """Lease those of *wanted* that are still as they were read; what is due stays so, nothing becomes due."""
    seen = sa.tuple_(attempts.c.id, attempts.c.lease_token, attempts.c.entity_version)
    still = seen.in_([(row.id, row.lease_token, row.entity_version) for row in wanted])
    return tx.connection.execute(
        sa.update(attempts)
        .where(attempts.c.id.in_([row.id for row in wanted]), still)
        .values(
            lease_owner=owner,
            lease_token=attempts.c.lease_token + 1,
            lease_until=tx.now + LEASE_SECONDS * SECOND,
        )
        .returning(attempts)
    ).all()


def entries_of_campaign(connection: sa.Connection, campaign: str) -> Rows:
    """Every entry of the index that belongs to *campaign*, those that are to go too."""
    wanted = sa.select(index_entries).where(index_entries.c.campaign == campaign)
    return connection.execute(wanted.order_by(index_entries.c.id)).all()


def pass_by(tx: Transaction, entry: sa.Row[Any], seen_version: int) -> bool:
    """Raise an entry above what the index holds of it, which takes nothing lower; False when it was changed
    since it was read, and somebody else tells it."""
    raised = tx.connection.execute(
        sa.update(index_entries)
        .where(index_entries.c.id == entry.id, index_entries.c.version == entry.version)
        .values(
            version=max(seen_version, entry.version) + 1, next_action_at=tx.now, tries=0, refused_reason=None
        )
    )
    return raised.rowcount == 1


def is_gone(entry: sa.Row[Any]) -> bool:
    return bool(entry.standing == TOMBSTONE)


def slots_with_other_tags(connection: sa.Connection, campaign: str, tags_version: int) -> Rows:
    """`id`, `attempt` of slots of *campaign* whose publication carries other required tags."""
    wanted: sa.Select[Any] = (
        sa.select(slots.c.id, publications.c.attempt)
        .join(publications, publications.c.id == slots.c.publication)
        .where(slots.c.campaign == campaign, publications.c.tags_version != tags_version)
    )
    return connection.execute(wanted.order_by(slots.c.id)).all()
