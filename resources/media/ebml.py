"""The element structure of WebM and Matroska: is the file whole.

Sizes that a live muxer left unknown are followed block by block. Not here: what the blocks mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from pipeline.domain.errors import MediaUnproven

EBML = 0x1A45DFA3
SEGMENT = 0x18538067
CLUSTER = 0x1F43B675
VOID = 0xEC
#: Children of a segment: where one of them stands, a cluster of unknown size has ended.
_SEGMENT_CHILDREN = frozenset(
    {CLUSTER, 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B, 0x1941A469, 0x1043A770, 0x1254C367}
)
_TOP = frozenset({EBML, SEGMENT, VOID})


@dataclass(frozen=True, slots=True)
class Element:
    """`end` is None where the muxer wrote an unknown size."""

    kind: int
    start: int
    end: int | None


def check_segment(file: BinaryIO, size_bytes: int) -> list[tuple[int, int]]:
    """Whole WebM or Matroska file -> the byte ranges of its clusters; MediaUnproven says what is missing."""
    at, segments = 0, 0
    clusters: list[tuple[int, int]] = []
    while at < size_bytes:
        element = _element(file, at, size_bytes)
        if element.kind not in _TOP:
            raise MediaUnproven("trailing_bytes", f"bytes from {at} on belong to no segment")
        segments += element.kind == SEGMENT
        if segments > 1:
            raise MediaUnproven("joined", "two files in one: a second segment follows")
        end = _end_within(element, size_bytes)
        if element.kind == SEGMENT:
            clusters = _clusters(file, element.start, end)
        at = end
    if not clusters:
        raise MediaUnproven("no_frames", "a header without media: cut, or its encoder was still running")
    return clusters


def _clusters(file: BinaryIO, start: int, end: int) -> list[tuple[int, int]]:
    found, at = [], start
    while at < end:
        element = _element(file, at, end)
        if element.kind not in _SEGMENT_CHILDREN and element.kind not in (VOID, 0xBF):
            raise MediaUnproven("trailing_bytes", f"bytes from {at} on belong to no element of a segment")
        stop = _cluster_end(file, element.start, end) if element.end is None else _end_within(element, end)
        if element.kind == CLUSTER:
            found.append((element.start, stop))
        at = stop
    return found


def _cluster_end(file: BinaryIO, start: int, end: int) -> int:
    at = start
    while at < end:
        element = _element(file, at, end)
        if element.kind in _SEGMENT_CHILDREN:
            return at
        at = _end_within(element, end)
    return at


def _end_within(element: Element, end: int) -> int:
    if element.end is None:
        return end
    if element.end > end:
        raise MediaUnproven("truncated", f"an element ends at byte {element.end}, the file at byte {end}")
    return element.end


def _element(file: BinaryIO, at: int, end: int) -> Element:
    file.seek(at)
    head = file.read(min(12, end - at))
    kind, width = _vint(head, 0, keep_marker=True, longest=4)
    size, length = _vint(head, width, keep_marker=False, longest=8)
    unknown = size == (1 << (7 * length)) - 1
    start = at + width + length
    return Element(kind, start, None if unknown else start + size)


def _vint(head: bytes, at: int, *, keep_marker: bool, longest: int) -> tuple[int, int]:
    first = head[at] if at < len(head) else 0
    length = 9 - first.bit_length()
    if not first or length > longest or at + length > len(head):
        raise MediaUnproven("truncated", "the file ends inside an element, or bytes follow that are none")
    value = int.from_bytes(head[at : at + length], "big")
    return (value if keep_marker else value & ((1 << (7 * length)) - 1)), length
