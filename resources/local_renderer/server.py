"""The HTTP face: routes to the job store, the assets and the outputs.

Belongs here: requests in, JSON and bytes out. Does not belong here: rendering, SQL.

It listens on loopback and knows no users: what can connect may use it. So that a web page in a browser on
the same machine cannot, a request that carries an Origin or another Host is refused.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from aiohttp import hdrs, web

from resources.local_renderer import captions, fonts
from resources.local_renderer.job_store import PAGE, JobStore
from resources.local_renderer.jobs import Job, Status
from resources.local_renderer.refusals import Refused
from resources.local_renderer.signed_urls import UrlSigner
from resources.local_renderer.store_folder import StoreFolder, is_disk_full
from resources.local_renderer.wanted import MODEL, Wanted, parse_key, parse_wanted
from resources.local_renderer.workers import Workers

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_BODY_BYTES = 64 << 10
_RETRY_AFTER_SECONDS = 5
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SHA256 = re.compile(r"[0-9a-f]{64}")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class RendererApi:
    store: JobStore
    folder: StoreFolder
    workers: Workers
    signer: UrlSigner
    clock: Callable[[], int]  #: UTC microseconds

    def application(self) -> web.Application:
        app = web.Application(
            middlewares=[_only_loopback, _refusals_as_json], client_max_size=_MAX_BODY_BYTES
        )
        app.add_routes(
            [
                web.get("/health", self.health),
                web.put("/assets/{sha256}", self.put_asset),
                web.post("/jobs", self.post_job),
                web.get("/jobs", self.list_jobs),
                web.get("/jobs/{id}", self.get_job),
                web.post("/jobs/{id}/cancel", self.cancel_job),
                web.delete("/jobs/{id}/output", self.delete_output),
                web.get("/outputs/{id}.mp4", self.get_output),
            ]
        )
        return app

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "status": "ok",
                "version": version("reelwright"),
                "models": [MODEL],
                "scripts": list(fonts.SCRIPTS),
            }
        )

    async def put_asset(self, request: web.Request) -> web.Response:
        sha256 = request.match_info["sha256"]
        if not _SHA256.fullmatch(sha256):
            raise Refused("invalid_request", "an asset is named by its lower-case SHA-256")
        is_new = await self.folder.keep_asset(sha256, request.content.iter_chunked(1 << 18))
        return web.json_response({"sha256": sha256}, status=201 if is_new else 200)

    async def post_job(self, request: web.Request) -> web.Response:
        """A known key is answered before anything else is looked at: its answer may not change with time."""
        key = parse_key(request.headers.get("Idempotency-Key"))
        wanted = parse_wanted(await request.read())
        known = self.store.known(key, wanted)
        if known is not None:
            return web.json_response(self._job_json(request, known), status=200)
        await asyncio.to_thread(_require_caption, wanted)
        self._require_assets(wanted)
        taken = self.store.take(key, wanted, self.clock())
        self.workers.wake()
        return web.json_response(self._job_json(request, taken.job), status=202 if taken.is_new else 200)

    async def get_job(self, request: web.Request) -> web.Response:
        return web.json_response(self._job_json(request, self._job(request)))

    async def list_jobs(self, request: web.Request) -> web.Response:
        query = request.query
        unknown = [name for name in query if name not in ("reference", "since", "cursor")]
        if unknown:
            raise Refused("invalid_request", f"unknown query fields: {', '.join(unknown)}")
        if "reference" in query:
            return self._page(request, self.store.by_reference(query["reference"]), None)
        jobs = self.store.listing(_since(query), _cursor(query))
        return self._page(request, jobs, str(jobs[-1].number) if len(jobs) == PAGE else None)

    async def cancel_job(self, request: web.Request) -> web.Response:
        job = self._job(request)
        if not self.store.want_cancel(job.id, self.clock()):
            raise Refused("already_ended", f"job {job.id} has ended as {self._job(request).status}")
        self.workers.cancel(job.id)
        return web.json_response(self._job_json(request, self._job(request)), status=202)

    async def delete_output(self, request: web.Request) -> web.Response:
        """Marked first: a kill in between leaves a file that the next start removes."""
        job = self._job(request)
        if not job.has_ended:
            raise Refused("not_ended", f"job {job.id} is {job.status}; cancel it first")
        self.store.mark_deleted(job.id, self.clock())
        self.folder.output(job.id).unlink(missing_ok=True)
        return web.Response(status=204)

    async def get_output(self, request: web.Request) -> web.StreamResponse:
        job_id = request.match_info["id"]
        expires, signature = request.query.get("expires", ""), request.query.get("signature", "")
        self.signer.check(job_id, expires, signature, self.clock() // 1_000_000)
        job, path = self.store.get(job_id), self.folder.output(job_id)
        if job is None or job.deleted_at is not None or not path.is_file():
            raise Refused("gone", f"the output of job {job_id} was deleted")
        return web.FileResponse(path, headers={"Content-Type": "video/mp4", "Cache-Control": "no-store"})

    def _job(self, request: web.Request) -> Job:
        job = self.store.get(request.match_info["id"])
        if job is None:
            raise Refused("not_found", f"no job {request.match_info['id'][:80]!r}")
        return job

    def _require_assets(self, wanted: Wanted) -> None:
        missing = sorted({image for image in wanted.images if not self.folder.asset(image).is_file()})
        if missing:
            raise Refused("missing_assets", f"{len(missing)} images were never uploaded", missing=missing)

    def _page(self, request: web.Request, jobs: list[Job], cursor: str | None) -> web.Response:
        return web.json_response({"jobs": [self._job_json(request, job) for job in jobs], "cursor": cursor})

    def _job_json(self, request: web.Request, job: Job) -> dict[str, Any]:
        is_done = job.status is Status.SUCCEEDED
        return {
            "id": job.id,
            "reference": job.reference,
            "status": job.status.value,
            "progress": 1.0 if is_done else self.workers.progress(job.id),
            "error": None if job.error is None else {"code": job.error[0], "message": job.error[1]},
            "output": self._output_json(request, job),
            "units": job.wanted.duration_seconds if is_done else None,
            "created_at": _rfc3339(job.created_at),
            "updated_at": _rfc3339(job.updated_at),
        }

    def _output_json(self, request: web.Request, job: Job) -> dict[str, Any] | None:
        if job.sha256 is None or job.deleted_at is not None:
            return None
        origin = str(request.url.origin())  # the name that this client knows us by
        url, expires = self.signer.mint(origin, job.id, self.clock() // 1_000_000)
        return {
            "url": url,
            "expires_at": _rfc3339(expires * 1_000_000),
            "size_bytes": job.size_bytes,
            "sha256": job.sha256,
        }


@web.middleware
async def _only_loopback(request: web.Request, handler: Handler) -> web.StreamResponse:
    host = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdecimal() else request.host
    if hdrs.ORIGIN in request.headers or host not in _LOOPBACK:
        return _answer(
            Refused("forbidden_origin", "the renderer serves programs on this machine, no web pages")
        )
    return await handler(request)


@web.middleware
async def _refusals_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as refused:
        return _answer(refused)
    except web.HTTPException as error:
        return _answer(_translated(error))
    except OSError as error:
        if not is_disk_full(error):
            raise
        return _answer(Refused("disk_full", "the disk is full; nothing was kept"))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            raise
        return _answer(Refused("disk_full", "the disk is full; nothing was kept"))


def _answer(refused: Refused) -> web.Response:
    headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)} if refused.code == "queue_full" else {}
    return web.json_response(refused.as_json(), status=refused.status, headers=headers)


def _translated(error: web.HTTPException) -> Refused:
    codes: Mapping[int, str] = {404: "not_found", 405: "not_allowed", 413: "too_large"}
    return Refused(codes.get(error.status, "invalid_request"), error.text or error.reason)


def _require_caption(wanted: Wanted) -> None:
    """Refused before it is taken: a script no font draws, or a text that fits at no readable size."""
    fonts.require_covered(wanted.caption)
    if wanted.caption.strip():
        captions.fit(wanted.caption, wanted.locale, (wanted.width, wanted.height))


def _since(query: Mapping[str, str]) -> int:
    raw = query.get("since")
    if raw is None:
        return 0
    try:
        moment = datetime.fromisoformat(raw)
    except ValueError as error:
        raise Refused("invalid_request", f"since: not an RFC 3339 time: {raw[:80]}") from error
    if moment.tzinfo is None:
        raise Refused("invalid_request", f"since: has no offset from UTC: {raw[:80]}")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _cursor(query: Mapping[str, str]) -> int:
    raw = query.get("cursor", "0")
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 19):
        raise Refused("invalid_request", "cursor: not one that this renderer gave")
    return int(raw)


def _rfc3339(microseconds: int) -> str:
    """Cut to milliseconds, so that `since` a job's own time always finds it."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
