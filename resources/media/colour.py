"""A decoded frame -> an upright sRGB picture of a wanted size. Runs inside the sandboxed child.

Colour tags are claims: what makes no sense for the pixels is read as BT.709, as players do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from av.video.reformatter import Colorspace, Interpolation
from PIL import Image

from resources.media.pictures import turn

_SCALE = Interpolation.LANCZOS | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
_PQ, _HLG = 16, 18  #: AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67
_UNSPECIFIED = 2
_MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}
#: (mirrored, degrees clockwise) -> EXIF's number of the same turn.
_EXIF_TURNS = {
    (False, 0): 1,
    (True, 0): 2,
    (False, 180): 3,
    (True, 180): 4,
    (True, 270): 5,
    (False, 90): 6,
    (True, 90): 7,
    (False, 270): 8,
}
_BT2020_TO_709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)
_WHITE_NITS = 203.0  #: BT.2408: where diffuse white lies in an HDR picture

Floats = npt.NDArray[np.float32]


def picture(
    frame: Any, size: tuple[int, int], turned: tuple[bool, int], background: tuple[int, int, int]
) -> Image.Image:
    """`size` is the display size wanted; pixel aspect and turn are applied on the way to it."""
    number = _EXIF_TURNS[turned]
    stored = (size[1], size[0]) if number >= 5 else size
    if any(part.is_alpha for part in frame.format.components):
        flat = _without_alpha(_scaled(frame, stored, "rgba"), background)
    elif frame.color_trc in (_PQ, _HLG) and frame.format.components[0].bits > 8:
        flat = _tone_mapped(_scaled(frame, stored, "rgb48le"), hlg=frame.color_trc == _HLG)
    else:
        flat = Image.fromarray(_scaled(frame, stored, "rgb24").to_ndarray())
    return turn(flat, number)


def matrix_of(colorspace: int, height: int) -> Colorspace:
    """Tag -> matrix; without a tag by height, as players do; BT.709 for reserved and nonsensical tags."""
    if colorspace == _UNSPECIFIED:
        return Colorspace.ITU709 if height >= 720 else Colorspace.ITU601
    return _MATRICES.get(colorspace, Colorspace.ITU709)


def _scaled(frame: Any, size: tuple[int, int], pixels: str) -> Any:
    matrix = matrix_of(frame.colorspace, frame.height)
    if not frame.format.name.startswith(("rgb", "gbr", "bgr", "pal", "gray")):
        frame.colorspace = int(matrix)  # a tag that swscale does not know makes it refuse the frame
    return frame.reformat(*size, format=pixels, src_colorspace=matrix, interpolation=_SCALE, threads=1)


def _without_alpha(frame: Any, background: tuple[int, int, int]) -> Image.Image:
    image = Image.fromarray(frame.to_ndarray())
    ground = Image.new("RGB", image.size, background)
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _tone_mapped(frame: Any, *, hlg: bool) -> Image.Image:
    """HDR to SDR: light, BT.709 primaries, diffuse white kept, the rest rolled off towards 1."""
    signal = frame.to_ndarray().astype(np.float32) / np.float32(65535)
    light = _from_hlg(signal) if hlg else _from_pq(signal)
    light = np.clip(light @ _BT2020_TO_709.T, 0, None)
    peak = light.max(axis=-1, keepdims=True)
    rolled = np.where(peak > 0.75, 0.75 + 0.25 * np.tanh((peak - 0.75) / 0.5), peak)
    light *= rolled / np.maximum(peak, 1e-6)
    coded = np.where(light <= 0.0031308, light * 12.92, 1.055 * np.power(light, 1 / 2.4) - 0.055)
    return Image.fromarray((np.clip(coded, 0, 1) * 255 + 0.5).astype(np.uint8))


def _from_pq(signal: Floats) -> Floats:
    """SMPTE ST 2084, relative to diffuse white."""
    powered = np.power(signal, 1 / 78.84375)
    top = np.maximum(powered - 0.8359375, 0)
    light = np.power(top / (18.8515625 - 18.6875 * powered), 1 / 0.1593017578125)
    return np.asarray(light * (10_000 / _WHITE_NITS), np.float32)


def _from_hlg(signal: Floats) -> Floats:
    """ARIB STD-B67 with the system gamma of a 1,000 nit display, relative to diffuse white."""
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    scene = np.where(signal <= 0.5, signal * signal / 3, (np.exp((signal - c) / a) + b) / 12)
    luma = scene @ np.array([0.2627, 0.6780, 0.0593], np.float32)
    light = scene * np.power(np.maximum(luma, 1e-6), 0.2)[..., None]
    return np.asarray(light * (1_000 / _WHITE_NITS), np.float32)
