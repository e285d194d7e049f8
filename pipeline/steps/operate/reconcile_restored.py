"""Looks at what a dump that was put back does not know: remote jobs and objects made since (E6).

Belongs here: saying that this database is a dump, those looks, and their end. Does not belong here: looking
for a job before it is sent (`submit`, `reconcile_unknown`), or taking over bytes that lie there (`retrieve`).

While the mark of a restore holds, nothing is sent for the first time before its provider was asked for it.
What these looks find is told and not moved: whoever wants it again gets it without paying.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from pipeline.domain.errors import BadSettings
from pipeline.domain.lifecycle import ENDED_STATES
from pipeline.domain.renditions import attempt_id
from pipeline.steps.operate.reconciled import ROWS, SECOND, Done, Finding, Item
from resources.adapters import Adapters
from resources.database.database import Database
from resources.database.restored import end_restored, mark_restored, restored_from
from resources.database.schema import attempts, objects, renditions
from resources.http.client import HttpClient
from resources.object_store.protocol import INTAKE_PREFIX
from resources.providers.protocol import Found, Provider

_VIDEO = re.compile(r"[^/]+/renditions/(?P<rendition>[^/]+)/(?P<number>\d+)\.\w+")


def restored(database: Database, dumped_at: datetime, actor: str) -> None:
    """From now on nothing is sent before it was looked for from *dumped_at* (aware) on.

    Raises BadSettings for a time that is still to come.
    """
    at = int(dumped_at.timestamp() * SECOND)
    if at > database.now():
        problem = f"{dumped_at.isoformat()} is still to come"
        raise BadSettings("--restored", problem, "give the time at which the dump was begun")
    database.run(lambda tx: mark_restored(tx, at, actor))


def restored_is_over(database: Database, actor: str) -> bool:
    """Trust the database again; False when nothing was restored."""
    return database.run(lambda tx: end_restored(tx, actor))


def jobs(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Name jobs of tries that the dump does not know, of videos whose newest known try has ended."""
    with adapters.database.reading() as connection:
        since = restored_from(connection)
        wanted = {} if since is None else _next_tries(connection)
    for name, references in sorted(wanted.items()):
        if name not in adapters.providers or since is None:
            continue
        for one in asyncio.run(_asked(adapters.providers[name], references, since)):
            yield Finding(
                Item.SINCE_JOBS,
                Done.LISTED,
                f"{name} {one.handle}",
                "somebody tried again since the dump, and it was taken",
                f"carries {one.reference}, which nothing here knows",
                "`reelwright retry` takes it over, and pays for nothing",
            )


def _next_tries(connection: sa.Connection) -> Mapping[str, Sequence[str]]:
    """By provider: the attempt that would follow, where the newest one of a rendition has ended."""
    is_newest = attempts.c.number == renditions.c.attempts_made
    found = connection.execute(
        sa.select(attempts.c.provider, attempts.c.rendition, attempts.c.number)
        .join(renditions, sa.and_(renditions.c.id == attempts.c.rendition, is_newest))
        .where(attempts.c.state.in_(sorted(str(state) for state in ENDED_STATES)))
        .order_by(attempts.c.ended_at.desc())
        .limit(ROWS)
    )
    wanted: dict[str, list[str]] = {}
    for row in found:
        wanted.setdefault(row.provider, []).append(attempt_id(row.rendition, row.number + 1))
    return wanted


async def _asked(provider: Provider, references: Sequence[str], since: int) -> Sequence[Found]:
    async with HttpClient() as client:
        at = datetime.fromtimestamp(since / SECOND, UTC)
        return (await provider.find(client, references, since=at)).found


def unnamed(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Name what lies in the store since the dump and no row of an object names."""
    with adapters.database.reading() as connection:
        if restored_from(connection) is None:
            return
    number = 0
    for page in _pages(adapters):
        for key, size in _strange(adapters.database, page).items():
            yield _of_key(adapters.database, key, size)
            number += 1
            if number >= ROWS:
                return


def _pages(adapters: Adapters) -> Iterator[dict[str, int]]:
    page: dict[str, int] = {}
    for one in adapters.store.list(""):
        if not one.key.startswith(INTAKE_PREFIX):
            page[one.key] = one.size
        if len(page) >= ROWS:
            yield page
            page = {}
    yield page


def _strange(database: Database, page: Mapping[str, int]) -> Mapping[str, int]:
    wanted = sa.select(objects.c.key).where(objects.c.key.in_(page), objects.c.state != "purged")
    with database.reading() as connection:
        known = set(connection.scalars(wanted))
    return {key: size for key, size in page.items() if key not in known}


def _of_key(database: Database, key: str, size: int) -> Finding:
    before = f"{size} bytes that no object names"
    video = _VIDEO.fullmatch(key)
    if video is None:
        why, after = "made since the dump", "taken as it is by whatever makes it again"
        return Finding(Item.SINCE_OBJECTS, Done.LISTED, key, why, before, after)
    attempt = attempt_id(video["rendition"], int(video["number"]))
    with database.reading() as connection:
        row = connection.execute(sa.select(attempts).where(attempts.c.id == attempt)).one_or_none()
    why = f"{attempt} made it since the dump"
    if row is None:
        after = "its brief was not delivered again, or a person asked for it: it is taken as it is then"
        return Finding(Item.SINCE_OBJECTS, Done.LISTED, key, why, before, after)
    after = f"{attempt} is {row.state}; its lot takes it as it is"
    return Finding(Item.SINCE_OBJECTS, Done.WAITS, key, why, before, after, row.campaign, int(row.version))
