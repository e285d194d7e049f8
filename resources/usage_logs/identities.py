"""Identities of lines, packed: one sorted row of 8 bytes each a file, compared without unpacking.

Belongs here: packing and comparing. Does not belong here: what makes an identity (each reader), or where the
rows are kept. Two different lines of 10 million meet by chance once in 400,000 such files.
"""

from __future__ import annotations

from array import array
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Identities: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]
_PACKED = np.dtype(">u8")


def first_of_each(found: array[int]) -> Mask:
    """Which of *found* were not there before, in their order."""
    view = np.frombuffer(found, dtype=np.uint64)
    mask = np.zeros(len(view), dtype=np.bool_)
    mask[np.unique(view, return_index=True)[1]] = True
    return mask


def without(mask: Mask, found: array[int], packed: bytes) -> Mask:
    """*mask* without those of *found* that are in *packed*."""
    known = unpacked(packed)
    if not len(known):
        return mask
    view = np.frombuffer(found, dtype=np.uint64)
    places = np.searchsorted(known, view)
    places[places == len(known)] = 0
    return np.asarray(mask & (known[places] != view), dtype=np.bool_)


def packed(found: array[int], mask: Mask) -> bytes:
    return bytes(np.sort(np.frombuffer(found, dtype=np.uint64)[mask]).astype(_PACKED).tobytes())


def unpacked(blob: bytes) -> Identities:
    return np.frombuffer(blob, dtype=_PACKED).astype(np.uint64)
