"""The child that renders one job: reads it as one JSON line, answers in JSON lines, then ends.

Belongs here: stills to frames to FFmpeg, and limits. Does not belong here: the queue and the job's record
(workers), or the proof of the output (inspection).

It is a process so that a crash, a hang or a cancellation ends in one kill, FFmpeg included. Standard
input stays open as the life line: when the parent dies, however it dies, the whole process group goes too.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resources.local_renderer import captions, graph, stills
from resources.local_renderer.motion import Timeline
from resources.local_renderer.wanted import Wanted, from_json

_MEMORY_BYTES = 4 << 30
_OUTPUT_BYTES = 512 << 20
_NICENESS = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What the parent hands over; the images are upright stills."""

    wanted: Wanted
    images: tuple[Path, ...]
    folder: Path  #: private, empty, removed by the parent
    cpu_seconds: int


class FfmpegFailed(Exception):
    """FFmpeg stopped before the last frame, or ended with an error; the text is the end of what it said."""


def main() -> int:
    order = _read_order(sys.stdin.readline())
    _limit(order.cpu_seconds)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        for done in render(order):
            _say({"progress": round(done, 3)})
        _say({"done": str(output_path(order))})
    except (OSError, FfmpegFailed, MemoryError) as error:
        _say({"error": f"{type(error).__name__}: {error}"[:500]})
    return 0


def render(order: Order) -> Iterator[float]:
    """Yields the share that is done, up to 1.0 when the output is written."""
    wanted = order.wanted
    frame = (wanted.width, wanted.height)
    caption = _caption(wanted, order.folder)
    pictures = [stills.read_still(path, frame, wanted.zoom) for path in order.images]
    timeline = Timeline(wanted.frame_count, len(pictures), wanted.fps)
    yield 0.05
    command = graph.argv(wanted, caption, output_path(order))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as ffmpeg:
        for number, raw in enumerate(stills.frames(pictures, timeline, frame, wanted.zoom)):
            _feed(ffmpeg, raw)
            if number % 10 == 9:
                yield 0.05 + 0.85 * number / wanted.frame_count
        _, said = ffmpeg.communicate()
    if ffmpeg.returncode != 0:
        raise FfmpegFailed(f"ffmpeg ended with {ffmpeg.returncode}: {said.decode(errors='replace')[-300:]}")
    yield 1.0


def output_path(order: Order) -> Path:
    return order.folder / "output.mp4"


def _read_order(line: str) -> Order:
    raw = json.loads(line)
    return Order(
        from_json(raw["wanted"]), tuple(map(Path, raw["images"])), Path(raw["folder"]), raw["cpu_seconds"]
    )


def _caption(wanted: Wanted, folder: Path) -> Path | None:
    if not wanted.caption.strip():
        return None
    path = folder / "caption.png"
    captions.draw(wanted.caption, wanted.locale, (wanted.width, wanted.height), path)
    return path


def _feed(ffmpeg: subprocess.Popen[bytes], raw: bytes) -> None:
    if ffmpeg.stdin is None:
        raise AssertionError("standard input was asked for")
    try:
        ffmpeg.stdin.write(raw)
    except BrokenPipeError as error:
        said = ffmpeg.stderr.read() if ffmpeg.stderr is not None else b""
        raise FfmpegFailed(f"ffmpeg stopped reading: {said.decode(errors='replace')[-300:]}") from error


def _limit(cpu_seconds: int) -> None:
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_OUTPUT_BYTES, _OUTPUT_BYTES))
    if sys.platform == "linux":  # macOS takes the call and does not enforce it
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _die_with_parent() -> None:
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    sys.exit(main())
