"""Asking about many remote jobs at once, within the provider's rate and concurrency (P5).

Belongs here: pace and parallelism that every one-request-a-job adapter shares. Does not belong here:
what is asked or answered (the adapter), or when a job is due (pipeline.domain.polling).
"""

from __future__ import annotations

import asyncio
import math
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


#: Starts that fall due within so long go out together: a loop that wakes for each of them by itself, and for
#: each answer again, spends more time on waking up than on asking.
STEP_SECONDS = 0.01


async def ask_each(
    items: Sequence[Item], ask: Callable[[Item], Awaitable[Result]], pace: Pace
) -> list[Result]:
    """*ask* for each item, results in order; starts are spaced to the rate, so many at once at most."""
    starts, results = _Starts(pace.per_second), dict[int, Result]()
    queue = iter(enumerate(items))

    async def work() -> None:
        for number, item in queue:
            if (turn := starts.turn_of(number)) is not None:
                await turn
            results[number] = await ask(item)

    async with asyncio.TaskGroup() as workers:
        for _ in range(min(pace.concurrency, len(items))):
            workers.create_task(work())
    return [results[number] for number in range(len(items))]


class _Starts:
    """When which item may start: never before its place in the rate, and at most one step after it."""

    def __init__(self, per_second: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._steps_an_item = 1 / (per_second * STEP_SECONDS)
        self._turns: dict[int, asyncio.Future[None]] = {}

    def turn_of(self, number: int) -> asyncio.Future[None] | None:
        """What to wait for; None when it may start at once. Those of one step wait for the same."""
        step = math.ceil(number * self._steps_an_item)
        due = self._begun + step * STEP_SECONDS
        if due <= self._loop.time():
            return None
        if step not in self._turns:
            self._turns[step] = turn = self._loop.create_future()
            self._loop.call_at(due, _come, turn)
        return self._turns[step]


def _come(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
