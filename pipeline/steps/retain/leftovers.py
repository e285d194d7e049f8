"""What lies around and is no object: orphaned bytes, unfinished uploads, cached pictures in the spool.

Belongs here: looking for it, and how it is judged and removed. Does not belong here: when (`plan`, `purge`).

It goes the same way as objects do, by rows of its own. Its clock starts when a plan sees it first; whoever
writes it again starts it anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import sqlalchemy as sa

from pipeline.domain.retention import DAY, Claim, Facts, Held, RetentionPolicy, Verdict, What, judge
from pipeline.steps.retain.retaining import Retaining
from resources.database.grants import oldest_end, prune_grants
from resources.database.restored import restored_from
from resources.database.retention_seen import named_by_objects
from resources.object_store.protocol import INTAKE_PREFIX, Stored

CHUNK = 500
#: How an item names grants: all that were over before this moment (UTC microseconds).
OVER_BEFORE = "over before "
CACHED = "inputs"  #: of the spool: pictures that were sent on (`steps.produce.inputs`)


@dataclass(frozen=True, slots=True)
class Leftover:
    """One thing; `subject` is its key or its name below the spool."""

    what: What
    subject: str
    tenant: str
    size_bytes: int
    modified_at: int
    first_seen_at: int = 0

    def first_seen(self, known: Mapping[tuple[str, str], sa.Row[Any]], now: int) -> Leftover:
        """As it was seen before, unless it was written again since."""
        row = known.get((str(self.what), self.subject))
        is_same = row is not None and (row.size_bytes, row.modified_at) == (self.size_bytes, self.modified_at)
        return replace(self, first_seen_at=row.first_seen_at if row is not None and is_same else now)

    @property
    def facts(self) -> Facts:
        return Facts(
            self.subject, self.tenant, None, self.what, self.subject, self.size_bytes, "live", 0,
            self.first_seen_at, (Claim("", None),), first_seen_at=self.first_seen_at,
        )  # fmt: skip


def look_around(retaining: Retaining, connection: sa.Connection) -> list[Leftover]:
    """Everything of this kind that lies there now, as seen from this machine."""
    return [*orphans(retaining, connection), *temporary(retaining), *cached(retaining)]


def grants_due(policy: RetentionPolicy, connection: sa.Connection, now: int) -> list[Leftover]:
    """Grants that are over for as long as the policy keeps them, as one thing; they need no sighting."""
    row, ended = policy.row(What.GRANT, ""), oldest_end(connection)
    if row is None or row.keep_days is None or ended is None or ended >= now - row.keep_days * DAY:
        return []
    return [Leftover(What.GRANT, f"{OVER_BEFORE}{now - row.keep_days * DAY}", "*", 0, ended, ended)]


def orphans(retaining: Retaining, connection: sa.Connection) -> Iterator[Leftover]:
    """Bytes under a key that no object holds. What people drop below `intake/` is theirs.

    In a database that was put back there are none: what it forgot was paid for, and is taken over.
    """
    if restored_from(connection) is not None:
        return
    listed = (one for one in retaining.adapters.store.list("") if not one.key.startswith(INTAKE_PREFIX))
    while chunk := list(islice(listed, CHUNK)):
        named = named_by_objects(connection, [one.key for one in chunk])
        yield from (_of(What.ORPHAN_OBJECT, one) for one in chunk if one.key not in named)


def temporary(retaining: Retaining) -> Iterator[Leftover]:
    """What killed writes left in the store, unfinished uploads among it."""
    for one in retaining.adapters.store.list_temporary():
        yield replace(_of(What.TEMPORARY_OBJECT, one), tenant="*")


def cached(retaining: Retaining) -> Iterator[Leftover]:
    """Pictures that this machine fetched to send them on."""
    folder = retaining.adapters.spool / CACHED
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = path.stat()
        modified_at = found.st_mtime_ns // 1_000
        yield Leftover(What.SPOOL_FILE, f"{CACHED}/{path.name}", "*", found.st_size, modified_at)


def _of(what: What, one: Stored) -> Leftover:
    modified_at = int(one.modified_at.timestamp() * 1_000_000)
    return Leftover(what, one.key, one.key.partition("/")[0], one.size, modified_at)


def judged_leftovers(
    policy: RetentionPolicy, found: Sequence[Leftover], held: Held, exempt: Collection[str], now: int
) -> Iterator[tuple[Leftover, Verdict]]:
    """Any hold in a tenant keeps all of its orphans: nobody knows whose they are."""
    for one in found:
        facts = one.facts._replace(is_exempt=one.subject in exempt, matter=held.touched.get(one.tenant, ""))
        yield one, judge(policy, facts, now)


def changed(retaining: Retaining, items: Sequence[sa.Row[Any]]) -> frozenset[int]:
    """Numbers of items whose thing is another one than was planned; gone counts as unchanged."""
    names = {item.subject for item in items if item.what == What.TEMPORARY_OBJECT}
    listed = {one.key: one.size for one in retaining.adapters.store.list_temporary()} if names else {}
    found: set[int] = set()
    for item in items:
        size = listed.get(item.subject) if item.subject in names else _size(retaining, item)
        if size is not None and size != item.size_bytes:
            found.add(item.number)
    return frozenset(found)


def _size(retaining: Retaining, item: sa.Row[Any]) -> int | None:
    if item.what == What.ORPHAN_OBJECT:
        held = retaining.adapters.store.head(item.subject)
        return None if held is None else held.size
    if item.what == What.GRANT:
        return 0
    path = retaining.adapters.spool / item.subject
    return path.stat().st_size if path.is_file() else None


def remove(retaining: Retaining, items: Sequence[sa.Row[Any]]) -> dict[int, str]:
    """Remove what is neither object nor orphan and look again; what is still there, by the item's number."""
    store = retaining.adapters.store
    for item in items:
        if item.what == What.TEMPORARY_OBJECT:
            store.delete_temporary(item.subject)
        elif item.what == What.GRANT:
            before = int(item.subject.removeprefix(OVER_BEFORE))
            retaining.adapters.database.run(lambda tx, before=before: prune_grants(tx, before))  # type: ignore[misc]
        else:
            (retaining.adapters.spool / item.subject).unlink(missing_ok=True)
    is_temporary = any(item.what == What.TEMPORARY_OBJECT for item in items)
    listed = {one.key for one in store.list_temporary()} if is_temporary else set()
    return {
        item.number: "still_there"
        for item in items
        if item.subject in listed
        or (item.what == What.SPOOL_FILE and (retaining.adapters.spool / item.subject).exists())
    }
