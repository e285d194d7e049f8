"""What a refusal looks like over HTTP: one stable JSON body, and nothing of the inside.

Belongs here: error class to status and words. Does not belong here: routes.

Errors of ours carry words for operators, who see files, hosts and keys anyway. A client sees them only where
they speak of what the client itself said.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import JSONResponse

from pipeline.domain.errors import AmbiguousName, BadInput, ReelwrightError, UnknownSubject

#: After this long a database or store that did not answer may.
RETRY_SECONDS = 5
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The body of every answer that is no success."""

    error: str  #: a stable code
    problem: str
    remedy: str = ""


def refused(status: int, refusal: Refusal, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(asdict(refusal), status, headers={**NO_STORE, **(headers or {})})


def answer_refusals(app: FastAPI) -> None:
    """Every error that leaves a route becomes a `Refusal`."""
    app.add_exception_handler(ReelwrightError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(404, _plain)
    app.add_exception_handler(405, _plain)
    app.add_exception_handler(Exception, _unexpected)


def _ours(_request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UnknownSubject):
        return refused(404, Refusal("unknown", str(error), "ask for one that `reelwright status` lists"))
    if isinstance(error, AmbiguousName):
        return refused(400, Refusal("ambiguous", "the name means more than one thing", error.remedy))
    if isinstance(error, ReelwrightError) and error.may_help:
        busy = Refusal("unavailable", "something that is needed does not answer", "ask again a little later")
        return refused(503, busy, {"Retry-After": str(RETRY_SECONDS)})
    if isinstance(error, BadInput):
        return refused(400, Refusal("bad_request", "the request cannot be used as it is"))
    return refused(409, Refusal("refused", "the subject's state does not permit it"))


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    said = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in found)
    return refused(422, Refusal("bad_request", said, "see /openapi.json"))


def _plain(_request: Request, error: Exception) -> JSONResponse:
    status, detail = getattr(error, "status_code", 500), str(getattr(error, "detail", ""))
    code = re.sub(r"[^a-z]+", "_", detail.lower()).strip("_") or "refused"
    headers = dict(getattr(error, "headers", None) or {})
    return refused(status, Refusal(code, detail, "see /openapi.json"), headers)


def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
    return refused(500, Refusal("internal", "something went wrong inside", "look into the server's log"))
