"""A look for purged bytes that can still be read: no receipt may be for those (SPEC §13.7).

Belongs here: that look, over a window that moves on by the hour. Does not belong here: the rows of receipts
(`resources.database.invariants.purging`).
"""

from __future__ import annotations

import sqlalchemy as sa

from pipeline.domain.errors import StoreUnavailable
from pipeline.steps.operate.checked import Looked, Offence, Severity
from pipeline.steps.retain.verify import what_is_left
from resources.adapters import Adapters
from resources.database.purged_objects import holders_of
from resources.database.sampling import window
from resources.database.schema import objects

#: Purged objects that one look asks the store about.
PURGED = 200


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
