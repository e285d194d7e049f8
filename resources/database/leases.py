"""Holding leases while work goes on: a thread that renews them, so that slow work is not taken away.

The thread stops with its process: a worker that is killed or frozen loses its leases in time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import ReelwrightError
from resources.database.claims import LEASE_SECONDS, renew
from resources.database.database import Database


@contextmanager
def kept(database: Database, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> Iterator[None]:
    """Renew the leases of *rows* every third of their length until the block ends.

    A renewal that fails is tried again at the next turn; the fence decides, not the thread.
    """
    leases = [(row.id, row.lease_token) for row in rows]
    stop = threading.Event()

    def renewing() -> None:
        while not stop.wait(LEASE_SECONDS / 3):
            try:
                database.run(lambda tx: renew(tx, table, leases))
            except ReelwrightError:
                continue

    thread = threading.Thread(target=renewing, name="leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
