"""`/metrics` and `/healthz`: what machines ask.

Belongs here: these two. Does not belong here: what is measured (`pipeline.steps.answer.measure`).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from pipeline.api.refusals import NO_STORE, Refusal
from pipeline.steps.answer.exposition import CONTENT_TYPE, prometheus_text
from pipeline.steps.answer.measure import measure
from resources.adapters import Adapters
from resources.database.database import Database

#: One measurement reads whole tables: many scrapers at once share it.
KEPT_SECONDS = 5.0
_UNAVAILABLE: dict[int | str, dict[str, Any]] = {
    503: {"model": Refusal, "description": "The database does not answer."}
}


@dataclass(slots=True)
class Measured:
    """The newest measurement as text; one at a time is taken."""

    database: Database
    text: str = ""
    until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def newest(self) -> str:
        with self.lock:
            if time.monotonic() >= self.until:
                self.text = prometheus_text(measure(self.database))
                self.until = time.monotonic() + KEPT_SECONDS
            return self.text


@dataclass(frozen=True, slots=True)
class Health:
    status: str  #: ok


def routes(adapters: Adapters) -> APIRouter:
    router, measured = APIRouter(tags=["machine"]), Measured(adapters.database)

    @router.get("/metrics", response_class=PlainTextResponse, responses=_UNAVAILABLE)
    def metrics() -> Response:
        """Everything that is counted and measured, as Prometheus text (docs/metrics.md)."""
        return Response(measured.newest(), headers={"Content-Type": CONTENT_TYPE, **NO_STORE})

    @router.get("/healthz", responses=_UNAVAILABLE)
    def healthz(response: Response) -> Health:
        """Whether this server and its database answer."""
        adapters.database.now()
        response.headers.update(NO_STORE)
        return Health("ok")

    return router
