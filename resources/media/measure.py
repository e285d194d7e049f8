"""Quality measured while decoding: black, frozen, silent, clipped (SPEC R3). Runs inside the child.

Counts only; what a share means is `pipeline.domain.quality`'s opinion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

_GRID = 96  #: a frame is looked at in about 96 columns: enough for black and frozen, and nearly free
_DARK = 0.10  #: FFmpeg's blackdetect: a pixel in the darkest tenth …
_DARK_SHARE = 0.98  #: … and a frame in which so many are
_SAME = 0.001  #: FFmpeg's freezedetect: mean difference, -60 dB
_SILENT = 0.001  #: -60 dBFS, root mean square of one codec frame (20 to 50 ms)
_FULL = 0.9995  #: above it a sample of any depth stands at full scale
_FULL_RANGE = 2  #: AVCOL_RANGE_JPEG


def luma_grid(frame: Any) -> Samples:
    """Brightness 0 to 1 of a thinned-out frame."""
    depth = frame.format.components[0].bits
    planar = frame.format.name.startswith(("yuv", "gray", "nv12", "p010"))
    if not planar or not 8 <= depth <= 16 or frame.format.is_big_endian:
        frame, depth = frame.reformat(width=_GRID, height=_GRID, format="gray", threads=1), 8
    plane = frame.planes[0]
    values: npt.NDArray[Any] = np.frombuffer(plane, np.dtype("u1" if depth == 8 else "<u2"))
    step = max(1, frame.width // _GRID)
    rows = values.reshape(-1, plane.line_size // values.itemsize)[: frame.height : step, : frame.width : step]
    unused = 6 if frame.format.name.startswith("p010") else 0
    scaled: Samples = rows.astype(np.float32) / np.float32(2 ** (depth - 8 + unused))
    if frame.color_range == _FULL_RANGE:
        scaled /= np.float32(255)
    else:
        scaled = (scaled - np.float32(16)) / np.float32(219)
    return scaled.clip(0, 1)


class PictureMeter:
    """Feed every shown frame in order."""

    def __init__(self) -> None:
        self.frames = 0
        self._black = 0
        self._frozen = 0
        self._before: Samples | None = None

    def feed(self, frame: Any) -> None:
        grid = luma_grid(frame)
        self._black += float(np.mean(grid < _DARK)) >= _DARK_SHARE
        before = self._before
        if before is not None and before.shape == grid.shape:
            self._frozen += float(np.mean(np.abs(grid - before))) < _SAME
        self._before = grid
        self.frames += 1

    @property
    def black_share(self) -> float:
        return round(self._black / self.frames, 6) if self.frames else 0.0

    @property
    def frozen_share(self) -> float:
        return round(self._frozen / (self.frames - 1), 6) if self.frames > 1 else 0.0


class SoundMeter:
    """Feed every decoded audio frame."""

    def __init__(self) -> None:
        self.samples = 0
        self._silent = 0
        self._clipped = 0

    def feed(self, frame: Any) -> None:
        values = _as_float(frame.to_ndarray())
        self.samples += values.size
        self._silent += values.size * bool(np.sqrt(np.mean(np.square(values))) < _SILENT)
        self._clipped += int(np.count_nonzero(np.abs(values) >= _FULL))

    @property
    def silent_share(self) -> float | None:
        return round(self._silent / self.samples, 6) if self.samples else None

    @property
    def clipped_share(self) -> float | None:
        return round(self._clipped / self.samples, 6) if self.samples else None


def _as_float(values: npt.NDArray[Any]) -> Samples:
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    if values.dtype == np.uint8:
        return (values.astype(np.float32) - 128) / np.float32(128)
    return values.astype(np.float32) / np.float32(-float(np.iinfo(values.dtype).min))
