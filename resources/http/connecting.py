"""How connections to untrusted URLs come about, and the one place where aiohttp's errors become ours.

Belongs here: the connector, the proof that nothing was sent, the table of foreign errors. Does not
belong here: requests (`client`), connections to APIs (`origins`) or rules about addresses (`url_guard`).
"""

from __future__ import annotations

import functools
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from pipeline.domain.errors import NeverConnected, RemoteUnavailable, UrlRefused

PermitsAddress = Callable[[str], bool]


@dataclass(slots=True)
class Phase:
    """How far one request came. Only `connected is False` proves that nothing was sent."""

    connected: bool = False


class ForbiddenAddress(OSError):
    """The name resolved to an address that the guard does not permit; no packet went there."""


#: First match wins. `connected` says whether a connection must have existed for the error to appear.
REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "timed_out"),
    (aiohttp.ClientConnectorCertificateError, "untrusted_certificate"),
    (aiohttp.ClientSSLError, "tls_failed"),
    (aiohttp.ClientConnectorDNSError, "unknown_host"),
    (aiohttp.ClientConnectorError, "refused"),
    (aiohttp.InvalidURL, "bad_url"),
    (aiohttp.ClientPayloadError, "short_body"),
    (aiohttp.ServerDisconnectedError, "connection_lost"),
    (aiohttp.ClientResponseError, "bad_answer"),
    (aiohttp.ClientError, "connection_lost"),
    (OSError, "connection_lost"),
)


#: Their texts hold the whole URL, and tracebacks end up in logs.
_SHOWING_THE_QUERY = (aiohttp.ClientResponseError, aiohttp.InvalidURL)


@contextmanager
def translated(phase: Phase, what: str) -> Iterator[None]:
    """Every error of the library leaves as NeverConnected, UrlRefused or RemoteUnavailable.

    *what* names the request without its query, which may be a signature (C42).
    """
    try:
        yield
    except tuple(kind for kind, _ in REASONS) as error:
        if isinstance(getattr(error, "os_error", None), ForbiddenAddress):
            raise UrlRefused("private_address", f"{what} leads to a forbidden address") from error
        reason = next(reason for kind, reason in REASONS if isinstance(error, kind))
        known = RemoteUnavailable if phase.connected else NeverConnected
        cause = None if isinstance(error, _SHOWING_THE_QUERY) else error
        raise known(reason, f"{what}: {reason.replace('_', ' ')}") from cause


def phase_tracing() -> aiohttp.TraceConfig:
    """Marks the phase as soon as a connection exists: before a byte of the request is written."""
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(_mark_connected)
    tracing.on_connection_reuseconn.append(_mark_connected)
    return tracing


async def _mark_connected(_: aiohttp.ClientSession, context: SimpleNamespace, __: Any) -> None:
    context.trace_request_ctx.phase.connected = True


def fetch_connector(permits: PermitsAddress | None) -> aiohttp.TCPConnector:
    """For untrusted URLs: no kept connection, and each address is checked where it is connected to.

    The check sits in the socket factory, after every resolution and for literal addresses too, so a
    name that changes its address between check and use (C10) cannot slip through. None permits all.
    """
    return _FetchConnector(
        force_close=True, use_dns_cache=False, socket_factory=functools.partial(_checked_socket, permits)
    )


def _checked_socket(permits: PermitsAddress | None, address: Any) -> socket.socket:
    family, kind, protocol, _, place = address
    if permits is not None and not permits(place[0]):
        raise ForbiddenAddress("the address is not permitted")
    return socket.socket(family, kind, protocol)


class _FetchConnector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = functools.partial(_LenientHead, loop=self._loop)


_HEAD_CAP = 64 * 1024
_UNREADABLE_LENGTH = re.compile(rb"\r\ncontent-length:(?![ \t]*\d+[ \t]*\r\n)[^\r\n]*(?=\r\n)", re.IGNORECASE)


class _LenientHead(ResponseHandler):
    """Drops a `Content-Length` that is no number, so that the length counts as unknown (C43).

    The library refuses the whole answer otherwise. Safe because the connection is never reused.
    """

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self._head: bytearray | None = bytearray()

    def data_received(self, data: bytes) -> None:
        if self._head is None:
            super().data_received(data)
            return
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > _HEAD_CAP:
            head, _, rest = bytes(self._head).partition(b"\r\n\r\n")
            self._head = None
            clean = _UNREADABLE_LENGTH.sub(b"", head + b"\r\n")
            super().data_received(clean + b"\r\n" + rest)
