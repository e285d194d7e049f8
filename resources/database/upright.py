"""Upright, cleaned pictures: the derivative of a source asset that is sent on to providers (I2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from resources.database.objects import SERVING_STATES
from resources.database.schema import derivatives, objects

UPRIGHT = "upright"  #: the derivative's name


@dataclass(frozen=True, slots=True)
class UprightPicture:
    key: str
    sha256: str
    media_type: str


def upright_pictures(
    connection: sa.Connection, tenant: str, source_sha256s: Sequence[str]
) -> dict[str, UprightPicture]:
    """By the hash of the source asset; the newest version where there are several."""
    rows = connection.execute(
        sa.select(derivatives.c.source_sha256, objects.c.key, objects.c.sha256, objects.c.media_type)
        .join(objects, objects.c.id == derivatives.c.object)
        .where(
            derivatives.c.tenant == tenant,
            derivatives.c.name == UPRIGHT,
            derivatives.c.source_sha256.in_(source_sha256s),
            objects.c.state.in_(SERVING_STATES),
        )
        .order_by(objects.c.created_at)
    )
    return {row.source_sha256: UprightPicture(row.key, row.sha256, row.media_type) for row in rows}
