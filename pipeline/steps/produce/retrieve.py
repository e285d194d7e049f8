"""Bring reported outputs home: from a provider's word to a verified object that Reelwright owns (R1-R6).

Belongs here: what is done with each claimed attempt, in which order, and what is committed after it. Does
not belong here: looking up and downloading (`fetch`), judging and keeping bytes (`verify`), how an ending
reads in the database (`retrieved`).

The order is what makes a crash harmless: bytes are durable under their key before the commit that says so,
so the next try finds them there, verifies them and fetches nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import (
    MediaRefused,
    MediaUnproven,
    NeverConnected,
    RemoteUnavailable,
    SandboxFailed,
    StoreUnavailable,
    UnknownSubject,
)
from pipeline.domain.observations import Observation
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.domain.quality import TargetProfile
from pipeline.domain.renditions import rendition_key
from pipeline.steps.produce.fetch import Fetched, Fetching, soonest
from pipeline.steps.produce.looked import begin
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.retrieved import record
from pipeline.steps.produce.spool import spooled
from pipeline.steps.produce.try_ends import Again, End, Owned, Refused, Retrieved, Waits
from pipeline.steps.produce.verify import Verification, wanted_of
from resources.database.attempts import renditions_of
from resources.database.database import Database
from resources.database.objects import purges_of
from resources.http.client import HttpClient
from resources.media import Sandbox
from resources.object_store.protocol import ObjectStore
from resources.providers.protocol import Provider

logger = logging.getLogger(__name__)

#: Bodies on the wire at a time, each bounded in bytes and time by the profile and `FetchLimits`.
DOWNLOADS_AT_ONCE = 8
#: Answers that come instead of a body.
_WITHOUT_BYTES = frozenset(
    {"denied", "rate_limit", "server_error", "too_many_redirects", "unexpected_status", "url_expired"}
)


def retrieve_group(
    database: Database,
    rows: Sequence[sa.Row[Any]],
    *,
    providers: Mapping[str, Provider],
    terms: Mapping[str, ProviderTerms],
    store: ObjectStore,
    sandbox: Sandbox,
    profile: TargetProfile,
    spool: Path,
    actor: str = "retriever",
) -> list[ItemResult]:
    """Retrieve claimed *rows* (attempts in `retrieving`), soonest expiry first; one result each.

    Words: `stored`, `failed`, `postponed` (it comes again by itself) and `lost` (another worker or a person
    took it over; nothing was changed).
    """
    if not rows:
        return []
    with database.reading() as connection:
        renditions = renditions_of(connection, rows)
        items = [Item.of(row, renditions[row.rendition]) for row in rows]
        purges = purges_of(connection, [item.key for item in items])
    items = [replace(item, purges_before=purges.get(item.key, 0)) for item in items]
    keeping = Verification(store, sandbox, profile)
    return asyncio.run(_Retrieving(database, providers, terms, keeping, spool, actor).bring_home(items))


@dataclass(frozen=True, slots=True)
class Item:
    """One claimed attempt, what it is for, and where its video will lie."""

    row: sa.Row[Any]
    rendition: sa.Row[Any]
    key: str
    purges_before: int = 0  #: of the key

    @staticmethod
    def of(row: sa.Row[Any], rendition: sa.Row[Any]) -> Item:
        return Item(row, rendition, rendition_key(row.tenant, row.rendition, row.number))

    def at(self, row: sa.Row[Any]) -> Item:
        """The same attempt as a later commit left it."""
        return replace(self, row=row)

    def ended(self, end: End, *, is_counted: bool) -> Retrieved:
        return Retrieved(self.row, self.key, end, is_counted, self.purges_before)


@dataclass(frozen=True, slots=True)
class _Retrieving:
    database: Database
    providers: Mapping[str, Provider]
    terms: Mapping[str, ProviderTerms]
    keeping: Verification
    spool: Path
    actor: str

    async def bring_home(self, items: Sequence[Item]) -> list[ItemResult]:
        owned, missing, unknown = await self._split(items)
        async with HttpClient() as client:
            fetching = Fetching(client, self.providers, self.terms, self.keeping.profile.max_bytes)
            due, results = await self._begin(fetching, missing)
            gate = asyncio.Semaphore(DOWNLOADS_AT_ONCE)
            works = [_ready(one) for one in unknown]
            works += [self._adopt(item) for item in owned]
            works += [self._fetch(fetching, gate, item, seen) for item, seen in due]
            return results + await self._finish(works)

    async def _split(self, items: Sequence[Item]) -> tuple[list[Item], list[Item], list[Retrieved]]:
        """Those whose key holds bytes already (R6), those to fetch, and those that cannot be known now."""
        found = await asyncio.gather(*(asyncio.to_thread(self._is_there, item) for item in items))
        pairs = list(zip(items, found, strict=True))
        unknown = [item.ended(one, is_counted=False) for item, one in pairs if isinstance(one, Waits)]
        owned = [item for item, one in pairs if one is True]
        return owned, [item for item, one in pairs if one is False], unknown

    def _is_there(self, item: Item) -> bool | Waits:
        """Without an answer of the store nothing is fetched: it may own the bytes."""
        try:
            return self.keeping.store.exists(item.key)
        except StoreUnavailable as error:
            return Waits(error.reason)

    async def _begin(
        self, fetching: Fetching, items: Sequence[Item]
    ) -> tuple[list[tuple[Item, Observation]], list[ItemResult]]:
        """Look at every job; commit what was seen and which fetches begin, so that a crash is counted."""
        if not items:
            return [], []
        seen = await fetching.look_at([item.row for item in items])
        windows = {name: one.not_found_window_seconds for name, one in self.providers.items()}
        looks = [(item.row, seen[item.row.id]) for item in items]
        begun = await asyncio.to_thread(
            self.database.run, lambda tx: begin(tx, looks, self.terms, windows, actor=self.actor)
        )
        due = [
            (item.at(begun.rows[item.row.id]), seen[item.row.id])
            for item in items
            if item.row.id in begun.rows
        ]
        return sorted(due, key=lambda one: soonest(one[1])), begun.results

    async def _finish(self, works: Sequence[Coroutine[Any, Any, Retrieved]]) -> list[ItemResult]:
        """Commit whatever is done whenever something is: a slow download holds nothing up."""
        results: list[ItemResult] = []
        running = {asyncio.ensure_future(work) for work in works}
        try:
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                ended = [task.result() for task in done]
                results += await asyncio.to_thread(
                    self.database.run,
                    lambda tx, ended=ended: record(tx, ended, self.terms, actor=self.actor),
                )
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return results

    async def _adopt(self, item: Item) -> Retrieved:
        """What lies under the key already came there by a put of ours: verify it, fetch nothing."""
        end = await asyncio.to_thread(self._adopted, item)
        return item.ended(end, is_counted=False)

    def _adopted(self, item: Item) -> End:
        try:
            with spooled(self.spool, item.row, "video") as path:
                return Owned(self.keeping.verify_owned(item.key, path, wanted_of(item.rendition)), None)
        except MediaRefused as refusal:
            return Refused(refusal.reason, str(refusal))
        except SandboxFailed as failure:
            return Again(failure.reason)
        except (StoreUnavailable, UnknownSubject) as error:
            return Waits(getattr(error, "reason", "came_and_went"))
        except Exception as error:
            return _unexpected(item, error)

    async def _fetch(
        self, fetching: Fetching, gate: asyncio.Semaphore, item: Item, seen: Observation
    ) -> Retrieved:
        async with gate:
            end = await self._fetched(fetching, item, seen)
        return item.ended(end, is_counted=True)

    async def _fetched(self, fetching: Fetching, item: Item, seen: Observation) -> End:
        try:
            with spooled(self.spool, item.row, "video") as path:
                got = await fetching.fetch(item.row, seen, path)
                return await asyncio.to_thread(self._judged, item, path, got)
        except MediaRefused as refusal:
            return Refused(refusal.reason, str(refusal))
        except MediaUnproven as unproven:
            return Again(unproven.reason)
        except StoreUnavailable as error:
            return Waits(error.reason)
        except RemoteUnavailable as error:
            nothing = isinstance(error, NeverConnected) or error.reason in _WITHOUT_BYTES
            wait = error.retry_after_seconds
            return Again(error.reason, wait_seconds=wait, brought_nothing=nothing)
        except Exception as error:
            return _unexpected(item, error)

    def _judged(self, item: Item, path: Path, got: Fetched) -> End:
        """Verify the whole body in the spool and put it where it stays."""
        wanted = wanted_of(item.rendition)
        try:
            verified = self.keeping.verify(path, wanted, sha256=got.sha256)
            return Owned(self.keeping.keep(item.key, path, wanted, verified), got.size_bytes)
        except MediaRefused as refusal:
            return Refused(refusal.reason, str(refusal), got.size_bytes)
        except (MediaUnproven, SandboxFailed) as doubt:
            return Again(doubt.reason, refused_sha256=got.sha256, downloaded_bytes=got.size_bytes)
        except StoreUnavailable as error:
            return Waits(error.reason, downloaded_bytes=got.size_bytes)


async def _ready(one: Retrieved) -> Retrieved:
    return one


def _unexpected(item: Item, error: Exception) -> Again:
    """A fault of ours that one item brings out must not hold up the others in its lot."""
    logger.error("retrieval of %s failed", item.row.id, exc_info=error)
    return Again(f"unexpected_{type(error).__name__}")
