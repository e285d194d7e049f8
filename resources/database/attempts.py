"""Reading attempts and the renditions they are for, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.schema import attempts, renditions


def attempts_by_id(connection: sa.Connection, ids: Sequence[str]) -> dict[str, sa.Row[Any]]:
    found = connection.execute(sa.select(attempts).where(attempts.c.id.in_(ids)))
    return {row.id: row for row in found}


def durations_of(connection: sa.Connection, rows: Iterable[sa.Row[Any]]) -> dict[str, int]:
    """The wanted seconds of each attempt row's rendition, by rendition id."""
    wanted = sa.select(renditions.c.id, renditions.c.duration_seconds)
    found = connection.execute(wanted.where(renditions.c.id.in_({row.rendition for row in rows})))
    return {row.id: row.duration_seconds for row in found.all()}


def renditions_of(connection: sa.Connection, rows: Iterable[sa.Row[Any]]) -> dict[str, sa.Row[Any]]:
    """The rendition of each attempt row, by rendition id."""
    wanted = {row.rendition for row in rows}
    found = connection.execute(sa.select(renditions).where(renditions.c.id.in_(wanted)))
    return {row.id: row for row in found}
