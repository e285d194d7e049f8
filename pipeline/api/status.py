"""`/status`: how wishes stand, one word each, cheap to ask again (L8, A3).

Belongs here: the shape that clients see. Does not belong here: the words (`pipeline.domain.lifecycle`).

Not ready is an answer, not an error. No key, location, prompt or provider word is in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from pipeline.api.caching import SHORT, is_known, quoted
from pipeline.api.names import named
from pipeline.api.refusals import Refusal
from pipeline.domain.errors import UnknownSubject
from pipeline.steps.answer.find import find_revision
from pipeline.steps.answer.preview import preview_ids
from pipeline.steps.answer.status import Wanted, WishStatus, counts, status
from resources.adapters import Adapters
from resources.database.database import Database

_ANSWERS: dict[int | str, dict[str, Any]] = {
    304: {"description": "You hold the newest version (`If-None-Match`)."},
    404: {"model": Refusal, "description": "Nothing of that name."},
    503: {"model": Refusal, "description": "The database does not answer; `Retry-After` says when to ask."},
}
Held = Annotated[str | None, Header(description="The `ETag` of the answer before.")]


@dataclass(frozen=True, slots=True)
class WishBody:
    """One wanted video. `entity_version` rises with every visible change."""

    wish: str
    revision: int
    variant: str
    slot: str
    word: str
    why: list[str]
    retry_after_seconds: int | None  #: None: nothing moves by itself
    entity_version: int
    origin: str | None
    rendition: str | None
    take: int | None
    attempt: str | None
    outcome: str | None
    preview: str | None  #: a path below this server: the video, once it is owned
    delivered_at: datetime
    submitted_at: datetime | None
    ended_at: datetime | None
    published_at: datetime | None


@dataclass(frozen=True, slots=True)
class CampaignBody:
    """Every wish of one revision. `success_rate` has all wishes but active ones as its denominator."""

    campaign: str
    revision: int
    retry_after_seconds: int | None  #: the shortest of its wishes
    counts: dict[str, int]
    success_rate: float | None
    wishes: list[WishBody]


def routes(adapters: Adapters) -> APIRouter:
    router, database = APIRouter(tags=["status"]), adapters.database

    @router.get("/status", responses={200: {"model": CampaignBody}, **_ANSWERS})
    def campaign_status(
        campaign: Annotated[str, Query(description="`tenant.campaign`")],
        revision: Annotated[int | None, Query(ge=1, le=999_999_999)] = None,
        if_none_match: Held = None,
    ) -> Response:
        """How every wish of the campaign's newest revision stands, or of the named one."""
        return _answer(_campaign(database, named("campaign", campaign), revision), if_none_match)

    @router.get("/status/{rendition}", responses={200: {"model": WishBody}, **_ANSWERS})
    def rendition_status(rendition: str, if_none_match: Held = None) -> Response:
        """How one rendition stands, seen from the newest wish that names it."""
        return _answer(_rendition(database, named("rendition", rendition)), if_none_match)

    return router


def _campaign(database: Database, name: str, number: int | None) -> CampaignBody:
    with database.reading() as connection:
        found = find_revision(connection, name, number)
    wishes = status(database, Wanted(campaign=found.campaign, revision=found.number))
    heads = counts(wishes)
    hints = [wish.retry_after_seconds for wish in wishes if wish.retry_after_seconds is not None]
    return CampaignBody(
        campaign=found.campaign,
        revision=found.number,
        retry_after_seconds=min(hints, default=None),
        counts={name: int(number) for name, number in asdict(heads).items()},
        success_rate=None if heads.success_rate is None else float(heads.success_rate),
        wishes=_bodies(database, wishes),
    )


def _rendition(database: Database, name: str) -> WishBody:
    wishes = status(database, Wanted(rendition=name, every_revision=True))
    if not wishes:
        raise UnknownSubject("rendition", name)
    return _bodies(database, [max(wishes, key=lambda wish: wish.revision)])[0]


def _bodies(database: Database, wishes: Sequence[WishStatus]) -> list[WishBody]:
    ids = preview_ids(database, [wish.object_key for wish in wishes])
    return [_body(wish, ids) for wish in wishes]


def _body(wish: WishStatus, ids: Mapping[str, str]) -> WishBody:
    shown = ids.get(wish.object_key or "")
    return WishBody(
        wish=wish.wish,
        revision=wish.revision,
        variant=wish.variant,
        slot=wish.slot,
        word=str(wish.word),
        why=list(wish.why),
        retry_after_seconds=wish.retry_after_seconds,
        entity_version=wish.entity_version,
        origin=wish.origin,
        rendition=wish.rendition,
        take=wish.take,
        attempt=wish.attempt,
        outcome=wish.outcome,
        preview=None if shown is None else f"/previews/{shown}",
        delivered_at=wish.delivered_at,
        submitted_at=wish.submitted_at,
        ended_at=wish.ended_at,
        published_at=wish.published_at,
    )


def _answer(body: CampaignBody | WishBody, if_none_match: str | None) -> Response:
    """The tag is of the whole answer: a word may change by time alone, under the same entity version."""
    content = json.dumps(asdict(body), default=datetime.isoformat, ensure_ascii=False).encode()
    tag = hashlib.sha256(content).hexdigest()[:32]
    headers = {"ETag": quoted(tag), "Cache-Control": SHORT}
    if is_known(if_none_match, tag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)
