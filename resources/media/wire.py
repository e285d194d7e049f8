"""What parent and child say to each other: JSON heads with a length, raw pictures after the last one.

Nothing is ever unpickled. The parent reads a child that may have been taken over: every length is bounded
and every head must be an object.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

from resources.media.limits import MAX_ANSWER_BYTES

_LENGTH = struct.Struct(">I")


class Broken(Exception):
    """The other side closed, or sent what is no message."""


class Late(Exception):
    """Nothing came before the deadline."""


def send_head(peer: socket.socket, head: dict[str, Any]) -> None:
    body = json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode()
    peer.sendall(_LENGTH.pack(len(body)) + body)


def receive_head(peer: socket.socket, deadline: float | None = None) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(receive(peer, _LENGTH.size, deadline))
    if length > MAX_ANSWER_BYTES:
        raise Broken(f"a head of {length} bytes")
    try:
        head = json.loads(receive(peer, length, deadline))
    except ValueError as error:
        raise Broken("a head that is no JSON") from error
    if not isinstance(head, dict):
        raise Broken("a head that is no object")
    return head


def receive(peer: socket.socket, length: int, deadline: float | None = None) -> bytes:
    """Exactly `length` bytes; `deadline` is on the monotonic clock."""
    parts = bytearray()
    while len(parts) < length:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            peer.settimeout(left)
        try:
            part = peer.recv(min(length - len(parts), 1 << 20))
        except TimeoutError as error:
            raise Late from error
        except OSError as error:
            raise Broken(str(error)) from error
        if not part:
            raise Broken("closed")
        parts += part
    return bytes(parts)
