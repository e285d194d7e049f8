"""The POSTs themselves: one an attempt, while its lease lasts.

Belongs here: what is sent, and sending it. Does not belong here: what is durable before and after
(`submit`), or what an answer leads to (`answers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.database import Database
from resources.database.sends import is_leased
from resources.http.client import HttpClient
from resources.providers.protocol import InputImage, Job, Provider, SubmissionUnknown, SubmitAnswer


@dataclass(frozen=True, slots=True)
class Sending:
    """One attempt on its way: its row after the intent was committed, and what is sent."""

    row: sa.Row[Any]
    job: Job
    n: int
    was_lost: bool  #: a send before this one may have been taken
    is_held_back: bool = False  #: it may have been sent before this database was put back: look first


def job_of(row: sa.Row[Any], rendition: sa.Row[Any], images: Sequence[InputImage]) -> Job:
    return Job(
        reference=row.id,
        idempotency_key=row.idempotency_key,
        model=row.model,
        settings=rendition.settings,
        images=tuple(images),
        copy=rendition.copy,
        locale=rendition.locale,
        width=rendition.width,
        height=rendition.height,
        duration_seconds=rendition.duration_seconds,
    )


async def post_each(database: Database, provider: Provider, sending: Sequence[Sending]) -> list[SubmitAnswer]:
    """One POST each, side by side. An adapter's own failure proves nothing about the job.

    A worker that was frozen past its lease sends nothing: whoever has the attempt by now may have proven
    that nothing was taken, and sent it again.
    """

    async def one(item: Sending) -> SubmitAnswer:
        if item.is_held_back:
            return SubmissionUnknown("restored")
        try:
            async with HttpClient(may_post=lambda: _is_ours(database, item.row)) as client:
                return await provider.submit(client, item.job)
        except Exception as error:
            return SubmissionUnknown(f"adapter_{type(error).__name__}")

    return list(await asyncio.gather(*map(one, sending)))


def _is_ours(database: Database, row: sa.Row[Any]) -> bool:
    with database.reading() as connection:
        return is_leased(connection, row, database.clock(connection))
