"""Faults to order: armed steps, which request takes which, and answers that no framework would send.

Belongs here: the vocabulary of the case scripts (`tests/data/http/http_*.json`) and of G6. Does not
belong here: what an unharmed request does (`server`).

A step is `{"on": "GET /jobs/*", "reply": {…}, "times": 1, "reference": "…"}`; `times: null` is for
ever. Its reply may hold, alone or together:

- `status`, `headers`, and one of `json`, `body` (text), `body_file` (in tests/data/http): this answer
- `patch`: the real answer with these fields instead
- `accept: true`: do the real thing first, then give this answer; `close_after_accept: true`: no answer
- `unlisted: true`: with an accepted submission, never name the job in a listing or look-up
- `close: true`: read the request, do nothing, hang up
- `delay_seconds`: wait before all that
- `chunked`, `endless` (a body without end), `trickle` (a byte a fifth of a second), a `Content-Length`
  of any text; `<real+N>` announces N bytes more than are sent
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

BODY_FILES = Path(__file__).parents[2] / "data" / "http"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]  #: what would answer without a fault
_DOING_THE_REAL_THING = ("accept", "close_after_accept", "patch", "unlisted")


@dataclass(slots=True)
class Step:
    method: str
    path: str  #: with its query when one is given; `*` and `?` as in file names
    reply: dict[str, Any]
    reference: str | None
    left: int | None  #: None: for ever

    @staticmethod
    def read(raw: dict[str, Any]) -> Step:
        """`GET api-host /x (a remark)` means `GET /x`, as the case scripts write it."""
        method, *rest = raw["on"].split()
        path = next(token for token in rest if token.startswith("/"))
        return Step(method, path, raw["reply"], raw.get("reference"), raw.get("times", 1))

    def takes(self, request: web.Request, reference: str) -> bool:
        if self.method != request.method or self.reference not in (None, reference):
            return False
        asked = request.path_qs if "?" in self.path else request.path
        return asked == self.path or fnmatch.fnmatchcase(asked, self.path)


class Armed:
    """Steps in the order in which they were armed; the first that fits is used up first."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def take(self, request: web.Request, reference: str) -> Step | None:
        for step in self.steps:
            if step.takes(request, reference):
                self._use(step)
                return step
        return None

    def _use(self, step: Step) -> None:
        if step.left is None:
            return
        step.left -= 1
        if step.left <= 0:
            self.steps.remove(step)


async def play(step: Step, request: web.Request, real: Handler) -> web.StreamResponse:
    """Answer *request* as the step says; *real* is what would have happened."""
    reply = step.reply
    await asyncio.sleep(reply.get("delay_seconds", 0))
    if reply.get("close"):
        return _hang_up(request)
    answer = None
    if any(reply.get(word) for word in _DOING_THE_REAL_THING):
        request["unlisted"] = bool(reply.get("unlisted"))
        answer = await real(request)
    if reply.get("close_after_accept"):
        return _hang_up(request)
    if "status" in reply:
        return await _scripted(request, reply)
    if answer is None:
        return await real(request)
    return _patched(answer, reply.get("patch", {}))


def _patched(answer: web.StreamResponse, patch: dict[str, Any]) -> web.StreamResponse:
    if not isinstance(answer, web.Response) or not isinstance(answer.body, bytes):
        return answer
    return web.json_response({**json.loads(answer.body), **patch}, status=answer.status)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def _scripted(request: web.Request, reply: dict[str, Any]) -> web.StreamResponse:
    """Written to the socket by hand: a framework would mend what must arrive broken."""
    body = _body(reply)
    headers = {"Content-Type": "application/octet-stream", "Connection": "close", **reply.get("headers", {})}
    if reply.get("chunked"):
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers["Content-Length"] = _length(headers.get("Content-Length"), body)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    _write(request, f"HTTP/1.1 {reply['status']} Scripted\r\n{lines}\r\n".encode())
    await _write_body(request, body, reply)
    return _hang_up(request)


def _body(reply: dict[str, Any]) -> bytes:
    if "json" in reply:
        return json.dumps(reply["json"]).encode()
    if "body_file" in reply:
        return (BODY_FILES / str(reply["body_file"])).read_bytes()
    return str(reply.get("body", "")).encode()


def _length(stated: str | None, body: bytes) -> str:
    if stated is None:
        return str(len(body))
    if stated.startswith("<real+"):
        return str(len(body) + int(stated[len("<real+") : -1]))
    return stated


async def _write_body(request: web.Request, body: bytes, reply: dict[str, Any]) -> None:
    pieces = [body[at : at + 1] for at in range(len(body))] if reply.get("trickle") else [body]
    for piece in pieces:
        _write(request, _framed(piece, reply))
        await asyncio.sleep(0.2 if reply.get("trickle") else 0)
    while reply.get("endless") and _is_open(request):
        _write(request, _framed(b"\0" * 65536, reply))
        await asyncio.sleep(0.001)
    if reply.get("chunked"):
        _write(request, b"0\r\n\r\n")


def _framed(piece: bytes, reply: dict[str, Any]) -> bytes:
    if not reply.get("chunked"):
        return piece
    return b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b""


def _is_open(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def _write(request: web.Request, data: bytes) -> None:
    if _is_open(request) and request.transport is not None:
        request.transport.write(data)
