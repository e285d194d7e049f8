"""Is the body whole: one check per container, and the search for holes. Decides between cut and complete.

A length that matches proves nothing when the server gave none, and a clean exit of a decoder proves nothing
either (SPEC R7). Whether the frames decode is `resources.media.video`'s question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from pipeline.domain.errors import MediaUnproven
from resources.media.boxes import check_movie
from resources.media.ebml import check_segment

Ranges = Iterable[tuple[int, int]]

#: A parallel download that lost a part leaves a hole of zeros; a coded frame has no such run (0 false alarms
#: in 20 good files, measured). Raw sound has, so it is only looked for where the codec is not PCM.
HOLE_BYTES = 4096
_CHUNK = 1 << 20
_PACKET = 188


def check_whole(file: BinaryIO, container: str, size_bytes: int) -> list[tuple[int, int]]:
    """Raise MediaUnproven unless the structure ends where the file ends -> byte ranges of coded media."""
    if container in ("mp4", "mov"):
        return [(box.start, box.end) for box in check_movie(file, size_bytes)]
    if container in ("webm", "matroska"):
        return check_segment(file, size_bytes)
    return _check_packets(file, size_bytes)


def check_no_hole(file: BinaryIO, ranges: Ranges) -> None:
    """Raise MediaUnproven for a run of zeros inside coded media."""
    zeros = bytes(HOLE_BYTES)
    for start, end in ranges:
        at, tail = start, b""
        while at < end:
            file.seek(at)
            chunk = tail + file.read(min(_CHUNK, end - at))
            if zeros in chunk:
                raise MediaUnproven("hole", f"a run of zeros near byte {at}: a part was never written")
            tail = chunk[-(HOLE_BYTES - 1) :]
            at += _CHUNK


def _check_packets(file: BinaryIO, size_bytes: int) -> list[tuple[int, int]]:
    """A transport stream has no index: whole packets, each with its sync byte, is all it can show."""
    if size_bytes % _PACKET:
        raise MediaUnproven("truncated", f"{size_bytes} bytes are no whole number of {_PACKET}-byte packets")
    file.seek(0)
    while chunk := file.read(_PACKET * 4096):
        if set(chunk[::_PACKET]) != {0x47}:
            raise MediaUnproven("trailing_bytes", "a packet without its sync byte: bytes are lost or foreign")
    return [(0, size_bytes)]
