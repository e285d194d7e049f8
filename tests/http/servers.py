"""Small real HTTP servers for tests: one that follows a script, byte by byte.

Belongs here: what a test needs on the other end of the wire. Does not belong here: providers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Site:
    """One listening server. `replies` maps a path (with query) to raw bytes; requests are kept as text."""

    port: int = 0
    replies: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    stays_open: bool = False  #: never close after a reply

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        writer.write(
            self.replies.get(head.split()[1], b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        )
        await writer.drain()
        if self.stays_open:
            await reader.read()


@asynccontextmanager
async def site(**replies: bytes) -> AsyncIterator[Site]:
    """A server on loopback; keyword `a=…` answers `/a`."""
    made = Site(replies={f"/{name}": reply for name, reply in replies.items()})
    server = await asyncio.start_server(made.talk, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def ok(body: bytes, *headers: str) -> bytes:
    """A whole, honest answer."""
    lines = "".join(f"{header}\r\n" for header in (f"Content-Length: {len(body)}", *headers))
    return b"HTTP/1.1 200 OK\r\n" + lines.encode() + b"\r\n" + body
