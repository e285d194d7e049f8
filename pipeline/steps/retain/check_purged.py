"""Looks for purged bytes that can still be read, and for receipts that say something else than they did.

Belongs here: those looks, over windows that move on by the hour. Does not belong here: how the rows of
receipts follow each other (`resources.database.invariants.purging`), which no hash is needed for.
"""

from __future__ import annotations

import sqlalchemy as sa

from pipeline.domain.errors import StoreUnavailable
from pipeline.steps.operate.checked import Looked, Offence, Severity
from pipeline.steps.retain.verify import what_is_left
from resources.adapters import Adapters
from resources.database.purged_objects import holders_of
from resources.database.receipts import is_altered
from resources.database.sampling import window
from resources.database.schema import objects, retention_receipts

#: Purged objects that one look asks the store about.
PURGED = 200
#: Receipts whose hash one look computes.
RECEIPTS = 5_000


def purged_in_store(adapters: Adapters) -> Looked:
    """A window of purged objects is really gone from the store."""
    with adapters.database.reading() as connection:
        now = adapters.database.clock(connection)
        wanted = sa.select(objects).where(objects.c.state == "purged")
        seen = window(connection, wanted, objects.c.id, size=PURGED, now=now)
        free = [row for row in seen.rows if not holders_of(connection, row.key)]
    at = f"{len(seen.rows)} of {seen.of} purged objects in the store"
    try:
        left = [(row, what_is_left(adapters.store, row.key)) for row in free]
    except StoreUnavailable as error:
        return Looked((Offence("object store", f"did not answer: {error}", Severity.ERROR),), 1, at)
    offences = [Offence(row.id, f"purged, and {what}", Severity.ERROR) for row, what in left if what]
    return Looked(tuple(offences), len(offences), at)


def receipts_as_written(adapters: Adapters) -> Looked:
    """A window of receipts reads as it was written. SQL cannot see that: it computes no hash."""
    number = retention_receipts.c.number
    with adapters.database.reading() as connection:
        now = adapters.database.clock(connection)
        seen = window(connection, sa.select(retention_receipts), number, size=RECEIPTS, now=now)
    offences = [
        Offence(row.subject, f"receipt {row.number} was altered", Severity.ERROR)
        for row in seen.rows
        if is_altered(row)
    ]
    return Looked(tuple(offences), len(offences), f"{len(seen.rows)} of {seen.of} receipts by their hash")
