"""Where a URL of an API leads, and how a connection comes about there.

Belongs here: reading a trusted URL, names to addresses, TLS, and the reasons for which no connection comes
about. Does not belong here: what goes over a connection (`wire`), untrusted URLs (`connecting`).
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import aiohappyeyeballs
from yarl import URL

from pipeline.domain.errors import NeverConnected
from resources.http.wire import Connection

#: Names are asked again after this long: a provider that moves must not be lost until a restart.
_NAME_SECONDS = 10.0
#: A second address of a name is tried beside the first one after this long (RFC 8305).
_NEXT_ADDRESS_SECONDS = 0.25

#: What needs no second reading: a scheme, a plain host, and characters that stand for themselves.
_PLAIN = re.compile(r"(https?://[a-z0-9.-]+(?::[0-9]{1,5})?)(/[A-Za-z0-9._~:/?@!$&'()*+,;=%-]*)")
#: First match wins.
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "timed_out"),
    (ssl.SSLCertVerificationError, "untrusted_certificate"),
    (ssl.SSLError, "tls_failed"),
    (socket.gaierror, "unknown_host"),
    (UnicodeError, "unknown_host"),
    (OSError, "refused"),
)

_Addresses = Sequence[tuple[Any, Any, int, str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An origin, and what of a request to it never changes. One object an origin, compared as such."""

    key: str
    host: str
    port: int
    is_tls: bool
    head: str  #: lines that every request to it carries


@lru_cache(maxsize=256)
def _place(origin: str) -> Place:
    url = URL(origin)
    if url.scheme not in ("http", "https") or not url.raw_host or not url.port:
        raise ValueError("no http or https URL with a host")
    head = f" HTTP/1.1\r\nHost: {url.host_port_subcomponent}\r\nAccept: */*\r\n"
    if url.raw_user or url.raw_password:
        token = base64.b64encode(f"{url.user or ''}:{url.password or ''}".encode()).decode()
        head += f"Authorization: Basic {token}\r\n"
    return Place(origin, url.raw_host.rstrip("."), url.port, url.scheme == "https", head)


def read(url: str) -> tuple[Place, str]:
    """The place and the request target of *url*; NeverConnected `bad_url` for one that cannot be asked."""
    plain = _PLAIN.fullmatch(url)
    try:
        if plain is not None:
            return _place(plain[1]), plain[2]
        parsed = URL(url)
        return _place(str(parsed.with_path("/").with_query(None).with_fragment(None))), parsed.raw_path_qs
    except ValueError:
        # without its cause: the text of a ValueError may hold the whole URL
        raise NeverConnected("bad_url", "bad url") from None


class Roads:
    """Opens connections; asks for the addresses of a name once for all that open at the same time."""

    def __init__(self, max_body_bytes: int, trust: ssl.SSLContext | None) -> None:
        self._max_body_bytes = max_body_bytes
        self._trust = trust
        self._open: set[Connection] = set()
        self._known: dict[Place, tuple[float, asyncio.Future[_Addresses]]] = {}

    async def open(self, place: Place, *, deadline: float) -> Connection:
        """A fresh connection, TLS agreed; NeverConnected when there is none by *deadline* (loop time)."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._connected(place)
        except tuple(kind for kind, _ in _REASONS) as error:
            reason = next(reason for kind, reason in _REASONS if isinstance(error, kind))
            raise NeverConnected(reason, reason.replace("_", " ")) from error

    async def _connected(self, place: Place) -> Connection:
        road = await aiohappyeyeballs.start_connection(
            await self._addresses(place), happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, interleave=1
        )
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._max_body_bytes, self._open),
            sock=road,
            ssl=(self._trust or _trusting_the_system()) if place.is_tls else None,
            server_hostname=place.host if place.is_tls else None,
        )
        return connection

    async def close(self) -> None:
        """End every connection, and wait until nothing of them is left in the loop."""
        for connection in self._open:
            connection.end()
        while self._open:
            await asyncio.sleep(0)

    async def _addresses(self, place: Place) -> _Addresses:
        loop = asyncio.get_running_loop()
        until, asked = self._known.get(place, (0.0, None))
        if asked is None or loop.time() >= until or (asked.done() and asked.exception() is not None):
            name = loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            asked = asyncio.ensure_future(name)
            self._known[place] = (loop.time() + _NAME_SECONDS, asked)
        return await asyncio.shield(asked)


@lru_cache(maxsize=1)
def _trusting_the_system() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
