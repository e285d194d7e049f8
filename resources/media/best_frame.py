"""Which frame stands for a video: bounded search for one that is not black. Runs inside the child.

Keyframes first, since one costs a fiftieth of a decode; clips whose only keyframe is black or hidden are
decoded from the start, up to a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.domain.errors import MediaUnproven
from resources.media.measure import luma_grid
from resources.media.video_reader import VideoReader

DeclareWork = Callable[[int, int], None]  #: (pixels to decode, pixels held at once)

KEYFRAMES = 5  #: spread over the clip
SEARCHED_FRAMES = 1_500  #: a minute at 25 frames a second
_BRIGHT_ENOUGH = 45 / 255  #: mean brightness
_DETAIL_ENOUGH = 0.02  #: standard deviation: a plain card is worth less than a picture


@dataclass(frozen=True, slots=True)
class _Candidate:
    frame: Any
    good: bool
    score: float


def best_frame(fd: int, container: str, declare: DeclareWork) -> tuple[Any, VideoReader]:
    """The frame and its still open reader, which the caller closes."""
    reader = VideoReader(fd, container)
    try:
        keyframes, frames = _shown(reader)
        pixels = reader.coded_size[0] * reader.coded_size[1]
        declare(pixels * (KEYFRAMES + min(frames, SEARCHED_FRAMES)), pixels)
        best = _best(_spread(reader, keyframes), enough=KEYFRAMES)
        if best is None or not best.good:
            reader.container.close()
            reader = VideoReader(fd, container)
            best = _better(best, _best(_bounded(reader), enough=1))
        if best is None:
            raise MediaUnproven("no_frames", "no frame can be decoded")
    except BaseException:
        reader.container.close()
        raise
    return best.frame, reader


def _best(frames: Iterator[Any], enough: int) -> _Candidate | None:
    """Best of all frames, or of the first `enough` good ones."""
    best, good = None, 0
    for frame in frames:
        candidate = _rated(frame)
        best = _better(best, candidate)
        good += candidate.good
        if good >= enough:
            break
    return best


def _better(one: _Candidate | None, other: _Candidate | None) -> _Candidate | None:
    if one is None or other is None:
        return one or other
    return other if (other.good, other.score) > (one.good, one.score) else one


def _rated(frame: Any) -> _Candidate:
    grid = luma_grid(frame)
    mean, detail = float(np.mean(grid)), float(np.std(grid))
    return _Candidate(frame, mean >= _BRIGHT_ENOUGH and detail >= _DETAIL_ENOUGH, round(detail + mean / 4, 6))


def _bounded(reader: VideoReader) -> Iterator[Any]:
    for number, frame in enumerate(reader.frames()):
        if number >= SEARCHED_FRAMES:
            return
        yield frame


def _spread(reader: VideoReader, times: list[int]) -> Iterator[Any]:
    count = min(KEYFRAMES, len(times))
    for number in range(count):
        frame = reader.keyframe_at(times[number * len(times) // count])
        if frame is not None:
            yield frame


def _shown(reader: VideoReader) -> tuple[list[int], int]:
    """(times of shown keyframes, number of frames that decoding from the start passes).

    Read from packets, since an index names hidden keyframes too and live-written files have none.
    """
    times, frames = [], 0
    for packet in reader.packets():
        if packet.stream is reader.video and packet.size:
            frames += 1
            if packet.is_keyframe and not packet.is_discard and packet.pts is not None:
                times.append(packet.pts)
    return times, frames
