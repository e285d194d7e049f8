"""Who gets which connection to an API: kept ones for GETs, a fresh one for everything that may cost money.

Belongs here: how many are used at once, how long an idle one is kept, and the one repetition there is. Does
not belong here: bytes (`wire`), opening (`origins`).
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Callable

from pipeline.domain.errors import NeverConnected
from resources.http.origins import Place, Roads
from resources.http.wire import Answer, Connection, Unanswered

#: A name or an address that does not answer by then is not there; the whole deadline is the caller's.
CONNECT_SECONDS = 10.0
#: Servers and the boxes between close idle connections; the usual limits are longer than this.
_IDLE_SECONDS = 15.0
#: A paid POST never rides a kept connection: a server that closed it meanwhile would make
#: "nothing was sent" look like "a send may have happened".
KEPT = frozenset({"GET", "HEAD"})


class Pool:
    """The connections of one client in one event loop."""

    def __init__(
        self,
        *,
        connections: int,
        max_body_bytes: int,
        trust: ssl.SSLContext | None,
        may_post: Callable[[], bool] | None,
    ) -> None:
        self._turns = asyncio.Semaphore(connections)
        self._roads = Roads(max_body_bytes, trust)
        self._may_post = may_post
        self._idle: defaultdict[Place, list[Connection]] = defaultdict(list)

    async def answer_to(self, place: Place, method: str, request: bytes, *, deadline: float) -> Answer:
        """The answer to *request*; NeverConnected, or Unanswered when it may have been taken."""
        if self._turns.locked():
            await self._turn(deadline)
        else:
            await self._turns.acquire()
        connection = self._kept(place) if method in KEPT else None
        may_be_closed = connection is not None
        try:
            while True:
                if connection is None:
                    connection = await self._fresh(place, method, deadline)
                try:
                    answer = await connection.answer_to(request, deadline=deadline, has_body=method != "HEAD")
                except Unanswered as error:
                    if not (may_be_closed and error.was_silent and error.reason == "connection_lost"):
                        raise
                    # The server had closed the idle connection; a GET is asked again, once.
                    connection, may_be_closed = None, False
                else:
                    self._after(connection, place, method)
                    return answer
        except BaseException:
            if connection is not None:
                connection.end()
            raise
        finally:
            self._turns.release()

    async def close(self) -> None:
        self._idle.clear()
        await self._roads.close()

    async def _turn(self, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire()
        except TimeoutError as error:
            raise NeverConnected("timed_out", "no connection was free in time") from error

    def _after(self, connection: Connection, place: Place, method: str) -> None:
        if method in KEPT and connection.is_reusable:
            self._idle[place].append(connection)
        else:
            connection.end()

    def _kept(self, place: Place) -> Connection | None:
        """The one that was used last; what lay too long, or was closed meanwhile, is let go."""
        idle = self._idle[place]
        oldest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while idle:
            connection = idle.pop()
            if connection.is_reusable and connection.idle_since >= oldest:
                return connection
            connection.end()
        return None

    async def _fresh(self, place: Place, method: str, deadline: float) -> Connection:
        """One over which nothing went yet. *may_post* is asked last, and nothing is awaited after it.

        A connection may take its seconds, and a process may be frozen in them for as long as it pleases
        somebody.
        """
        now = asyncio.get_running_loop().time()
        connection = await self._roads.open(place, deadline=min(deadline, now + CONNECT_SECONDS))
        if method == "POST" and self._may_post is not None and not self._may_post():
            connection.end()
            raise NeverConnected("no_longer_ours", "the POST may not be sent any more; nothing was")
        return connection
