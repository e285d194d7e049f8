"""`/previews`: the bytes of one owned video or picture, for people who look at Dagster's window (A4, D5).

Belongs here: headers, parts, and what a purge looks like. Does not belong here: which object it is
(`pipeline.steps.answer.preview`).

An object is named by its id, never by a key or path; the key comes from the database and goes to the store
alone. Its bytes never change, so a client may keep them; after the purge the answer is 410.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from pipeline.api.caching import IMMUTABLE, SHORT, is_known, quoted
from pipeline.api.names import named
from pipeline.api.ranges import Part, Unsatisfiable, wanted_part
from pipeline.api.refusals import Refusal, refused
from pipeline.domain.errors import BadKey, UnknownSubject
from pipeline.steps.answer.preview import Gone, Preview, picture, preview
from resources.adapters import Adapters
from resources.object_store.protocol import ObjectStore

#: What one read of the store brings: memory stays small, and a remote store is asked seldom.
PIECE_BYTES = 1 << 20

_BYTES: dict[str, Any] = {
    "description": "The bytes.",
    "content": {"video/mp4": {}, "image/webp": {}, "image/jpeg": {}},
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    206: {"description": "The part that `Range` asked for."},
    304: {"description": "You hold it (`If-None-Match`)."},
    404: {"model": Refusal, "description": "No such object, or none that can be looked at."},
    410: {"model": Refusal, "description": "It was purged."},
    416: {"model": Refusal, "description": "The range begins behind the end."},
}
Asked = Annotated[str | None, Header()]


def routes(adapters: Adapters) -> APIRouter:
    router = APIRouter(tags=["previews"])

    @router.get("/previews/{object_id}", responses={200: _BYTES, **_ANSWERS}, response_class=Response)
    def object_bytes(
        object_id: str,
        part: Annotated[str | None, Header(alias="range")] = None,
        if_range: Asked = None,
        if_none_match: Asked = None,
    ) -> Response:
        """A video or picture, by the id of its object."""
        found = preview(adapters.database, named("preview", object_id))
        if isinstance(found, Gone):
            return _gone(found)
        if is_known(if_none_match, found.sha256):
            return Response(status_code=304, headers=_headers(found))
        return _bytes(adapters.store, found, part if _may_be_part(if_range, found) else None)

    @router.get("/previews/{object_id}/{name}", status_code=307, responses=_ANSWERS, response_class=Response)
    def picture_of(object_id: str, name: str) -> Response:
        """The way to a picture of a video: `poster`, `w320`, `w640`, `w960`."""
        source, wanted = named("preview", object_id), named("picture", name)
        found = picture(adapters.database, source, wanted, adapters.transforms.version)
        if isinstance(found, Gone):
            return _gone(found)
        return RedirectResponse(f"../{quote(found.object, safe='')}", headers={"Cache-Control": SHORT})

    return router


def _gone(found: Gone) -> Response:
    return refused(
        410, Refusal("purged", f"{found.object} was purged", "its record remains, its bytes do not")
    )


def _may_be_part(if_range: str | None, found: Preview) -> bool:
    """A client that continues something else gets the whole."""
    return if_range is None or if_range.strip() == quoted(found.sha256)


def _headers(found: Preview) -> dict[str, str]:
    return {
        "ETag": quoted(found.sha256),
        "Cache-Control": IMMUTABLE,
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline",
    }


def _bytes(store: ObjectStore, found: Preview, asked: str | None) -> Response:
    try:
        part = wanted_part(asked, found.size_bytes)
    except Unsatisfiable:
        wrong = Refusal("unsatisfiable", f"the object has {found.size_bytes} bytes")
        return refused(416, wrong, {"Content-Range": f"bytes */{found.size_bytes}"})
    whole = part or Part(0, found.size_bytes)
    try:
        first = store.read_range(found.key, whole.start, min(PIECE_BYTES, whole.length))
    except (UnknownSubject, BadKey):
        # the row says it is there: an invariant is broken, and the key is nobody's business
        return refused(404, Refusal("bytes_missing", f"{found.object} is recorded, its bytes are not there"))
    headers = _headers(found) | {"Content-Length": str(whole.length)}
    if part is not None:
        headers["Content-Range"] = part.content_range(found.size_bytes)
    return StreamingResponse(
        _pieces(store, found.key, whole, first),
        status_code=200 if part is None else 206,
        media_type=_media_type(found),
        headers=headers,
    )


def _pieces(store: ObjectStore, key: str, part: Part, first: bytes) -> Iterator[bytes]:
    yield first
    for done in range(PIECE_BYTES, part.length, PIECE_BYTES):
        yield store.read_range(key, part.start + done, min(PIECE_BYTES, part.length - done))


def _media_type(found: Preview) -> str:
    """Only what a browser shows without running it."""
    is_shown = found.media_type.startswith(("image/", "video/")) and "svg" not in found.media_type
    return found.media_type if is_shown else "application/octet-stream"
