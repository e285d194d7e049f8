"""To which campaign and attempt a named row belongs, whatever kind of row it is.

Belongs here: that one look-up, for findings that name only an id. Does not belong here: what is said of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.schema import (
    attempts,
    campaigns,
    index_entries,
    objects,
    publications,
    renditions,
    revisions,
    slots,
    wishes,
)


@dataclass(frozen=True, slots=True)
class Place:
    campaign: str
    attempt: str = ""  #: empty where it belongs to no attempt


def places(connection: sa.Connection, ids: Collection[str]) -> dict[str, Place]:
    """By id; an id that is none of these kinds is absent."""
    of_object = sa.select(sa.func.min(attempts.c.id)).where(attempts.c.object == objects.c.id)
    selected = sa.select(renditions.c.selected_attempt)
    of_wish = selected.where(renditions.c.id == wishes.c.rendition).scalar_subquery()
    of_slot = selected.where(renditions.c.id == slots.c.wanted_rendition).scalar_subquery()
    nothing = sa.literal("")
    kinds: list[tuple[sa.ColumnElement[str], sa.ColumnElement[str], sa.ColumnElement[str]]] = [
        (campaigns.c.id, campaigns.c.id, nothing),
        (revisions.c.id, revisions.c.campaign, nothing),
        (objects.c.id, objects.c.campaign, of_object.scalar_subquery()),
        (objects.c.key, objects.c.campaign, of_object.scalar_subquery()),
        (slots.c.id, slots.c.campaign, of_slot),
        (wishes.c.id, wishes.c.campaign, of_wish),
        (renditions.c.id, renditions.c.campaign, renditions.c.selected_attempt),
        (index_entries.c.id, index_entries.c.campaign, index_entries.c.attempt),
        (attempts.c.id, attempts.c.campaign, attempts.c.id),
    ]
    looks = [_look(ids, *kind) for kind in kinds]
    looks.append(
        sa.select(publications.c.id, slots.c.campaign, publications.c.attempt)
        .join(slots, slots.c.id == publications.c.slot)
        .where(publications.c.id.in_(ids))
    )
    rows = connection.execute(sa.union_all(*looks))
    return {row.id: Place(row.campaign or "", row.attempt or "") for row in rows}


def _look(
    ids: Collection[str],
    name: sa.ColumnElement[str],
    campaign: sa.ColumnElement[str],
    attempt: sa.ColumnElement[str],
) -> sa.Select[Any]:
    columns: list[sa.ColumnElement[Any]] = [
        name.label("id"), campaign.label("campaign"), attempt.label("attempt"),
    ]  # fmt: skip
    return sa.select(*columns).where(name.in_(ids))
