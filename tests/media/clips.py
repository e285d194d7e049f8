"""Small real clips, made on the spot with PyAV's encoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

Painter = Callable[[int, int, int], npt.NDArray[np.uint8]]


def noise(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    """Blocks of colour that move: no two frames alike."""
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 255, (height // 10 + 1, width // 10 + 1, 3), np.uint8)
    whole = blocks.repeat(10, 0).repeat(10, 1)[:height, :width]
    return np.ascontiguousarray(np.roll(whole, number * 3, 1))


def flat(*colour: int) -> Painter:
    def paint(_: int, width: int, height: int) -> npt.NDArray[np.uint8]:
        return np.full((height, width, 3), colour, np.uint8)

    return paint


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip to be written; sizes in pixels, `loudness` None for no sound."""

    codec: str = "libx264"
    format: str = "mp4"
    width: int = 160
    height: int = 90
    frames: int = 25
    rate: int | Fraction = 25
    keyframe_every: int = 250
    pixels: str = "yuv420p"
    muxer: tuple[tuple[str, str], ...] = ()
    painter: Painter = noise
    loudness: float | None = None
    audio_codec: str = "aac"
    videos: int = 1
    transfer: int | None = None  #: FFmpeg's number of the transfer characteristic, with BT.2020 colours

    def write(self, path: Path) -> Path:
        with av.open(str(path), "w", format=self.format, options=dict(self.muxer)) as container:
            videos = [self._video(container) for _ in range(self.videos)]
            audio = self._audio(container)
            for number in range(self.frames):
                for stream in videos:
                    _encode(container, stream, self._picture(number))
                if audio is not None:
                    _encode(container, audio, self._sound(number))
            for stream in [*videos, *([audio] if audio is not None else [])]:
                _encode(container, stream, None)
        return path

    def _video(self, container: Any) -> Any:
        stream = container.add_stream(self.codec, rate=self.rate)
        stream.width, stream.height, stream.pix_fmt = self.width, self.height, self.pixels
        stream.codec_context.gop_size = self.keyframe_every
        stream.codec_context.thread_count = 1
        if self.transfer is not None:
            stream.codec_context.color_trc = self.transfer
            stream.codec_context.color_primaries = stream.codec_context.colorspace = 9
        return stream

    def _audio(self, container: Any) -> Any | None:
        if self.loudness is None:
            return None
        stream = container.add_stream(self.audio_codec, rate=48_000)
        stream.layout = "mono"
        return stream

    def _picture(self, number: int) -> Any:
        frame = av.VideoFrame.from_ndarray(self.painter(number, self.width, self.height), format="rgb24")
        frame.pts = number
        return frame

    def _sound(self, number: int) -> Any:
        length = int(48_000 / self.rate)
        at = np.arange(length) + number * length
        wave = np.clip(np.sin(at / 20) * (self.loudness or 0), -1, 1).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(wave[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 48_000, number * length
        return frame


def _encode(container: Any, stream: Any, frame: Any) -> None:
    for packet in stream.encode(frame):
        container.mux(packet)


FASTSTART = (("movflags", "faststart"),)
FRAGMENTED = (("movflags", "frag_keyframe+empty_moov+default_base_moof"),)
#: Every container that is read, and both places of an MP4's index.
LAYOUTS = {
    "fast-start mp4": Clip(muxer=FASTSTART, loudness=0.3),
    "index-last mp4": Clip(loudness=0.3),
    "fragmented mp4": Clip(muxer=FRAGMENTED, loudness=0.3, keyframe_every=8),
    "mov": Clip(format="mov", loudness=0.3),
    "webm": Clip(codec="libvpx", format="webm", loudness=0.3, audio_codec="libopus"),
    "live webm": Clip(codec="libvpx", format="webm", muxer=(("live", "1"),)),
    "matroska": Clip(format="matroska", loudness=0.3),
    "transport stream": Clip(format="mpegts", loudness=0.3),
}
