"""The box structure of MP4, QuickTime, HEIC and AVIF: is the file whole, and what does its index claim.

Reads sixteen bytes a box and never trusts a size. A fast-start file cut anywhere passes ffprobe and a decode
(measured); it does not pass here. Not here: samples and time, which the demuxer tells.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pipeline.domain.errors import MediaUnproven

MAX_BOXES = 100_000  #: top-level boxes; an hour in fragments of a tenth of a second has 72,000


@dataclass(frozen=True, slots=True)
class Box:
    """`start` is where the payload begins, `end` one past the box."""

    kind: bytes
    start: int
    end: int


def top_boxes(file: BinaryIO, size_bytes: int) -> list[Box]:
    """All top-level boxes; MediaUnproven when they do not end exactly where the file ends."""
    found = []
    for box in boxes_in(file, 0, size_bytes):
        if not _plausible(box.kind):
            raise MediaUnproven("trailing_bytes", f"bytes from {box.start} on are no box of this container")
        if box.end > size_bytes:
            kind = box.kind.decode("latin-1")
            raise MediaUnproven(
                "truncated", f"box {kind!r} ends at byte {box.end}, the file at byte {size_bytes}"
            )
        found.append(box)
    return found


def boxes_in(file: BinaryIO, start: int, end: int) -> Iterator[Box]:
    """Boxes of one level; the last may reach beyond `end`, which is the caller's to judge."""
    at = start
    for _ in range(MAX_BOXES):
        if at >= end:
            return
        file.seek(at)
        head = file.read(16)
        if len(head) < 8 or at + 8 > end:
            raise MediaUnproven("truncated", f"the file ends inside a box header at byte {at}")
        length, kind = struct.unpack(">I4s", head[:8])
        header = 8
        if length == 1:
            length, header = int.from_bytes(head[8:16], "big"), 16
        elif length == 0:
            length = end - at
        if length < header:
            raise MediaUnproven("trailing_bytes", f"bytes from {at} on are no box of this container")
        yield Box(kind, at + header, at + length)
        at += length
    raise MediaUnproven("too_many_boxes", f"more than {MAX_BOXES} boxes")


def check_movie(file: BinaryIO, size_bytes: int) -> list[Box]:
    """Whole MP4 or QuickTime file -> its media boxes; MediaUnproven says what is missing."""
    boxes = top_boxes(file, size_bytes)
    kinds = [box.kind for box in boxes]
    if b"moov" not in kinds:
        raise MediaUnproven("no_index", "no moov box: cut before its end, or its encoder was still running")
    if kinds.count(b"moov") > 1 or kinds.count(b"ftyp") > 1:
        raise MediaUnproven("joined", "two files in one: " + ", ".join(_words(kinds)))
    media = [box for box in boxes if box.kind == b"mdat"]
    if not any(box.end > box.start for box in media):
        raise MediaUnproven("no_frames", "an index without media: cut, or its encoder was still running")
    _check_fragments(file, boxes)
    return media


def _check_fragments(file: BinaryIO, boxes: list[Box]) -> None:
    """Each fragment's index is followed by its media; a segment index reaches no further than the file."""
    for box, after in zip(boxes, [*boxes[1:], None], strict=True):
        if box.kind == b"moof" and (after is None or after.kind == b"moof"):
            raise MediaUnproven("truncated", f"the fragment at byte {box.start} has no media")
    for box in boxes:
        if box.kind == b"sidx" and _indexed_end(file, box) > boxes[-1].end:
            raise MediaUnproven("truncated", "the segment index names bytes beyond the end of the file")


def _indexed_end(file: BinaryIO, box: Box) -> int:
    file.seek(box.start)
    body = file.read(min(box.end - box.start, 1 << 20))
    try:
        wide = body[0] > 0
        (first,) = struct.unpack_from(">Q" if wide else ">I", body, 20 if wide else 16)
        at = 28 if wide else 20
        (count,) = struct.unpack_from(">H", body, at + 2)
        sizes = (struct.unpack_from(">I", body, at + 4 + 12 * n)[0] for n in range(count))
        return int(box.end + first + sum(size & 0x7FFFFFFF for size in sizes))
    except (struct.error, IndexError):
        return box.end


def picture_sizes(file: BinaryIO, boxes: list[Box]) -> list[tuple[int, int]]:
    """Every size that a HEIC or AVIF file's properties and tracks claim: what a decoder may allocate."""
    sizes = []
    for box in boxes:
        if box.kind == b"meta":
            sizes += _property_sizes(file, box)
        elif box.kind == b"moov":
            sizes += _track_sizes(file, box)
    return sizes


def _property_sizes(file: BinaryIO, meta: Box) -> list[tuple[int, int]]:
    properties = _child(file, meta.start + 4, meta.end, b"iprp")  # `meta` has a version before its boxes
    container = properties and _child(file, properties.start, properties.end, b"ipco")
    sizes = []
    for box in boxes_in(file, container.start, container.end) if container else ():
        if box.kind == b"ispe":
            file.seek(box.start + 4)
            sizes.append(struct.unpack(">II", file.read(8).ljust(8, b"\0")))
    return [(int(width), int(height)) for width, height in sizes]


def _child(file: BinaryIO, start: int, end: int, kind: bytes) -> Box | None:
    return next((box for box in boxes_in(file, start, end) if box.kind == kind), None)


def _track_sizes(file: BinaryIO, moov: Box) -> list[tuple[int, int]]:
    found = []
    for track in (box for box in boxes_in(file, moov.start, moov.end) if box.kind == b"trak"):
        for box in boxes_in(file, track.start, track.end):
            if box.kind == b"tkhd" and box.end - box.start >= 8:
                file.seek(box.end - 8)
                width, height = struct.unpack(">II", file.read(8).ljust(8, b"\0"))
                found.append((width >> 16, height >> 16))
    return found


def _plausible(kind: bytes) -> bool:
    return all(32 <= byte < 127 or byte == 0xA9 for byte in kind)


def _words(kinds: list[bytes]) -> list[str]:
    return [kind.decode("latin-1") for kind in kinds[:8]]
