"""What a campaign's slots show now, and what its videos have cost in units: read for people.

Belongs here: two questions over published rows and usage facts. Does not belong here: rating units to money.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.derivatives import picture_count
from resources.database.schema import attempts, objects, publications, slots, usage_facts


def shown_videos(connection: sa.Connection, campaign: str) -> Sequence[sa.Row[Any]]:
    """One row a slot that shows something: variant, key, size_bytes, facts, pictures."""
    wanted: sa.Select[Any] = (
        sa.select(
            slots.c.variant,
            objects.c.key,
            objects.c.size_bytes,
            objects.c.facts,
            picture_count().label("pictures"),
        )
        .join(publications, publications.c.id == slots.c.publication)
        .join(objects, objects.c.id == slots.c.published_object)
        .join(attempts, attempts.c.id == publications.c.attempt)
        .where(slots.c.campaign == campaign)
    )
    return connection.execute(wanted.order_by(slots.c.variant)).all()


def metered(connection: sa.Connection, campaign: str) -> Mapping[str, int]:
    """The sum of every meter over a campaign's usage facts."""
    wanted = (
        sa.select(usage_facts.c.meter, sa.func.sum(usage_facts.c.quantity))
        .where(usage_facts.c.campaign == campaign)
        .group_by(usage_facts.c.meter)
    )
    return {meter: int(quantity) for meter, quantity in connection.execute(wanted)}


def stored_bytes(connection: sa.Connection, campaign: str) -> int:
    """Bytes of every object that was made for the campaign and is not purged."""
    wanted = sa.select(sa.func.sum(objects.c.size_bytes)).where(
        objects.c.campaign == campaign, objects.c.purged_at.is_(None)
    )
    return int(connection.scalar(wanted) or 0)
