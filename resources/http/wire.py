"""One HTTP/1.1 connection to a trusted API: a request out, a whole and bounded answer back.

Belongs here: bytes, framing, the deadline of one answer, and whether the connection may be used again. Does
not belong here: how connections come about (`origins`), who gets which one (`pool`), what an answer means.

A look at a remote job is a request of a hundred bytes, and there are tens of thousands of them: so one parser
a connection, written in C and strict, one future a request, and one timer a connection, which is only looked
at when it rings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httptools

from pipeline.domain.polling import retry_after_from

#: Bytes that are no body (heads, 1xx answers, the framing of chunks, trailers), and how many more a body byte
#: may bring with it: a chunk of one byte costs six.
MAX_HEAD_BYTES = 64 * 1024
_FRAMING_A_BYTE = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole, bounded answer. Header names are lower case; of repeated ones the last counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after_seconds(self) -> float | None:
        """What `Retry-After` asks, measured by the server's own `Date`; None when it says nothing."""
        return retry_after_from(self.headers)


class Unanswered(Exception):
    """The connection gave no whole answer. `was_silent`: not one byte of an answer came."""

    def __init__(self, reason: str, *, was_silent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.was_silent = was_silent


class Connection(asyncio.Protocol):
    """One request at a time; whatever is wrong with an answer ends the connection with it."""

    _transport: asyncio.Transport

    def __init__(self, max_body_bytes: int, all_open: set[Connection]) -> None:
        """It stands in *all_open* as long as there is anything of it."""
        self._max_body_bytes = max_body_bytes
        self._all_open = all_open
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self.is_reusable = False  #: the last answer ended cleanly, and the server keeps the connection
        self.idle_since = 0.0  #: loop time

    def answer_to(self, request: bytes, *, deadline: float, has_body: bool = True) -> asyncio.Future[Answer]:
        """Write *request* at once. Its answer comes by *deadline* (loop time), or fails with `Unanswered`.

        *has_body* is False for HEAD alone, whose answer only describes one.
        """
        self._status = self._received = self._body_bytes = 0
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._has_head = self._is_whole = self.is_reusable = False
        self._has_body = has_body
        self._waiter = waiter = self._loop.create_future()
        self._watch(deadline)
        self._transport.write(request)
        return waiter

    def end(self) -> None:
        """Close at once. An answer that is still awaited fails."""
        self.is_reusable = False
        self._transport.abort()

    def _watch(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        """The timer may be that of an earlier request: this one then has time left."""
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail("timed_out")
        else:
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_clock)

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        self._all_open.add(self)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            self.end()  # nobody asked
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.is_reusable = False
            if not self._is_whole:
                self._fail("bad_answer", error)
                return
        if self._body_bytes > self._max_body_bytes:
            self._fail("too_large")
        elif self._is_whole:
            self._succeed()
        elif self._received - (_FRAMING_A_BYTE + 1) * self._body_bytes > MAX_HEAD_BYTES:
            self._fail("bad_answer")

    def connection_lost(self, error: Exception | None) -> None:
        self.is_reusable = False
        self._all_open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._waiter is not None:
            if self._has_head and self._ends_with_the_connection and error is None:
                self._succeed()
            else:
                self._fail("short_body" if self._has_head else "connection_lost", error)
        del self._parser  # it holds this object, and this object it

    @property
    def _ends_with_the_connection(self) -> bool:
        return not ({"content-length", "transfer-encoding"} & self._headers.keys())

    # What the parser calls

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise ValueError("more came than was asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:  # trailers say nothing that is asked for
            text = value.decode("utf-8", "surrogateescape")
            self._headers[name.decode("latin-1").lower()] = text.strip(" \t")

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self._has_head = self._status >= 200
        if self._has_head and not self._has_body:
            self._is_whole = True

    def on_body(self, piece: bytes) -> None:
        self._body.append(piece)
        self._body_bytes += len(piece)

    def on_message_complete(self) -> None:
        if self._has_head:
            self.is_reusable = not self._is_whole and self._parser.should_keep_alive()
            self._is_whole = True
        else:
            self._headers = {}  # 1xx: the answer is still to come

    # How a request ends

    def _succeed(self) -> None:
        waiter, self._waiter = self._waiter, None
        self.idle_since = self._loop.time()
        if not self.is_reusable:
            self.end()
        if waiter is not None and not waiter.done():
            waiter.set_result(Answer(self._status, self._headers, b"".join(self._body)))

    def _fail(self, reason: str, cause: BaseException | None = None) -> None:
        waiter, self._waiter = self._waiter, None
        self.end()
        if waiter is not None and not waiter.done():
            error = Unanswered(reason, was_silent=not self._received)
            error.__cause__ = cause
            waiter.set_exception(error)
