"""The HTTP API, put together: status, previews, metrics, health.

Belongs here: assembly and what holds for every answer. Does not belong here: any route.

There is no access control in it: whoever reaches it sees every tenant. It is therefore bound to loopback, and
answers only to names of this machine and those that its caller adds, so that no web page can reach it under a
name of its own that resolves to loopback.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.middleware.trustedhost import TrustedHostMiddleware

from pipeline.api import machine, previews, status
from pipeline.api.refusals import answer_refusals
from resources.adapters import Adapters

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1", "[::1]")


def create_app(adapters: Adapters, hosts: Sequence[str] = ()) -> FastAPI:
    """The application over *adapters*, which stay the caller's to close.

    *hosts* are further names that it answers to: those of a proxy on this machine.
    """
    app = FastAPI(
        title="Reelwright",
        version=version("reelwright"),
        summary="How marketing videos stand. No access control: for this machine alone.",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK_NAMES, *hosts], www_redirect=False)
    answer_refusals(app)
    for part in (status, previews, machine):
        app.include_router(part.routes(adapters))
    return app
