"""The HTTP client of every adapter: bounded, nothing followed, nothing sent twice.

Two ways out, for two kinds of address. `request` is for APIs whose base URL the operator wrote down: small
whole answers, tens of thousands of them, over connections of our own (`pool`, `origins`, `wire`), because a
status request by aiohttp costs six times what it costs over bare sockets. `stream` is for URLs that a
provider made up: each address is checked where it is connected to (`url_guard`, `connecting`), and aiohttp
reads the body as it comes; what is in it outweighs any client.

Belongs here: the two calls, what they promise, and the shape of a request. Does not belong here: what an
answer means (adapters), which address may be fetched (`url_guard`), files (`download`).
"""

from __future__ import annotations

import asyncio
import json as json_text
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from pipeline.domain.errors import NeverConnected, RemoteUnavailable
from resources.http.connecting import Phase, fetch_connector, phase_tracing, translated
from resources.http.encoding import decoded
from resources.http.origins import read
from resources.http.pool import CONNECT_SECONDS, KEPT, Pool
from resources.http.url_guard import UrlGuard, shown
from resources.http.wire import Answer, Unanswered

__all__ = ["Answer", "HttpClient", "Stream", "joined"]

MAX_ANSWER_BYTES = 1 << 20
_CHUNK = 1 << 20
#: Names and values as they may stand in a request: nothing that would end a line.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\r\n\0]*")


class Stream:
    """An answer whose body is still on the wire, as raw chunks in the encoding that it names."""

    def __init__(self, answer: aiohttp.ClientResponse, phase: Phase) -> None:
        self.status = answer.status
        self.headers = _lower(answer.headers)
        self._answer = answer
        self._phase = phase

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Raw bytes as they arrive; RemoteUnavailable `short_body` when framing proves an early end."""
        with translated(self._phase, shown(str(self._answer.url))):
            async for chunk in self._answer.content.iter_any():
                yield chunk


class HttpClient:
    """One a step. `request` is for provider APIs (trusted base URL), `stream` for untrusted URLs."""

    def __init__(
        self,
        *,
        connections: int = 100,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        may_post: Callable[[], bool] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """*may_post* is asked before the first byte of each POST; one that must not leave never does.

        *trust* judges the certificates of APIs; by default the system does.
        """
        self._max_answer_bytes = max_answer_bytes
        self._pool = Pool(
            connections=connections, max_body_bytes=max_answer_bytes, trust=trust, may_post=may_post
        )
        self._sessions: dict[object, aiohttp.ClientSession] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sessions.clear()
        await self._pool.close()
        await self._stack.aclose()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: bytes | None = None,
        timeout_seconds: float = 20.0,
    ) -> Answer:
        """One request, one whole answer of any status, within *timeout_seconds* of wall clock.

        Raises NeverConnected when no connection came about (proof that nothing was sent), and
        RemoteUnavailable for every other way of not answering: `timed_out`, `connection_lost`,
        `short_body`, `too_large`, `bad_encoding`, `bad_answer`.
        """
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        if json is not None:
            body = json_text.dumps(json, ensure_ascii=False, allow_nan=False).encode()
            headers = {**(headers or {}), "Content-Type": "application/json"}
        try:
            place, target = read(url)
            message = _message(method, target, place.head, headers, body)
            answer = await self._pool.answer_to(place, method, message, deadline=deadline)
        except NeverConnected as error:
            raise NeverConnected(error.reason, f"{method} {shown(url)}: {error}") from error.__cause__
        except Unanswered as error:
            problem = f"{method} {shown(url)}: {error.reason.replace('_', ' ')}"
            raise RemoteUnavailable(error.reason, problem) from error.__cause__
        encoding = answer.headers.get("content-encoding")
        if not encoding:
            return answer
        return replace(answer, body=decoded(answer.body, encoding, max_bytes=self._max_answer_bytes))

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        *,
        guard: UrlGuard,
        headers: Mapping[str, str] | None = None,
        answer_seconds: float = 30.0,
    ) -> AsyncIterator[Stream]:
        """GET an untrusted URL (R4). The guard sees the URL and then the address connected to.

        The head must be there within *answer_seconds*; the body's deadline is the caller's. Raises like
        `request`, and UrlRefused.
        """
        checked = guard.check(url)
        phase = Phase()
        sent = {"Accept-Encoding": "identity", **(headers or {})}
        with translated(phase, shown(url)):
            session = await self._fetch_session(guard, checked.is_exact_origin)
            context = SimpleNamespace(phase=phase)
            async with asyncio.timeout(answer_seconds):
                answer = await session.get(
                    checked.url, headers=sent, allow_redirects=False, trace_request_ctx=context
                )
        try:
            yield Stream(answer, phase)
        finally:
            answer.close()

    async def _fetch_session(self, guard: UrlGuard, is_exact_origin: bool) -> aiohttp.ClientSession:
        key = (guard, is_exact_origin)
        if key not in self._sessions:
            await self._open(key, fetch_connector(None if is_exact_origin else guard.permits_address))
        return self._sessions[key]

    async def _open(self, key: object, connector: aiohttp.TCPConnector) -> None:
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_CHUNK,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            trace_configs=[phase_tracing()],
            skip_auto_headers={"User-Agent"},
            requote_redirect_url=False,
        )
        self._sessions[key] = await self._stack.enter_async_context(session)


def _message(
    method: str, target: str, head: str, headers: Mapping[str, str] | None, body: bytes | None
) -> bytes:
    """A whole request; ValueError for a header that would be more than one."""
    lines = f"{method} {target}{head}"
    if headers is None or not any(name.lower() == "accept-encoding" for name in headers):
        lines += "Accept-Encoding: identity\r\n"
    for name, value in (headers or {}).items():
        line = f"{name}: {value}"
        if not _HEADER.fullmatch(line):
            raise ValueError(f"the header {name[:40]!r} cannot be sent")
        lines += line + "\r\n"
    if method not in KEPT:
        lines += f"Content-Length: {len(body or b'')}\r\nConnection: close\r\n"
    return (lines + "\r\n").encode() + (body or b"")


def joined(base: str, location: str) -> str:
    """Where a `Location` of *base* leads, as the client itself would read it."""
    return str(URL(base).join(URL(location)))


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
