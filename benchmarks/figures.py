"""What a benchmark hands back: a ratio, the goal it is held to, and both sides it was made of.

Belongs here: figures, goals, interleaved timing and the table. Does not belong here: what is timed.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.table import Table

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a ratio: at least or at most *bound*."""

    bound: float
    is_floor: bool

    def __str__(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {self.bound:g}"

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.is_floor else ratio <= self.bound


def at_least(bound: float) -> Goal:
    return Goal(bound, is_floor=True)


def at_most(bound: float) -> Goal:
    return Goal(bound, is_floor=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; without a goal it is stated, not judged."""

    name: str
    ratio: float
    ours: str
    bare: str
    goal: Goal | None = None

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return "stated"
        return "met" if self.goal.is_met(self.ratio) else "MISSED"


@dataclass(slots=True)
class Sides:
    """Seconds of the product and of its baseline, one pair a round."""

    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def throughput_ratio(self) -> float:
        """Median over the rounds of what ours does in the time of the baseline: 1.0 is as fast."""
        pairs = zip(self.bare, self.ours, strict=True)
        return statistics.median(bare / ours for bare, ours in pairs)

    @property
    def medians(self) -> tuple[float, float]:
        return statistics.median(self.ours), statistics.median(self.bare)


def interleaved(
    ours: Callable[[], float], bare: Callable[[], float], rounds: int = ROUNDS, samples: int = 1
) -> Sides:
    """Run both sides in turn, the first one alternating; a round is the median of its *samples*.

    Each side returns its own seconds, so that what it prepares is not timed. One unmeasured turn of each
    comes first: connections, statement caches and pages are warm on both sides.
    """
    sides = Sides()
    ours(), bare()
    for turn in range(rounds):
        order = (ours, bare) if turn % 2 == 0 else (bare, ours)
        took: dict[Callable[[], float], list[float]] = {ours: [], bare: []}
        for _ in range(samples):
            for side in order:
                took[side].append(side())
        sides.ours.append(statistics.median(took[ours]))
        sides.bare.append(statistics.median(took[bare]))
    return sides


@dataclass(slots=True)
class Stopwatch:
    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """Wall clock of the block."""
    watch, began = Stopwatch(), time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - began


@contextmanager
def own_cpu() -> Iterator[Stopwatch]:
    """CPU seconds that this process, without its children, spends in the block."""
    watch, began = Stopwatch(), _own_cpu()
    yield watch
    watch.seconds = _own_cpu() - began


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def shown(seconds: float) -> str:
    """Seconds for people, with the unit that fits."""
    return f"{seconds * 1000:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(figures: Sequence[Figure]) -> Table:
    """As people read them, with the machine and how busy it was."""
    load = os.getloadavg()[0]
    made = Table(title=f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end")
    for heading in ("benchmark", "ours", "bare", "ratio", "goal", "verdict"):
        made.add_column(heading, justify="left" if heading == "benchmark" else "right")
    for one in figures:
        goal = "" if one.goal is None else str(one.goal)
        made.add_row(one.name, one.ours, one.bare, f"{one.ratio:.2f}", goal, one.verdict)
    return made
