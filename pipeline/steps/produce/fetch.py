"""Ask a provider where an output lies now, and bring it to the spool (R4, R5).

Belongs here: look-ups for fresh places, the choice among outputs, one refresh of an expired URL, bytes into
a file. Does not belong here: judging the bytes (`verify`) or moving the attempt (`retrieve`). Places are
used at once and never kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import MediaRefused, MediaUnproven, RemoteUnavailable
from pipeline.domain.observations import InlineOutput, Observation, Output, Standing, UrlOutput
from pipeline.domain.outcomes import Outcome
from pipeline.domain.provider_terms import ProviderTerms
from resources.http.client import HttpClient
from resources.http.download import download
from resources.providers.protocol import Provider
from resources.providers.registry import guard_for

_FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole body in the spool, not yet judged."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Fetching:
    """Providers and what may be taken from them, for one group of attempts."""

    client: HttpClient
    providers: Mapping[str, Provider]
    terms: Mapping[str, ProviderTerms]
    max_bytes: int

    async def look_at(self, rows: Sequence[sa.Row[Any]]) -> dict[str, Observation]:
        """One look at each attempt's remote job, by attempt id; all providers side by side."""
        by_provider: dict[str, list[sa.Row[Any]]] = defaultdict(list)
        for row in rows:
            by_provider[row.provider].append(row)
        answers = await asyncio.gather(*(self._look_at(*one) for one in by_provider.items()))
        return {attempt: seen for answer in answers for attempt, seen in answer.items()}

    async def _look_at(self, provider: str, rows: Sequence[sa.Row[Any]]) -> dict[str, Observation]:
        """A faulty adapter says nothing about a job; so does one that is no longer there."""
        handles = [row.handle for row in rows]
        adapter = self.providers.get(provider)
        if adapter is None:
            return {row.id: _unreachable(row.handle, "provider_not_listed") for row in rows}
        try:
            seen = list(await adapter.look_up(self.client, handles))
        except Exception as error:
            seen = [_unreachable(handle, f"adapter_{type(error).__name__}") for handle in handles]
        if len(seen) != len(rows):
            seen = [_unreachable(handle, "adapter_miscounted") for handle in handles]
        return {row.id: one for row, one in zip(rows, seen, strict=True)}

    async def fetch(self, row: sa.Row[Any], seen: Observation, into: Path) -> Fetched:
        """The body of an attempt's output. A URL that expired meanwhile is looked up once more.

        Raises like `resources.http.download.download`.
        """
        try:
            return await self._fetch(row, seen, into)
        except RemoteUnavailable as error:
            if error.reason != "url_expired":
                raise
            fresh = (await self.look_at([row]))[row.id]
            if not fresh.outputs:
                raise
        return await self._fetch(row, fresh, into)

    async def _fetch(self, row: sa.Row[Any], seen: Observation, into: Path) -> Fetched:
        output = min(seen.outputs, key=expiry)
        if isinstance(output, InlineOutput):
            return _kept_inline(output.content, into, self.max_bytes)
        guard = guard_for(self.terms[row.provider])
        got = await download(self.client, output, into=into, guard=guard, max_bytes=self.max_bytes)
        return Fetched(got.sha256, got.size_bytes)


def expiry(output: Output) -> datetime:
    """When an output is gone; one that says nothing comes last."""
    return (output.expires_at if isinstance(output, UrlOutput) else None) or _FAR


def soonest(seen: Observation) -> datetime:
    return min(map(expiry, seen.outputs), default=_FAR)


def _unreachable(handle: str, reason: str) -> Observation:
    return Observation(handle, Standing.UNREACHABLE, outcome=Outcome.NETWORK, reason=reason)


def _kept_inline(content: bytes, into: Path, max_bytes: int) -> Fetched:
    if len(content) > max_bytes:
        raise MediaRefused("too_large", f"{len(content)} bytes came inside the answer, at most {max_bytes}")
    if not content:
        raise MediaUnproven("empty_body", "the answer holds an output without bytes")
    file = os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as kept:
        kept.write(content)
    return Fetched(hashlib.sha256(content).hexdigest(), len(content))
