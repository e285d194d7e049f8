"""The HTTP client of every adapter: bounded, nothing followed, nothing sent twice.

Belongs here: sessions, deadlines, caps, and the translation of the library's errors. Does not belong
here: what an answer means (adapters), which address may be fetched (`url_guard`), files (`download`).
"""

from __future__ import annotations

import asyncio
import json as json_text
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from pipeline.domain.errors import RemoteUnavailable
from pipeline.domain.polling import retry_after_from
from resources.http.connecting import Phase, asking, fetch_connector, phase_tracing, translated
from resources.http.encoding import decoded
from resources.http.url_guard import UrlGuard, shown

MAX_ANSWER_BYTES = 1 << 20
#: A name or an address that does not answer by then is not there; the whole deadline is the caller's.
CONNECT_SECONDS = 10.0
_CHUNK = 1 << 20
#: A paid POST never rides a kept connection: a server that closed it meanwhile would make
#: "nothing was sent" look like "a send may have happened".
_KEPT = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole, bounded answer. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after_seconds(self) -> float | None:
        """What `Retry-After` asks, measured by the server's own `Date`; None when it says nothing."""
        return retry_after_from(self.headers)


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
    ) -> None:
        """*may_post* is asked before the first byte of each POST; one that must not leave never does."""
        self._request_class = asking(may_post) if may_post else aiohttp.ClientRequest
        self._connections = connections
        self._max_answer_bytes = max_answer_bytes
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
        sent = {"Accept-Encoding": "identity", **(headers or {})}
        if json is not None:
            body = json_text.dumps(json, ensure_ascii=False, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        phase = Phase()
        with translated(phase, f"{method} {shown(url)}"):
            async with asyncio.timeout(timeout_seconds):
                return await self._answer(method, url, sent, body, phase)

    async def _answer(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, phase: Phase
    ) -> Answer:
        session = await self._api_session(kept=method in _KEPT)
        context = SimpleNamespace(phase=phase)
        async with session.request(
            method, url, headers=headers, data=body, allow_redirects=False, trace_request_ctx=context
        ) as answer:
            names = _lower(answer.headers)
            return Answer(answer.status, names, await self._bounded_body(answer, names))

    async def _bounded_body(self, answer: aiohttp.ClientResponse, headers: Mapping[str, str]) -> bytes:
        raw = bytearray()
        async for chunk in answer.content.iter_any():
            raw += chunk
            if len(raw) > self._max_answer_bytes:
                raise RemoteUnavailable("too_large", f"an answer passed {self._max_answer_bytes} bytes")
        return decoded(bytes(raw), headers.get("content-encoding", ""), max_bytes=self._max_answer_bytes)

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

    async def _api_session(self, *, kept: bool) -> aiohttp.ClientSession:
        if kept not in self._sessions:
            connector = aiohttp.TCPConnector(limit=self._connections, force_close=not kept)
            await self._open(kept, connector)
        return self._sessions[kept]

    async def _fetch_session(self, guard: UrlGuard, is_exact_origin: bool) -> aiohttp.ClientSession:
        key = (guard, is_exact_origin)
        if key not in self._sessions:
            await self._open(key, fetch_connector(None if is_exact_origin else guard.permits_address))
        return self._sessions[key]

    async def _open(self, key: object, connector: aiohttp.TCPConnector) -> None:
        session = aiohttp.ClientSession(
            connector=connector,
            request_class=self._request_class,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_CHUNK,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            trace_configs=[phase_tracing()],
            skip_auto_headers={"User-Agent"},
            requote_redirect_url=False,
        )
        self._sessions[key] = await self._stack.enter_async_context(session)


def joined(base: str, location: str) -> str:
    """Where a `Location` of *base* leads, as the client itself would read it."""
    return str(URL(base).join(URL(location)))


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
