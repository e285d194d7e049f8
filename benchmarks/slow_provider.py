"""`python -m benchmarks.slow_provider`: a provider that answers every status request after 200 ms.

Speaks the local renderer's wire format over plain sockets, so that it takes as little of the machine as it
can. Every fifth job is done. Prints its port, serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import zlib

LATENCY_SECONDS = 0.2


class _Connection(asyncio.Protocol):
    """One kept connection; requests have no body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._unread = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._unread = (self._unread + data).split(b"\r\n\r\n")
        for request in requests:
            handle = request.split(b" ", 2)[1].rsplit(b"/", 1)[1].decode()
            asyncio.get_running_loop().call_later(LATENCY_SECONDS, self._answer, handle)

    def _answer(self, handle: str) -> None:
        if not self._transport.is_closing():
            self._transport.write(_answer(handle))


def _answer(handle: str) -> bytes:
    is_done = zlib.crc32(handle.encode()) % 5 == 0
    output = {
        "url": f"http://127.0.0.1/outputs/{handle}.mp4",
        "expires_at": "2099-01-01T00:00:00Z",
        "size_bytes": 20_000,
        "sha256": "0" * 64,
    }
    job = {
        "id": handle,
        "reference": handle,
        "status": "succeeded" if is_done else "running",
        "error": None,
        "output": output if is_done else None,
        "units": 1 if is_done else None,
    }
    body = json.dumps(job).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
