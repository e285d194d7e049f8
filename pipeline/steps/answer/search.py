"""Find published videos: the index says what may match, the pointers say what is shown (T1, T4).

Belongs here: asking for both standings, checking hits in one batched read, filling pages. Does not belong
here: matching (`resources.tag_index`) or permissions (access).

Between the pointer's commit and the index's bulk, the new output is still a candidate there and the old one
still current. Both are asked for and only what its slot shows passes, so nothing is missed and nothing wrong
is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from pipeline.domain.tags import Query, Visibility, query
from resources.database.database import Database
from resources.database.index_entries import shown_entries, slots_in_hand_over
from resources.database.outputs import settings_of
from resources.tag_index.protocol import BOTH_STANDINGS, Entry, Facets, Page, TagIndex

DEFAULT_LIMIT = 50
#: Pages that one search asks the index for, so that many waiting candidates cannot make it endless.
MAX_PAGES = 20


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a search beside its words. Tags are `name=value`, or a value of any name."""

    tags: tuple[str, ...] = ()
    campaign: str | None = None  #: `tenant.campaign`
    locale: str | None = None  #: canonical BCP 47
    visibility: tuple[Visibility, ...] | None = None
    asset_type: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One published video."""

    campaign: str
    slot: str
    rendition: str
    object: str
    object_key: str
    locale: str
    asset_type: str
    visibility: Visibility
    retention_class: str
    publication: str
    tags: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One page. `cursor` leads on and is None at the end.

    `facets` count what the index knows as current; the `slots_in_hand_over` are those where pointer and
    index differ at this moment: hits are right for them, counts may be off by as many.
    """

    found: tuple[Found, ...]
    cursor: str | None
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    slots_in_hand_over: int = 0


def search(
    database: Database,
    index: TagIndex,
    tenant: str,
    words: str = "",
    filters: Filters | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    facets: Sequence[str] = (),
) -> SearchAnswer:
    """One page of what *tenant* shows now and matches every word and filter, newest first.

    Raises `IndexRefused` for a cursor that is none, `IndexUnavailable` when the index does not answer.
    """
    wanted = _query(words, filters or Filters())
    found: list[Found] = []
    counted = Facets({}, 0)
    for _ in range(MAX_PAGES):
        page = index.search(
            tenant,
            wanted,
            standings=BOTH_STANDINGS,
            limit=limit - len(found),
            after=cursor,
            facets=() if counted.counts else facets,
        )
        found += _checked(database, page, wanted)
        cursor, counted = page.cursor, page.facets or counted
        if cursor is None or len(found) >= limit:
            break
    with database.reading() as connection:
        moving = slots_in_hand_over(connection, tenant)
    return SearchAnswer(tuple(found), cursor, counted.counts, moving)


def _query(words: str, filters: Filters) -> Query:
    return query(
        words,
        filters.tags,
        campaign=filters.campaign,
        locale=filters.locale,
        visibility=filters.visibility,
        asset_type=filters.asset_type,
    )


def _checked(database: Database, page: Page, wanted: Query) -> list[Found]:
    """The hits that their slots show now, under the tags that hold now; one read for the whole page."""
    if not page.hits:
        return []
    with database.reading() as connection:
        shown = shown_entries(connection, [hit.entry_id for hit in page.hits])
        settings = settings_of(connection, shown.values(), database.clock(connection))
    return [
        _found(hit, shown[hit.entry_id], settings[hit.campaign])
        for hit in page.hits
        if hit.entry_id in shown and _still_matches(wanted, settings[hit.campaign])
    ]


def _still_matches(wanted: Query, settings: sa.Row[Any]) -> bool:
    """A narrower visibility holds from its commit on, before the index has heard of it."""
    visible = wanted.visibility is None or settings.visibility in wanted.visibility
    return visible and wanted.asset_type in (None, settings.asset_type)


def _found(hit: Entry, shown: sa.Row[Any], settings: sa.Row[Any]) -> Found:
    return Found(
        campaign=hit.campaign,
        slot=hit.slot,
        rendition=hit.rendition_id,
        object=hit.object_id,
        object_key=shown.key,
        locale=hit.locale,
        asset_type=settings.asset_type,
        visibility=Visibility(settings.visibility),
        retention_class=settings.retention_class,
        publication=shown.publication,
        tags=hit.tags,
    )
