"""Byte-time: how many bytes lay for how long on each day, and whose they were (F2).

Belongs here: intervals and uses to exact integers. Does not belong here: which objects there are
(`resources.database.storage_usage`), or what a byte-second costs (`pipeline.domain.rating`).

Everything is counted in byte-microseconds, whole numbers of any size, from when objects were made and purged:
a day on which nothing ran is as right as any other. A window may have any length, so that days of 23 and 25
hours come out too.

**Shared bytes** are split evenly, at every moment, among the accounts that use the object then; several uses
by one account count once. Before its first use an object is carried by its first users, after its last by
those who left last, without any by the account it was made for. What does not divide goes to the first in
order of names, a byte-microsecond at a time, so that parts add up to the whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Interval:
    """Bytes that lay from `start` until `end` (UTC microseconds, the end excluded); None: they still do."""

    size_bytes: int
    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """An account that used an object for a while; None: it still does."""

    account: str
    start: int
    end: int | None = None


def byte_time(intervals: Iterable[Interval], edges: Sequence[int]) -> list[int]:
    """Byte-microseconds in each window between consecutive *edges*.

    An interval touches at most three sums: its first and its last window, and the rise and fall of what lies
    through whole ones between. That costs the same for a day as for ten years.
    """
    windows = len(edges) - 1
    partial, rises = [0] * windows, [0] * (windows + 1)
    for one in intervals:
        start = max(one.start, edges[0])
        end = edges[-1] if one.end is None else min(one.end, edges[-1])
        if start >= end:
            continue
        first, last = bisect_right(edges, start) - 1, bisect_right(edges, end) - 1
        if first == last:
            partial[first] += one.size_bytes * (end - start)
            continue
        partial[first] += one.size_bytes * (edges[first + 1] - start)
        if last < windows:
            partial[last] += one.size_bytes * (end - edges[last])
        rises[first + 1] += one.size_bytes
        rises[last] -= one.size_bytes
    lying = 0
    for window in range(windows):
        lying += rises[window]
        partial[window] += lying * (edges[window + 1] - edges[window])
    return partial


def shared_byte_time(
    interval: Interval, uses: Sequence[Use], made_for: str, edges: Sequence[int]
) -> dict[str, list[int]]:
    """Byte-microseconds of one object in each window, by account."""
    found: dict[str, list[int]] = {}
    for accounts, piece in pieces(interval, uses, made_for, edges[-1]):
        for window, amount in enumerate(byte_time([piece], edges)):
            for account, part in zip(accounts, evenly(amount, len(accounts)), strict=True):
                found.setdefault(account, [0] * (len(edges) - 1))[window] += part
    return found


def pieces(
    interval: Interval, uses: Sequence[Use], made_for: str, until: int
) -> Iterator[tuple[tuple[str, ...], Interval]]:
    """The interval cut where its users change, each piece with who shares it, in order of names."""
    end = until if interval.end is None else min(interval.end, until)
    times = {time for use in uses for time in (use.start, use.end) if time is not None}
    cuts = sorted({interval.start, end} | {time for time in times if interval.start < time < end})
    for start, stop in pairwise(cuts):
        yield _users(uses, start, made_for), Interval(interval.size_bytes, start, stop)


def _users(uses: Sequence[Use], at: int, made_for: str) -> tuple[str, ...]:
    now = {use.account for use in uses if use.start <= at and (use.end is None or at < use.end)}
    if now:
        return tuple(sorted(now))
    left = [use for use in uses if use.end is not None and use.end <= at]
    if left:
        latest = max(use.end or 0 for use in left)
        return tuple(sorted({use.account for use in left if use.end == latest}))
    if uses:
        earliest = min(use.start for use in uses)
        return tuple(sorted({use.account for use in uses if use.start == earliest}))
    return (made_for,)


def evenly(amount: int, parts: int) -> list[int]:
    """*amount* in *parts* that differ by at most one; the larger ones come first."""
    each, left = divmod(amount, parts)
    return [each + (number < left) for number in range(parts)]
