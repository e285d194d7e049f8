"""A worker of the sweep: the bare loop over all stages, without Dagster, until nothing is left to do.

Belongs here: the loop, the shared clock, when it is done. Does not belong here: points and deaths
(`plugin`), or what is asserted afterwards (`world`).
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa
from pydantic import SecretStr

import resources.connect
from pipeline.documents.settings import Settings
from pipeline.domain.errors import ReelwrightError
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.ingest import look_at_intake
from pipeline.steps.produce.stages import poll_tick, run_lot
from resources.adapters import Adapters
from resources.database.clock import database_clock
from resources.database.due import due_by_stage
from resources.media import Sandbox
from resources.media.sandbox import _Warm
from tests.faults.plugin import Points, hook

SECOND = 1_000_000
#: The database's time begins behind the real one and is moved on, never past it: a listing asked for what
#: came "since" a moment that lies in the provider's future would be empty.
BEHIND_SECONDS = 40_000
#: A round in which nothing was due moves the clock on by this much.
IDLE_SECONDS = 7
#: Real seconds until the next try where a server is away.
AWAY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Order:
    """What a child is to do: work on one installation, and maybe die or stop at one point."""

    home: str
    database_url: str
    store_url: str
    index_url: str
    providers: str
    clock: str
    log: str
    at: str | None = None
    stops: bool = False  #: SIGSTOP instead of SIGKILL
    rounds: int = 1_500  #: at most; a round takes some 20 ms when nothing is due
    is_alone: bool = True  #: False: it never moves the clock past a lease that somebody may hold
    endures: bool = False  #: what may help by trying again ends a round, as it would end a run of Dagster's

    def dump(self) -> str:
        return json.dumps(asdict(self))


class SharedClock:
    """The database's clock, plus seconds that test and workers share in a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not os.fstat(self._file).st_size:
            self._write(-BEHIND_SECONDS)

    def __call__(self, connection: sa.Connection) -> int:
        return database_clock(connection) + self._read() * SECOND

    def pass_seconds(self, seconds: int) -> None:
        at = self._read() + seconds
        assert at < 0, "the database's time ran past the real one"
        self._write(at)

    def close(self) -> None:
        os.close(self._file)

    def _read(self) -> int:
        return int(struct.unpack("q", os.pread(self._file, 8, 0))[0])

    def _write(self, seconds: int) -> None:
        os.pwrite(self._file, struct.pack("q", seconds), 0)


def opened(order: Order) -> tuple[Adapters, SharedClock]:
    settings = Settings(
        home=Path(order.home),
        database_url=SecretStr(order.database_url),
        store_url=order.store_url,
        index_url=order.index_url,
        allow_unsafe_database=True,
        providers=Path(order.providers),
    )
    adapters, clock = resources.connect.connect(settings), SharedClock(Path(order.clock))
    adapters.database.clock = clock
    return adapters, clock


def work(order: Order, sandbox: Sandbox) -> int:
    """Work until nothing is left to do; the exit status. Uses the sandbox that its parent has warm."""
    _Warm.usable = _is_usable  # type: ignore[method-assign,assignment]
    resources.connect.Sandbox = lambda: sandbox  # type: ignore[attr-defined,assignment,misc]
    points = Points(Path(order.log), order.at, signal.SIGSTOP if order.stops else signal.SIGKILL)
    hook(points)
    adapters, clock = _opened_in_the_end(order)
    for _ in range(order.rounds):
        with _endured(order):
            if is_done(adapters):
                return 0
            before = points.changes
            one_round(adapters)
            if points.changes == before:
                _wait(adapters, clock, is_alone=order.is_alone)
    print(f"not done after {order.rounds} rounds: {open_items(adapters)}", file=sys.stderr, flush=True)
    return 3


def _opened_in_the_end(order: Order) -> tuple[Adapters, SharedClock]:
    while True:
        with _endured(order):
            return opened(order)


@contextmanager
def _endured(order: Order) -> Iterator[None]:
    try:
        yield
    except ReelwrightError as trouble:
        if not (order.endures and trouble.may_help):
            raise
        time.sleep(AWAY_SECONDS)


def _is_usable(_warm: _Warm) -> bool:
    """Its owner is our parent, and outlives us."""
    return True


def one_round(adapters: Adapters) -> None:
    """What the sensors do: relay, ask what is due, a lot of each such stage, one tick of the poller."""
    look = look_at_intake(adapters.database, adapters.store)
    relay_outbox(adapters.database)
    due = _due(adapters)
    for stage in Stage:
        if due[stage] or (stage is Stage.INGEST and look.is_due):
            run_lot(adapters, stage)
    poll_tick(adapters)


def _due(adapters: Adapters) -> Mapping[Stage, int]:
    with adapters.database.reading() as connection:
        return due_by_stage(connection, adapters.database.clock(connection))


def _wait(adapters: Adapters, clock: SharedClock, *, is_alone: bool) -> None:
    if is_alone or not _leased(adapters):
        clock.pass_seconds(IDLE_SECONDS)
    time.sleep(0.002)


def _leased(adapters: Adapters) -> int:
    with adapters.database.reading() as connection:
        now = adapters.database.clock(connection)
        leased = sa.text("SELECT COUNT(*) FROM attempts WHERE lease_until >= :now")
        return int(connection.scalar(leased, {"now": now}) or 0)


#: Everything that is still to be done by itself. A lost submission that only a person can settle is not.
_OPEN = """
SELECT 'intake' AS what, COUNT(*) AS number FROM revisions WHERE state NOT IN ('approved', 'withdrawn')
UNION ALL SELECT 'briefs', COUNT(*) FROM intake_files WHERE path LIKE '%.yaml' AND handled_at IS NULL
UNION ALL SELECT 'attempts', COUNT(*) FROM attempts
WHERE state NOT IN ('indexed', 'failed', 'cancelled') AND COALESCE(parked_reason, '') <> 'awaiting_verdict'
UNION ALL SELECT 'due', COUNT(*) FROM attempts WHERE next_action_at IS NOT NULL
UNION ALL SELECT 'messages', COUNT(*) FROM outbox WHERE delivered_at IS NULL
UNION ALL SELECT 'entries', COUNT(*) FROM index_entries WHERE synced_version < version
UNION ALL SELECT 'receipts', COUNT(*) FROM revisions WHERE receipt_due_at IS NOT NULL
UNION ALL SELECT 'none', CASE WHEN COUNT(*) > 0 THEN 0 ELSE 1 END FROM revisions
"""


def open_items(adapters: Adapters) -> dict[str, int]:
    with adapters.database.reading() as connection:
        found = connection.execute(sa.text(_OPEN)).all()
    return {row.what: row.number for row in found if row.number}


def is_done(adapters: Adapters) -> bool:
    return not open_items(adapters)
