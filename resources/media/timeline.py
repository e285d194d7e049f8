"""When the frames are shown: duration and average rate from packets. Headers are not asked.

Live-written files state no duration, others state 26 hours for four seconds; an edit list hides frames that
the index still counts. Pure arithmetic on (start, length) pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(slots=True)
class Track:
    """Shown packets of one stream, in seconds."""

    first: Fraction | None = None
    last: Fraction | None = None
    end: Fraction | None = None
    count: int = 0
    _last_length: Fraction = field(default_factory=Fraction)

    def add(self, start: Fraction | None, length: Fraction | None) -> None:
        """One shown packet; either time may be unknown."""
        self.count += 1
        if start is None:
            return
        length = length or Fraction(0)
        self.first = start if self.first is None else min(self.first, start)
        if self.last is None or start > self.last:
            self.last, self._last_length = start, length
        self.end = start + length if self.end is None else max(self.end, start + length)

    def close(self, rate: Fraction | None) -> None:
        """A last packet of unknown length lasts as long as the others do, a lone one as its header says."""
        if self.first is None or self.last is None or self.end is None or self._last_length:
            return
        if self.count > 1:
            self.end = max(self.end, self.last + (self.last - self.first) / (self.count - 1))
        else:
            self.end = max(self.end, self.last + 1 / (rate or Fraction(25)))

    @property
    def span(self) -> Fraction:
        if self.first is None or self.end is None:
            return Fraction(0)
        return self.end - self.first


def duration(tracks: list[Track]) -> Fraction:
    """From the first shown moment of any stream to the last; what lies before time zero is never shown."""
    timed = [
        (max(track.first, Fraction(0)), track.end)
        for track in tracks
        if track.first is not None and track.end
    ]
    if not timed:
        return Fraction(0)
    return max(end for _, end in timed) - min(start for start, _ in timed)


def frame_rate(track: Track, frames: int, stated: Fraction | None) -> Fraction | None:
    """Average over the shown frames; the stated rate where it says the same but for a coarse time base."""
    if track.span <= 0 or frames < 1:
        return None
    counted = frames / track.span
    if stated and abs(counted - stated) <= stated / 200:
        return stated
    return counted.limit_denominator(100_000)
