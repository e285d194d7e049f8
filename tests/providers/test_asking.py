"""Many questions at once keep order, rate and concurrency (P5)."""

from __future__ import annotations

import asyncio
import time

from resources.providers.asking import Pace, ask_each


def test_answers_come_in_order_with_no_more_at_once_than_allowed() -> None:
    running, most = 0, 0

    async def ask(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (item % 3))
        running -= 1
        return item * 2

    answers = asyncio.run(ask_each(range(40), ask, Pace(1e6, 7)))

    assert answers == [item * 2 for item in range(40)]
    assert most == 7


def test_starts_are_spaced_to_the_rate() -> None:
    async def ask(item: int) -> float:
        return time.monotonic()

    starts = asyncio.run(ask_each(range(11), ask, Pace(50, 5)))

    assert starts[-1] - starts[0] >= 0.19


def test_no_start_comes_before_its_place_in_the_rate() -> None:
    async def ask(item: int) -> float:
        return asyncio.get_running_loop().time()

    async def scene() -> list[float]:
        begun = asyncio.get_running_loop().time()
        return [start - begun for start in await ask_each(range(300), ask, Pace(1000, 40))]

    starts = asyncio.run(scene())

    assert all(start >= number / 1000 - 0.002 for number, start in enumerate(starts))
    assert starts[-1] < 1


def test_nothing_to_ask_asks_nothing() -> None:
    async def ask(item: int) -> int:
        raise AssertionError

    assert asyncio.run(ask_each([], ask, Pace(1, 1))) == []
