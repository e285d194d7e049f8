"""The fault renderer's HTTP side: the local renderer's wire format, plus the control endpoints.

Belongs here: routes and answers. Does not belong here: faults (`faults`) or durable facts (`jobs`).
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from pipeline.domain.outcomes import Reconciliation
from tests.faults.renderer.clips import Clips
from tests.faults.renderer.faults import Armed, Handler, Step, play
from tests.faults.renderer.jobs import Jobs, KeyReuse, RemoteJob, Word

_PAGE = 100
#: What a class answers about its jobs beside their handles.
_LOOKS_UP = frozenset({Reconciliation.KEY, Reconciliation.LOOKUP})
_LISTS = frozenset({Reconciliation.KEY, Reconciliation.LISTING})
_LAGS = frozenset({Reconciliation.LOOKUP, Reconciliation.LISTING})


@dataclass(frozen=True, slots=True)
class Conduct:
    store: Path
    mode: Reconciliation = Reconciliation.KEY
    work_seconds: float = 0.0  #: 0: null mode, done as soon as taken
    lag_seconds: float = 0.0  #: until look-up and listing show a job
    url_seconds: float = 900.0


class Renderer:
    def __init__(self, conduct: Conduct) -> None:
        self._conduct = conduct
        self._jobs = Jobs(conduct.store, conduct.mode)
        self._clips = Clips()
        self._armed = Armed()
        self._seen: Counter[str] = Counter()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._with_faults], client_max_size=64 << 20)
        app.add_routes(
            [
                web.get("/health", self._health),
                web.put("/assets/{sha256}", self._put_asset),
                web.post("/jobs", self._submit),
                web.get("/jobs", self._list),
                web.get("/jobs/{id}", self._status),
                web.post("/jobs/{id}/cancel", self._cancel),
                web.delete("/jobs/{id}/output", self._purge),
                web.get("/outputs/{id}.mp4", self._output),
                web.post("/control/steps", self._arm),
                web.delete("/control/steps", self._disarm),
                web.get("/control/seen", self._seen_so_far),
            ]
        )
        return app

    @web.middleware
    async def _with_faults(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/control/"):
            return await handler(request)
        resource = request.match_info.route.resource
        self._seen[f"{request.method} {resource.canonical if resource else request.path}"] += 1
        if not self._armed.steps:
            return await handler(request)
        step = self._armed.take(request, await self._reference(request))
        return await handler(request) if step is None else await play(step, request, handler)

    async def _reference(self, request: web.Request) -> str:
        if request.method == "POST" and request.path == "/jobs":
            body = await request.json()
            return str(body.get("reference", "")) if isinstance(body, dict) else ""
        job = self._jobs.by_id.get(request.match_info.get("id", ""))
        return job.reference if job else request.query.get("reference", "")

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "version": "faults", "scripts": []})

    async def _put_asset(self, request: web.Request) -> web.Response:
        stated = request.match_info["sha256"]
        if hashlib.sha256(await request.read()).hexdigest() != stated:
            return _refusal(400, "hash_mismatch")
        if stated in self._jobs.assets:
            return web.Response(status=200)
        await self._jobs.record("asset", sha256=stated)
        return web.Response(status=201)

    async def _submit(self, request: web.Request) -> web.Response:
        key, body = request.headers.get("Idempotency-Key", ""), await request.json()
        if not key or not isinstance(body, dict) or not isinstance(body.get("reference"), str):
            return _refusal(400, "invalid_request")
        missing = sorted(set(body.get("images", [])) - self._jobs.assets)
        if missing:
            return _refusal(409, "missing_assets", missing=missing)
        try:
            job, is_new = await self._jobs.accept(key, body, unlisted=request.get("unlisted", False))
        except KeyReuse:
            return _refusal(422, "key_reuse")
        self._clips.order(job.shape)
        return web.json_response({"id": job.id, "status": "queued"}, status=202 if is_new else 200)

    async def _status(self, request: web.Request) -> web.Response:
        job = self._jobs.by_id.get(request.match_info["id"])
        if job is None:
            return _refusal(404, "not_found")
        return web.json_response(self._told(job, f"{request.scheme}://{request.host}"))

    def _told(self, job: RemoteJob, origin: str) -> dict[str, Any]:
        word = job.word(time.time(), self._conduct.work_seconds)
        clip = self._clips.order(job.shape)
        if word is Word.SUCCEEDED and not clip.done():
            word = Word.RUNNING
        told: dict[str, Any] = {"id": job.id, "reference": job.reference, "status": word, "error": None}
        if word is not Word.SUCCEEDED:
            return {**told, "output": None, "units": None}
        expires = time.time() + self._conduct.url_seconds
        output = {
            "url": f"{origin}/outputs/{job.id}.mp4?expires={expires:.3f}",
            "expires_at": datetime.fromtimestamp(expires, UTC).isoformat(),
            "size_bytes": clip.result().size_bytes(job.id),
            "sha256": clip.result().sha256(job.id),
        }
        return {**told, "output": output, "units": job.shape.duration_seconds}

    async def _list(self, request: web.Request) -> web.Response:
        lag = self._conduct.lag_seconds if self._conduct.mode in _LAGS else 0.0
        shown_before, query = time.time() - lag, request.query
        if "reference" in query and self._conduct.mode in _LOOKS_UP:
            jobs = self._jobs.with_reference(query["reference"], before=shown_before)
        elif "since" in query and self._conduct.mode in _LISTS:
            since = datetime.fromisoformat(query["since"]).timestamp()
            jobs = self._jobs.since(since, before=shown_before)
        else:
            return _refusal(400, "unsupported")
        begin = int(query.get("cursor", "0"))
        rows = [{"id": job.id, "reference": job.reference} for job in jobs[begin : begin + _PAGE]]
        cursor = str(begin + _PAGE) if begin + _PAGE < len(jobs) else None
        return web.json_response({"jobs": rows, "cursor": cursor})

    async def _cancel(self, request: web.Request) -> web.Response:
        job = self._jobs.by_id.get(request.match_info["id"])
        if job is None:
            return _refusal(404, "not_found")
        if job.word(time.time(), self._conduct.work_seconds) in (Word.SUCCEEDED, Word.CANCELLED):
            return _refusal(409, "ended")
        await self._jobs.record("cancelled", id=job.id)
        return web.Response(status=202)

    async def _purge(self, request: web.Request) -> web.Response:
        job = self._jobs.by_id.get(request.match_info["id"])
        if job is None:
            return _refusal(404, "not_found")
        if not job.output_is_deleted:
            await self._jobs.record("deleted", id=job.id)
        return web.Response(status=204)

    async def _output(self, request: web.Request) -> web.Response:
        job = self._jobs.by_id.get(request.match_info["id"])
        if job is None:
            return _refusal(404, "not_found")
        if job.output_is_deleted:
            return _refusal(410, "deleted")
        if time.time() > float(request.query.get("expires", "0")):
            return _refusal(403, "expired")
        clip = await self._clips.order(job.shape)
        return web.Response(body=clip.unique(job.id), content_type="video/mp4")

    async def _arm(self, request: web.Request) -> web.Response:
        steps = (await request.json())["steps"]
        self._armed.steps += [Step.read(step) for step in steps]
        return web.json_response({"armed": len(self._armed.steps)})

    async def _disarm(self, _: web.Request) -> web.Response:
        left, self._armed.steps = len(self._armed.steps), []
        return web.json_response({"left": left})

    async def _seen_so_far(self, _: web.Request) -> web.Response:
        return web.json_response(self._seen)


def _refusal(status: int, code: str, **more: Any) -> web.Response:
    return web.json_response({"error": {"code": code, "message": code}, **more}, status=status)
