"""A relay between product and server that spoils traffic on order: cuts, delays, loses answers.

Belongs here: bytes, and the heads of requests for those who count them. Does not belong here: any protocol
above what says which request it is: HTTP's head, PostgreSQL's statement.
"""

from __future__ import annotations

import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

HTTP = re.compile(rb"((?:PUT|POST|GET|HEAD|DELETE) \S+ HTTP/1\.1\r\n.*?\r\n\r\n)", re.DOTALL)
#: A query's message: Q, its length, its text. Libpq sends one at a time.
POSTGRESQL = re.compile(rb"\AQ.{4}([^\0]+)", re.DOTALL)


@dataclass
class Order:
    """What to do to the next *times* requests whose head matches."""

    matches: Callable[[str], bool]
    times: int = 1
    skip: int = 0  #: so many that match go by before
    lose_answer: bool = False  #: the server works, its answer never comes
    cut_request_at: int | None = None  #: the connection ends after so many bytes of the request
    cut_answer_at: int | None = None  #: … of the answer
    delay_seconds: float = 0.0  #: before the answer comes
    spoil: bool = False  #: one byte of the body is changed on the way
    answer: bytes = b""  #: said in place of the server, which hears nothing of the request
    asked: Callable[[], None] | None = None  #: called when the request, or its beginning, was passed on
    answered: Callable[[], None] | None = None  #: called when the answer came, which is lost then


@dataclass
class Relay:
    target: tuple[str, int] | Path
    path: Path | None = None  #: listens on this unix socket instead of on a port
    head: re.Pattern[bytes] = HTTP
    heads: list[str] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listener = _listener(self.path)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def order(self, method: str, **what: object) -> None:
        """Spoil requests whose first line begins with *method*, e.g. `PUT /bucket/key`."""
        self.orders.append(Order(lambda head: head.startswith(method), **what))  # type: ignore[arg-type]

    def count(self, method: str) -> int:
        return sum(head.startswith(method) for head in self.heads)

    def close(self) -> None:
        for one in [self._listener, *self._open]:
            _shut(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = _connected(self.target)
            except OSError:
                _shut(client)  # the server is away, and comes back
                continue
            self._open += [client, server]
            threading.Thread(target=_Pair(self, client, server).run, daemon=True).start()

    def taken(self, head: str) -> Order | None:
        self.heads.append(head)
        for one in self.orders:
            if one.times > 0 and one.matches(head):
                if one.skip:
                    one.skip -= 1
                    continue
                one.times -= 1
                return one
        return None


class _Pair:
    """One connection of a client and its other half."""

    def __init__(self, relay: Relay, client: socket.socket, server: socket.socket) -> None:
        self.relay, self.client, self.server = relay, client, server
        self.order: Order | None = None
        self.sent = self.answered = 0

    def run(self) -> None:
        threading.Thread(target=self._answers, daemon=True).start()
        with suppress(OSError):
            while data := self.client.recv(1 << 16):
                if not self._pass_on(data):
                    break
        self._end()

    def _say(self, answer: bytes) -> bool:
        """And hear the request to its end, or the answer would be lost with the connection."""
        self.client.sendall(answer)
        self.client.shutdown(socket.SHUT_WR)
        while self.client.recv(1 << 16):
            pass
        return False

    def _pass_on(self, data: bytes) -> bool:
        body_at = 0
        for head in self.relay.head.finditer(data):
            self.order = self.relay.taken(head.group(1).decode("latin1"))
            self.sent = self.answered = 0
            body_at = head.end()
        order = self.order
        if order and order.answer:
            return self._say(order.answer)
        if order and order.spoil and len(data) > body_at:
            data, order.spoil = data[:-1] + bytes([data[-1] ^ 1]), False
        if order and order.cut_request_at is not None and self.sent + len(data) > order.cut_request_at:
            self.server.sendall(data[: order.cut_request_at - self.sent])
            return False
        self.sent += len(data)
        self.server.sendall(data)
        if order and order.asked:
            then, order.asked = order.asked, None
            then()
        return True

    def _answers(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(1 << 16):
                if not self._answer(data):
                    break
        self._end()

    def _answer(self, data: bytes) -> bool:
        order = self.order
        if order is None or data.startswith(b"HTTP/1.1 100"):
            self.client.sendall(data)
            return True
        if order.delay_seconds and not self.answered:
            time.sleep(order.delay_seconds)
        if order.answered:
            order.answered()
        if order.lose_answer or order.answered:
            return False
        if order.cut_answer_at is not None and self.answered + len(data) > order.cut_answer_at:
            self.client.sendall(data[: order.cut_answer_at - self.answered])
            return False
        self.answered += len(data)
        self.client.sendall(data)
        return True

    def _end(self) -> None:
        _shut(self.client)
        _shut(self.server)


def _listener(path: Path | None) -> socket.socket:
    if path is None:
        return socket.create_server(("127.0.0.1", 0), backlog=64)
    one = socket.socket(socket.AF_UNIX)
    one.bind(str(path))
    one.listen(64)
    return one


def _connected(target: tuple[str, int] | Path) -> socket.socket:
    if isinstance(target, tuple):
        return socket.create_connection(target)
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect(str(target))
    except OSError:
        one.close()
        raise
    return one


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def relaying(port: int) -> Iterator[Relay]:
    with _open(Relay(("127.0.0.1", port))) as relay:
        yield relay


@contextmanager
def relaying_postgresql(folder: Path) -> Iterator[Relay]:
    """To the server whose socket lies in *folder*; ours lies in a folder of its own, `relay.path`'s."""
    name = ".s.PGSQL.5432"
    with (
        tempfile.TemporaryDirectory(prefix="rwrelay-", dir="/tmp") as ours,
        _open(Relay(folder / name, Path(ours, name), POSTGRESQL)) as relay,
    ):
        yield relay


@contextmanager
def _open(relay: Relay) -> Iterator[Relay]:
    try:
        yield relay
    finally:
        relay.close()
