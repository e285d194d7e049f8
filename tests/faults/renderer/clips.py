"""Small valid MP4 files, encoded once a shape and made unique for each job by a trailing `free` box.

Belongs here: bytes that any strict profile accepts at almost no cost. Does not belong here: jobs.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av


@dataclass(frozen=True, slots=True)
class Shape:
    width: int = 320
    height: int = 180
    duration_seconds: int = 1
    fps: int = 25


def shape_of(body: dict[str, Any]) -> Shape:
    """The shape that a job asks for, or 320x180 for one second when it asks for nothing possible."""
    settings = body.get("settings")
    fps = settings.get("fps", 25) if isinstance(settings, dict) else 25
    asked = {**body, "fps": fps}
    wanted = [asked.get(name) for name in _LIMITS]
    whole = [value for value in wanted if type(value) is int]
    fits = len(whole) == len(wanted) and all(map(_fits, whole, _LIMITS.values()))
    if not fits or whole[0] % 2 or whole[1] % 2:
        return Shape()
    return Shape(*whole)


_LIMITS = {"width": 4096, "height": 4096, "duration_seconds": 120, "fps": 60}


def _fits(value: int, limit: int) -> bool:
    return 0 < value <= limit


class Clip:
    """The shared part of all clips of one shape, hashed once."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._digest = hashlib.sha256(content)

    def unique(self, mark: str) -> bytes:
        return self._content + _free_box(mark)

    def size_bytes(self, mark: str) -> int:
        return len(self._content) + len(_free_box(mark))

    def sha256(self, mark: str) -> str:
        digest = self._digest.copy()
        digest.update(_free_box(mark))
        return digest.hexdigest()


def _free_box(mark: str) -> bytes:
    content = mark.encode()
    return (8 + len(content)).to_bytes(4, "big") + b"free" + content


class Clips:
    """A clip a shape, encoded beside the event loop when first asked for."""

    def __init__(self) -> None:
        self._encoding: dict[Shape, asyncio.Task[Clip]] = {}

    def order(self, shape: Shape) -> asyncio.Task[Clip]:
        if shape not in self._encoding:
            self._encoding[shape] = asyncio.create_task(asyncio.to_thread(_encoded, shape))
        return self._encoding[shape]


def _encoded(shape: Shape) -> Clip:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        _encode(path, shape)
        return Clip(path.read_bytes())


def _encode(path: Path, shape: Shape) -> None:
    options = {"preset": "ultrafast", "crf": "35"}
    with av.open(str(path), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=Fraction(shape.fps), options=options)
        stream.width, stream.height, stream.pix_fmt = shape.width, shape.height, "yuv420p"
        stream.thread_count = 1
        for number in range(shape.duration_seconds * shape.fps):
            container.mux(stream.encode(_frame(shape, number)))
        container.mux(stream.encode(None))


def _frame(shape: Shape, number: int) -> av.VideoFrame:
    """Plain colour that changes from frame to frame, so that it is neither black nor frozen."""
    frame = av.VideoFrame(shape.width, shape.height, "yuv420p")
    for plane, level in zip(frame.planes, (60 + number * 7 % 140, 30 + number * 3 % 190, 128), strict=True):
        plane.update(bytes([level]) * plane.buffer_size)
    frame.pts = number
    return frame
