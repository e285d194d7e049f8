"""Take up the delivery logs that came in: what is new or changed in their place, one file at a time (F3).

Belongs here: which files are brought, and through the spool. Does not belong here: what a file says
(`meter_delivery`). No watermark is a name: every name in the place is compared, by size and time, with what
was seen under it; a file that is brought again for nothing is known by its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import BadKey, UnknownSubject
from pipeline.domain.units import SECOND
from pipeline.steps.account.meter_delivery import REFUSED, Keeping, LogReading, read_file
from pipeline.steps.produce.private_folder import private_folder
from resources.adapters import Adapters
from resources.database import delivery_logs
from resources.database.database import Database
from resources.object_store.protocol import ObjectStore, Stored
from resources.usage_logs.reading import READER_VERSION

#: What the asset shows as its code version: the reader's.
DELIVERY_VERSION = READER_VERSION


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a look into the place of the logs came to."""

    readings: tuple[LogReading, ...]  #: of the files that were brought
    unchanged: int  #: files that lay there before as they lie now
    read_until: int | None  #: the newest event of any file, UTC microseconds

    def those(self, verdict: str) -> list[LogReading]:
        return [one for one in self.readings if one.verdict == verdict]


def fetch_delivery_logs(adapters: Adapters) -> Fetched:
    """Read what came in; nothing where no place of logs is named."""
    database, place = adapters.database, adapters.delivery_logs
    with database.reading() as connection:
        seen = delivery_logs.names_seen(connection)
    lying = [] if place is None else [(place, stored) for stored in _files(place)]
    new = [(place, stored) for place, stored in lying if not _is_as_it_was(stored, seen)]
    readings = tuple(_bring(adapters, place, stored) for place, stored in new)
    with database.reading() as connection:
        until = delivery_logs.read_until(connection)
    return Fetched(readings, len(lying) - len(new), until)


def _files(place: ObjectStore) -> Iterator[Stored]:
    """Buckets hold empty objects for folders."""
    return (stored for stored in place.list("") if not stored.key.endswith("/"))


def _is_as_it_was(stored: Stored, seen: Mapping[str, sa.Row[Any]]) -> bool:
    row = seen.get(stored.key)
    if row is None or (row.size_bytes, row.modified_at) != (stored.size, _micros(stored)):
        return False
    return bool(row.verdict != REFUSED or row.reader_version == READER_VERSION)


def _bring(adapters: Adapters, place: ObjectStore, stored: Stored) -> LogReading:
    with private_folder(adapters.spool) as folder:
        path = folder / "log"
        try:
            brought = place.get_to(stored.key, path)
        except (BadKey, UnknownSubject) as error:
            return LogReading(stored.key, REFUSED, f"unreadable: {error}")
        reading = read_file(Keeping(adapters.database), adapters.delivery_rules, path, stored.key)
    _remember(adapters.database, stored, brought.sha256)
    return reading


def _remember(database: Database, stored: Stored, file: str) -> None:
    database.run(lambda tx: delivery_logs.remember_name(tx, stored.key, stored.size, _micros(stored), file))


def _micros(stored: Stored) -> int:
    return int(stored.modified_at.timestamp() * SECOND)


def delivered_on(database: Database, day: int) -> Mapping[str, int]:
    """Sums a meter of the UTC day that begins at *day* (microseconds), `unattributed_bytes` among them."""
    with database.reading() as connection:
        return delivery_logs.sums_of_day(connection, day)
