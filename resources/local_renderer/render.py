"""The child that renders one job: reads it as one JSON line, answers in JSON lines, then ends.

Belongs here: stills to frames to FFmpeg, limits, the proof that the output is what was asked for. Does not
belong here: the queue and the job's record (the parent keeps them).

It is a process so that a hostile image, a hang or a cancellation ends in one kill, FFmpeg included. Standard
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
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from pipeline.domain.errors import MediaRefused
from resources.local_renderer import captions, graph, stills
from resources.local_renderer.motion import Timeline
from resources.local_renderer.wanted import Wanted, from_json

_MEMORY_BYTES = 4 << 30
_OUTPUT_BYTES = 512 << 20
_NICENESS = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What the parent hands over."""

    wanted: Wanted
    images: tuple[Path, ...]
    folder: Path  #: private, empty, removed by the parent
    cpu_seconds: int


class OutputWrong(Exception):
    """FFmpeg ended well and the file is still not what was asked for."""


def main() -> int:
    order = _read_order(sys.stdin.readline())
    _limit(order.cpu_seconds)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        for done in render(order):
            _say({"progress": round(done, 3)})
        _say({"done": str(output_path(order))})
    except MediaRefused as error:
        _say({"error": {"code": error.reason, "message": str(error)}})
    except (OSError, subprocess.SubprocessError, OutputWrong, MemoryError) as error:
        _say({"error": {"code": "render_failed", "message": f"{type(error).__name__}: {error}"[:500]}})
    return 0


def render(order: Order) -> Iterator[float]:
    """Yields the share that is done, up to 1.0 when the output is proven."""
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
        raise OutputWrong(f"ffmpeg ended with {ffmpeg.returncode}: {said.decode(errors='replace')[-300:]}")
    _prove(wanted, output_path(order))
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
        raise OutputWrong(f"ffmpeg stopped reading: {said.decode(errors='replace')[-300:]}") from error


def _prove(wanted: Wanted, path: Path) -> None:
    """Every frame decodes, and size, rate and count are exactly what was asked for."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        count = sum(1 for _ in container.decode(stream))
        facts = (stream.width, stream.height, stream.average_rate, count)
    asked = (wanted.width, wanted.height, Fraction(wanted.fps), wanted.frame_count)
    if facts != asked:
        raise OutputWrong(f"asked for {asked}, made {facts}")


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
