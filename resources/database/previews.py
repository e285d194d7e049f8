"""Which object a preview shows: one owned object, or a picture that was made of it.

Belongs here: these reads. Does not belong here: who may see it, or the bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from pipeline.domain.lifecycle import ObjectState
from resources.database.schema import derivatives, objects

_COLUMNS = [
    objects.c[name] for name in ("id", "tenant", "kind", "key", "sha256", "size_bytes", "media_type", "state")
]


def object_row(connection: sa.Connection, object_id: str) -> sa.Row[Any] | None:
    return connection.execute(sa.select(*_COLUMNS).where(objects.c.id == object_id)).one_or_none()


def picture_row(
    connection: sa.Connection, tenant: str, source_sha256: str, name: str, version: str
) -> sa.Row[Any] | None:
    """The picture *name* of these bytes under transform *version*, else under the newest that has it."""
    of_it = sa.and_(
        derivatives.c.tenant == tenant,
        derivatives.c.source_sha256 == source_sha256,
        derivatives.c.name == name,
    )
    is_other = sa.case((derivatives.c.transform_version == version, 0), else_=1)
    found = (
        sa.select(*_COLUMNS)
        .join(derivatives, derivatives.c.object == objects.c.id)
        .where(of_it)
        .order_by(is_other, objects.c.created_at.desc(), objects.c.id)
        .limit(1)
    )
    return connection.execute(found).one_or_none()


def ids_by_key(connection: sa.Connection, keys: Collection[str]) -> dict[str, str]:
    """The unpurged object under each of *keys*."""
    held = sa.select(objects.c.key, objects.c.id).where(
        objects.c.key.in_(keys), objects.c.state != str(ObjectState.PURGED)
    )
    return {row.key: row.id for row in connection.execute(held)}
