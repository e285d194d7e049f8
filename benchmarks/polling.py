"""10,000 due jobs at 200 ms remote latency: how soon they are polled, and at what price (P1, P5).

All are due at the same moment, which no steady stream of work ever is; every fifth is done, so that moves
with their audit, usage, hold and lane are among the commits. The real poll step runs as its sensor runs it:
ticks of 20 s, 5 s apart. A reader beside it sees what is committed.

The CPU of this process without the reader's, from first claim to last commit, stands against the same 10,000
GETs by raw asyncio sockets with the same concurrency, which parse nothing and commit nothing; and, stated,
against the same GETs by aiohttp alone.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp
import sqlalchemy as sa

from benchmarks.databases import Bench, each_database, seed, settle
from benchmarks.figures import Figure, at_most, own_cpu, shown
from pipeline.domain.provider_terms import ModelTerms, PollPace, ProviderTerms
from pipeline.steps.produce.poll import poll
from resources.database import schema
from resources.database.database import Database, Transaction
from resources.database.lanes import set_caps
from resources.providers.registry import adapter

TENANTS, JOBS, CONCURRENCY = 50, 10_000, 200
TICK_SECONDS, PAUSE_SECONDS, LIMIT_SECONDS = 20.0, 5.0, 120.0
SHARE = 0.95
HOUR = 3_600_000_000


def benchmark() -> Iterator[Figure]:
    with each_database() as benches, _slow_provider() as port:
        gc.freeze()  # as the code server does with what it loaded; both sides gain
        for bench in benches:
            yield from _of(bench, port)


def _of(bench: Bench, port: int) -> Iterator[Figure]:
    handles = _start_jobs(bench.database)
    asyncio.run(_raw_gets(port, handles))  # unmeasured: what runs for the first time costs a tenth more
    with own_cpu() as bare:
        asyncio.run(_raw_gets(port, handles))
    with own_cpu() as library:
        asyncio.run(_library_gets(port, handles))
    with _Reader(bench.database) as seen, own_cpu() as ours:
        _poll_all(bench.database, _terms(port))
    ours.seconds -= seen.cpu_seconds
    took, all_of_it = seen.seconds_until(SHARE), f"all in {shown(seen.seconds_until(1))}"
    name = f"{JOBS:,} due jobs at 200 ms, {bench.dialect}"
    yield Figure(f"{name}: seconds until 95 % are polled", took, shown(took), all_of_it, at_most(30))
    for against, other, goal in (("raw sockets", bare, at_most(8)), ("bare aiohttp", library, None)):
        ratio = ours.seconds / other.seconds
        label = f"{name}: CPU of polling against {against}"
        yield Figure(label, ratio, shown(ours.seconds), shown(other.seconds), goal)


def _terms(port: int) -> ProviderTerms:
    return ProviderTerms(
        name="bench",
        adapter="local",
        base_url=f"http://127.0.0.1:{port}",
        allow_private_origin=True,
        models={"kenburns-1": ModelTerms(price_per_second=1)},  # type: ignore[arg-type]
        polls_per_second=2_000,
        poll_concurrency=CONCURRENCY,
        pace=PollPace(first_seconds=2 * LIMIT_SECONDS),  # one look each, and not a second one meanwhile
    )


def _start_jobs(database: Database) -> Sequence[str]:
    """Remote jobs that were all accepted, and whose first look is due now."""
    seed(
        database, "tenant", tenants=TENANTS, campaigns=1, attempts=JOBS // TENANTS,
        state="generating", submission="accepted", version=2, entity_version=2, lease_token=1, lane_held=1,
        quote=1_000_000,
    )  # fmt: skip
    database.run(lambda tx: set_caps(tx, "bench", cap=JOBS, tenant_cap=JOBS))
    database.run(_begin)
    settle(database)
    with database.reading() as connection:
        return connection.scalars(sa.select(schema.attempts.c.handle)).all()


def _begin(tx: Transaction) -> None:
    found = schema.attempts.c
    times = {"submitted_at": tx.now, "deadline_at": tx.now + HOUR, "purge_horizon_at": tx.now + 24 * HOUR}
    started = sa.update(schema.attempts).values(handle=found.id, next_poll_at=tx.now, **times)
    tx.connection.execute(started)
    columns = ("attempt", "tenant", "campaign", "amount", "currency", "state", "opened_at")
    opened = (sa.literal("open"), sa.literal(tx.now, sa.BigInteger))
    held = sa.select(found.id, found.tenant, found.campaign, found.quote, found.currency, *opened)
    tx.connection.execute(sa.insert(schema.holds).from_select(columns, held))
    each = JOBS // TENANTS
    tx.connection.execute(sa.update(schema.budgets).values(held=each * 1_000_000))
    is_everyone = schema.lanes.c.tenant == "*"
    tx.connection.execute(sa.update(schema.lanes).values(in_flight=sa.case((is_everyone, JOBS), else_=each)))


def _poll_all(database: Database, terms: ProviderTerms) -> None:
    """Ticks as the sensor makes them, until every job was looked at once."""
    provider, began = adapter(terms), time.monotonic()
    looks = 0
    while looks < JOBS:
        assert time.monotonic() - began < LIMIT_SECONDS, f"{looks} looks in {LIMIT_SECONDS} s"
        report = poll(database, {"bench": provider}, {"bench": terms}, budget_seconds=TICK_SECONDS)
        looks += report.looks
        assert not report.counts["lost"]
        if looks < JOBS:
            time.sleep(PAUSE_SECONDS)


@dataclass(slots=True)
class _Reader:
    """Sees from its own connection how many jobs have a committed look."""

    database: Database
    _seen: list[tuple[float, int]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    cpu_seconds: float = 0.0  #: its own, which no poller would spend

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _read(self) -> None:
        began = time.monotonic()
        looked = sa.select(sa.func.count()).where(schema.attempts.c.poll_count > 0)
        is_last = False
        while not is_last:
            is_last = self._stop.wait(0.5)
            with self.database.reading() as connection:
                count = connection.scalar(looked) or 0
            self._seen.append((time.monotonic() - began, count))
        self.cpu_seconds = time.thread_time()

    def seconds_until(self, share: float) -> float:
        return next((at for at, count in self._seen if count >= share * JOBS), float("inf"))


@contextmanager
def _slow_provider() -> Iterator[int]:
    argv = [sys.executable, "-m", "benchmarks.slow_provider"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        assert process.stdin is not None
        process.stdin.close()


async def _raw_gets(port: int, handles: Sequence[str]) -> None:
    """One GET a handle over kept connections; nothing is understood but where an answer ends."""
    waiting = iter(handles)

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for handle in waiting:
            writer.write(f"GET /jobs/{handle} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.rsplit(b"Content-Length: ", 1)[1].split(b"\r\n", 1)[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    async with asyncio.TaskGroup() as workers:
        for _ in range(CONCURRENCY):
            workers.create_task(work())


async def _library_gets(port: int, handles: Sequence[str]) -> None:
    """The same by aiohttp, whose answers are read and thrown away."""
    waiting = iter(handles)
    connector = aiohttp.TCPConnector(limit=CONCURRENCY)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for handle in waiting:
                async with session.get(f"http://127.0.0.1:{port}/jobs/{handle}") as answer:
                    await answer.read()

        async with asyncio.TaskGroup() as workers:
            for _ in range(CONCURRENCY):
                workers.create_task(work())
