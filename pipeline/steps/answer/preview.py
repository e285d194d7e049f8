"""What stands behind a preview: an owned video or picture, one that is gone, or nothing (A4).

Belongs here: which objects may be looked at, and telling a purged one from one that never was. Does not
belong here: bytes and headers (`pipeline.api`).

Source images are never previews: they are what an author gave us, not what we made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import UnknownSubject
from resources.database.database import Database
from resources.database.objects import SERVING_STATES
from resources.database.previews import ids_by_key, object_row, picture_row

SHOWN_KINDS = frozenset({"rendition", "derivative"})


@dataclass(frozen=True, slots=True)
class Preview:
    """One immutable object that is there. `key` is for the store alone and never told."""

    object: str
    key: str
    media_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Gone:
    """It was there, and was or is being purged."""

    object: str


def preview(database: Database, object_id: str) -> Preview | Gone:
    """The object *object_id*; UnknownSubject when there is none that may be looked at."""
    with database.reading() as connection:
        return _shown(object_row(connection, object_id), object_id)


def picture(database: Database, object_id: str, name: str, version: str) -> Preview | Gone:
    """The picture *name* (poster, w640) made of *object_id*, by preference under transform *version*.

    A purged video takes its pictures along here, even where another video with equal bytes keeps them.
    """
    with database.reading() as connection:
        source = object_row(connection, object_id)
        shown = _shown(source, object_id)
        if isinstance(shown, Gone) or source is None:
            return Gone(object_id)
        row = picture_row(connection, source.tenant, source.sha256, name, version)
    return _shown(row, f"{object_id}/{name}")


def preview_ids(database: Database, keys: Iterable[str | None]) -> dict[str, str]:
    """By object key the id under which each can be looked at."""
    wanted = sorted({key for key in keys if key is not None})
    with database.reading() as connection:
        return ids_by_key(connection, wanted) if wanted else {}


def _shown(row: sa.Row[Any] | None, name: str) -> Preview | Gone:
    if row is None or row.kind not in SHOWN_KINDS:
        raise UnknownSubject("preview", name)
    if row.state not in SERVING_STATES:
        return Gone(row.id)
    return Preview(row.id, row.key, row.media_type, row.size_bytes, row.sha256)
