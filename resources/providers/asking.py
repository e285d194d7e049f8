"""Asking about many remote jobs at once, within the provider's rate and concurrency (P5).

Belongs here: pace and parallelism that every one-request-a-job adapter shares. Does not belong here:
what is asked or answered (the adapter), or when a job is due (pipeline.domain.polling).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one provider may be asked."""

    per_second: float
    concurrency: int


async def ask_each(
    items: Sequence[Item], ask: Callable[[Item], Awaitable[Result]], pace: Pace
) -> list[Result]:
    """*ask* for each item, results in order; starts are spaced to the rate, so many at once at most."""
    begun, results = asyncio.get_running_loop().time(), dict[int, Result]()
    queue = iter(enumerate(items))

    async def work() -> None:
        for number, item in queue:
            await _sleep_until(begun + number / pace.per_second)
            results[number] = await ask(item)

    async with asyncio.TaskGroup() as workers:
        for _ in range(min(pace.concurrency, len(items))):
            workers.create_task(work())
    return [results[number] for number in range(len(items))]


async def _sleep_until(due: float) -> None:
    wait = due - asyncio.get_running_loop().time()
    if wait > 0:
        await asyncio.sleep(wait)
