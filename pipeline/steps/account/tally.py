"""One log as arrays: what each line was, whose it was, and how much; then what is left without duplicates.

Belongs here: attribution, bounds and sums of one file, 24 bytes a line. Does not belong here: bytes and forms
(`resources.usage_logs`), or what is kept (`meter_delivery`).
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.domain.delivery import (
    SKEW_SECONDS,
    Kind,
    Meter,
    PathRule,
    PathRules,
    decoded,
    key_of,
    most_bytes,
)
from resources.usage_logs.identities import Mask
from resources.usage_logs.reading import Log
from resources.usage_logs.record import Deletion, Event, SetAside

#: Lines whose paths are looked up together.
BLOCK = 20_000
#: Paths that are remembered at once; a scan of made-up ones must not fill the memory.
REMEMBERED_PATHS = 200_000
#: Set-aside lines that a file names one by one; all of them are counted.
NAMED_ASIDE = 1_000

HOUR_SECONDS, DAY_SECONDS = 3_600, 86_400
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose object it is that lies under a key."""

    object: str
    tenant: str
    campaign: str | None
    rendition: str | None
    spend: str
    size_bytes: int
    cost_centers: tuple[tuple[int, str], ...] = ()  #: from a second on, in order

    def cost_center(self, at: int) -> str | None:
        """Of a time before the first settings the first one: nothing was delivered before it was made."""
        if not self.cost_centers:
            return None
        return self.cost_centers[max(0, bisect_right(self.cost_centers, (at, "\U0010ffff")) - 1)][1]


Owners = Callable[[Collection[str]], Mapping[str, Owner]]


class Group(NamedTuple):
    """What the lines of one fact have in common, beside their day and meter."""

    owner: Owner | None
    cost_center: str | None
    kind: Kind


class Fact(NamedTuple):
    group: Group
    day: int  #: seconds of the epoch
    meter: Meter
    quantity: int


class Removed(NamedTuple):
    """A deletion that the store's log states."""

    event: Event
    deletion: Deletion
    owner: Owner | None


class Tally:
    """What a log says, taken up block by block."""

    def __init__(self, owners: Owners, rules: PathRules, now: int) -> None:
        self._owners, self._rules, self._latest = owners, rules, now + SKEW_SECONDS
        self._by_path: dict[str, Owner | None] = {}
        self._numbers: dict[tuple[int, int, str | None], int] = {}  # ids of what `groups` keeps alive
        self.groups: list[Group] = []
        self.identities, self._at = array("Q"), array("I")
        self._group, self._sizes = array("i"), array("q")
        self.aside: list[SetAside] = []
        self.reasons: Counter[str] = Counter()
        self.removed: list[Removed] = []

    def take(self, log: Log) -> None:
        """Take up all of *log*; `LogRefused` on the way means that nothing of it counts."""
        rules = self._rules.get(log.provider, ())
        while block := list(itertools.islice(log.records, BLOCK)):
            self._look_up(block, log.encoded, rules)
            for record in block:
                if isinstance(record, Event):
                    self._count(record)
                else:
                    self._set_aside(record)

    def _look_up(self, block: Sequence[Event | SetAside], encoded: int, rules: Sequence[PathRule]) -> None:
        if len(self._by_path) > REMEMBERED_PATHS:
            self._by_path.clear()
        new = {one.path for one in block if isinstance(one, Event)} - self._by_path.keys()
        keys = {path: _key(path, encoded, rules) for path in new}
        found = self._owners({key for key in keys.values() if key is not None})
        for path, key in keys.items():
            self._by_path[path] = None if key is None else found.get(key)

    def _count(self, event: Event) -> None:
        owner = self._by_path[event.path]
        if event.at > self._latest:
            return self._set_aside(SetAside(event.line, "from_the_future", "time"))
        if owner is not None and event.size > most_bytes(event.kind.traffic, owner.size_bytes):
            return self._set_aside(SetAside(event.line, "more_bytes_than_the_object_has", "bytes"))
        center = None if owner is None else owner.cost_center(event.at)
        parts = (id(owner), id(event.kind), center)
        number = self._numbers.get(parts)
        if number is None:
            number = self._numbers[parts] = len(self.groups)
            self.groups.append(Group(owner, center, event.kind))
        self.identities.append(event.identity)
        self._at.append(event.at)
        self._group.append(number)
        self._sizes.append(event.size)
        if event.deletion is not None:
            self.removed.append(Removed(event, event.deletion, owner))
        return None

    def _set_aside(self, record: SetAside) -> None:
        self.reasons[record.reason] += 1
        if len(self.aside) < NAMED_ASIDE:
            self.aside.append(record)

    @property
    def counted(self) -> int:
        """Lines that are events, or duplicates of some."""
        return len(self.identities)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last second of what was counted."""
        return (min(self._at), max(self._at)) if self._at else None

    def hours(self) -> dict[int, int]:
        """Lines an hour, by the second at which it begins."""
        starts, lines = np.unique(
            np.frombuffer(self._at, dtype=np.uint32) // HOUR_SECONDS, return_counts=True
        )
        return {int(hour) * HOUR_SECONDS: int(count) for hour, count in zip(starts, lines, strict=True)}

    def bytes_sent(self, mask: Mask) -> tuple[int, int]:
        """Of all lines of *mask*, and of those that are nobody's."""
        nobodys = np.array([group.owner is None for group in self.groups] or [False])
        is_nobodys = nobodys[np.frombuffer(self._group, dtype=np.int32)] if self._group else mask
        sizes = np.frombuffer(self._sizes, dtype=np.int64)
        return _sum(sizes[mask]), _sum(sizes[mask & is_nobodys])

    def facts(self, mask: Mask) -> Iterator[Fact]:
        """Sums a group and day of the lines of *mask*; nothing that is zero."""
        if not mask.any():
            return
        days = np.frombuffer(self._at, dtype=np.uint32)[mask].astype(np.int64) // DAY_SECONDS
        keys = (np.frombuffer(self._group, dtype=np.int32)[mask].astype(np.int64) << 20) | days
        order = np.argsort(keys, kind="stable")
        sizes = np.frombuffer(self._sizes, dtype=np.int64)[mask][order]
        found, begins = np.unique(keys[order], return_index=True)
        ends = [*begins[1:].tolist(), len(sizes)]
        for key, begin, end in zip(found.tolist(), begins.tolist(), ends, strict=True):
            group, day = self.groups[key >> 20], (key & 0xFFFFF) * DAY_SECONDS
            yield from (Fact(group, day, meter, end - begin) for meter in group.kind.counted)
            if sent := _sum(sizes[begin:end]):
                yield Fact(group, day, Meter.BYTES, sent)


def _key(path: str, encoded: int, rules: Sequence[PathRule]) -> str | None:
    plain = decoded(path, encoded)
    return None if plain is None else key_of(plain, rules)


def _sum(sizes: Iterable[int]) -> int:
    """Exactly: numpy's own sum wraps around beyond 63 bits."""
    counted = np.asarray(sizes, dtype=np.int64)
    if len(counted) and int(counted.max()) * len(counted) >= _INT64:
        return sum(counted.tolist())
    return int(counted.sum())
