"""Deliver outbox messages, in small transactions, until none is due (L11)."""

from __future__ import annotations

import time

from resources.database.database import Database, Transaction
from resources.database.delivery import deliver, undelivered

BATCH = 500


def relay_outbox(database: Database, *, budget_seconds: float = 20.0) -> int:
    """Deliver what is due; returns the number of messages. Two relays at once are safe."""
    began, delivered = time.monotonic(), 0

    def work(tx: Transaction) -> int:
        messages = undelivered(tx, BATCH)
        deliver(tx, messages)
        return len(messages)

    while time.monotonic() - began < budget_seconds:
        number = database.run(work)
        delivered += number
        if number < BATCH:
            break
    return delivered
