"""What lies around and is only listed: older transform versions, objects that nobody needs (E6).

Belongs here: finding and measuring it. Does not belong here: removing it, which is retention's alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.objects import SERVING_STATES
from resources.database.schema import attempts, derivatives, object_uses, objects, remote_jobs

Rows = Sequence[sa.Row[Any]]


def older_transforms(connection: sa.Connection, in_force: str) -> Rows:
    """`version`, `pictures`, `size_bytes` and `behind` (attempts that still show it), of every other one."""
    behind = (
        sa.select(sa.func.count())
        .where(attempts.c.derived_version == derivatives.c.transform_version)
        .correlate(derivatives)
        .scalar_subquery()
    )
    wanted: sa.Select[Any] = (
        sa.select(
            derivatives.c.transform_version.label("version"),
            sa.func.count().label("pictures"),
            sa.func.sum(derivatives.c.size_bytes).label("size_bytes"),
            behind.label("behind"),
        )
        .join(objects, objects.c.id == derivatives.c.object)
        .where(derivatives.c.transform_version != in_force, objects.c.state.in_(SERVING_STATES))
    )
    by = derivatives.c.transform_version
    return connection.execute(wanted.group_by(by).order_by(by)).all()


def unused_objects(connection: sa.Connection, *, before: int, limit: int) -> Rows:
    """Live objects, older than *before*, that no revision, attempt or set of pictures needs."""
    is_used = sa.exists().where(object_uses.c.object == objects.c.id, object_uses.c.until_at.is_(None))
    wanted = sa.select(objects).where(
        objects.c.state.in_(SERVING_STATES), objects.c.created_at < before, ~is_used
    )
    return connection.execute(wanted.order_by(objects.c.id).limit(limit)).all()


def known_jobs(connection: sa.Connection, provider: str, handles: Sequence[str]) -> set[str]:
    """Those of *handles* that are kept as remote jobs of *provider*, bound or as evidence."""
    wanted = sa.select(remote_jobs.c.handle).where(
        remote_jobs.c.provider == provider, remote_jobs.c.handle.in_(handles)
    )
    return set(connection.scalars(wanted))
