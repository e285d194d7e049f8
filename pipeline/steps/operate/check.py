"""Check that what is claimed is true: the invariants of SPEC §13 over the database and what lies beside it.

Belongs here: looking into store, index and providers, and what was found broken. Does not belong here: the
invariants (`resources.database.invariants`), or mending anything.

Safe beside running work: every look outside comes first, and nothing younger than it is judged by it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from pipeline.domain.tags import Query
from pipeline.steps.produce.ingest import micros
from resources.adapters import Adapters
from resources.database.database import Database
from resources.database.invariants import (
    Phase,
    SeenEntry,
    SeenJob,
    SeenObject,
    Snapshot,
    broken,
)
from resources.database.schema import attempts, campaigns, sends
from resources.http.client import HttpClient
from resources.object_store.protocol import INTAKE_PREFIX, ObjectStore, Stored
from resources.providers.protocol import Provider
from resources.tag_index.protocol import MAX_PAGE, Entry, TagIndex

SECOND = 1_000_000
#: An item that is due for longer than this is stuck: several ticks of every sensor went by.
SETTLE_SECONDS = 900
#: Sends of the last days are looked for at their providers; older ones were looked for before.
LOOK_BACK = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that should not be there: which invariant it breaks, and what was found."""

    invariant: str
    heading: str
    phase: str
    text: str  #: what should hold
    subject: str
    found: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.subject}: {self.found} (should hold: {self.text})"


def check(
    adapters: Adapters,
    *,
    phases: Collection[Phase] = tuple(Phase),
    settle_seconds: int = SETTLE_SECONDS,
    reads_bytes: bool = False,
    jobs: Sequence[SeenJob] | None = None,
) -> list[Violation]:
    """Everything that breaks an invariant of *phases*; empty when all is well.

    *reads_bytes* reads every owned object to prove its hash (the store may vouch for it). *jobs* takes the
    place of asking the providers, where a bill or an export says more. Raises StoreUnavailable,
    IndexUnavailable and DatabaseUnavailable.
    """
    database = adapters.database
    at = database.now()
    seen = Snapshot(
        at,
        objects=list(seen_objects(adapters.store, reads_bytes=reads_bytes)),
        entries=list(seen_entries(database, adapters.index)),
        jobs=seen_jobs(adapters) if jobs is None else jobs,
        pictures=[(adapters.transforms.version, one.name) for one in adapters.transforms.derivatives],
        classes={name: str(one.reconciliation) for name, one in adapters.providers.items()},
    )
    with database.reading() as connection:
        now = database.clock(connection)
        overdue = now - settle_seconds * SECOND
        found = list(broken(connection, seen, now=now, overdue=overdue, phases=phases))
    return [
        Violation(
            one.invariant.id, one.invariant.heading, one.invariant.phase, one.invariant.text,
            one.subject, one.found,
        )
        for one in found
    ]  # fmt: skip


def seen_objects(store: ObjectStore, *, reads_bytes: bool = False) -> Iterator[SeenObject]:
    """What the store lists, the intake and temporary objects too; an intake file's bytes are never read."""
    for one in store.list(""):
        is_ours = not one.key.startswith(INTAKE_PREFIX)
        yield _seen_object(one, sha256=store.sha256(one.key) if reads_bytes and is_ours else None)
    for one in store.list_temporary():
        yield _seen_object(one, is_temporary=True)


def _seen_object(one: Stored, *, sha256: str | None = None, is_temporary: bool = False) -> SeenObject:
    return SeenObject(one.key, one.size, micros(one.modified_at), sha256, is_temporary)


def seen_entries(database: Database, index: TagIndex) -> Iterator[SeenEntry]:
    """Every entry that the index shows, of every tenant that ever had a campaign."""
    with database.reading() as connection:
        tenants = connection.scalars(sa.select(campaigns.c.tenant).distinct()).all()
    for tenant in tenants:
        cursor: str | None = None
        while True:
            page = index.search(tenant, Query(), limit=MAX_PAGE, after=cursor)
            yield from map(_seen_entry, page.hits)
            cursor = page.cursor
            if cursor is None:
                break


def _seen_entry(entry: Entry) -> SeenEntry:
    return SeenEntry(
        entry_id=entry.entry_id,
        tenant=entry.tenant,
        rendition=entry.rendition_id,
        object=entry.object_id,
        standing=str(entry.standing),
        version=entry.version,
        required_tags={
            "tenant": entry.tenant,
            "campaign": entry.campaign,
            "locale": entry.locale,
            "asset_type": entry.asset_type,
            "visibility": str(entry.visibility),
            "retention_class": entry.retention_class,
        },
    )


def seen_jobs(adapters: Adapters) -> list[SeenJob]:
    """Remote jobs that providers name for what was sent lately. One that says nothing says nothing wrong."""
    with adapters.database.reading() as connection:
        since = adapters.database.clock(connection) - int(LOOK_BACK.total_seconds()) * SECOND
        sent = connection.execute(
            sa.select(attempts.c.provider, sends.c.attempt, sa.func.min(sends.c.at).label("at"))
            .join(attempts, attempts.c.id == sends.c.attempt)
            .group_by(attempts.c.provider, sends.c.attempt)
            .having(sa.func.max(sends.c.at) >= since)
        ).all()
    by_provider: dict[str, dict[str, int]] = defaultdict(dict)
    for row in sent:
        by_provider[row.provider][row.attempt] = row.at
    return [
        job
        for name, references in sorted(by_provider.items())
        if name in adapters.providers
        for job in asyncio.run(_named(name, adapters.providers[name], references))
    ]


async def _named(name: str, provider: Provider, references: dict[str, int]) -> list[SeenJob]:
    since = datetime.fromtimestamp(min(references.values()) / SECOND, UTC)
    async with HttpClient() as client:
        answer = await provider.find(client, list(references), since=since)
    return [SeenJob(name, one.handle, one.reference) for one in answer.found]
