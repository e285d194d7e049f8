"""Stored size and wholeness of a picture, read from its own structure before any decoder sees it.

A decoder may allocate what a header claims (Pillow's WebP reader does so on opening), and some accept files
that were cut. Pixels, colours and orientation are `pictures`' matter.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import BinaryIO

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media.boxes import Box, boxes_in, picture_sizes
from resources.media.limits import MAX_IMAGE_PIXELS

_NO_FRAME_MARKERS = frozenset({0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_MAX_CHUNKS = 100_000
_REMEDY = "export the picture again, or upload it again if the file was cut on its way"


def check_size(width: int, height: int) -> tuple[int, int]:
    """Refuse by the stored size, whatever size a decoder could be talked into."""
    if width < 1 or height < 1:
        raise MediaRefused("no_pixels", f"the header says {width}x{height} pixels", _REMEDY)
    if width * height > MAX_IMAGE_PIXELS:
        raise MediaRefused(
            "too_many_pixels",
            f"{width}x{height} is {width * height} pixels, the limit is {MAX_IMAGE_PIXELS}",
            f"scale the picture below {MAX_IMAGE_PIXELS // 1_000_000} megapixels",
        )
    return width, height


def check_picture(file: BinaryIO, container: str, size_bytes: int) -> tuple[int, int]:
    """Stored (width, height) of a whole picture; MediaRefused `truncated`, `damaged`, `too_many_pixels` …"""
    try:
        return _CHECKS[container](file, size_bytes)
    except (struct.error, IndexError) as short:
        raise cut(container) from short
    except MediaUnproven as unproven:
        raise cut(container) from unproven


def cut(container: str) -> MediaRefused:
    return MediaRefused("truncated", f"the {container} file ends before its picture does", _REMEDY)


def damaged(problem: str) -> MediaRefused:
    return MediaRefused("damaged", problem, _REMEDY)


def _png(file: BinaryIO, size_bytes: int) -> tuple[int, int]:
    file.seek(8)
    size: tuple[int, int] | None = None
    for _ in range(_MAX_CHUNKS):
        length, kind = struct.unpack(">I4s", file.read(8))
        if file.tell() + length + 4 > size_bytes:
            raise cut("png")
        if size is None:
            if kind != b"IHDR" or length != 13:
                raise damaged("the PNG does not begin with its header")
            size = check_size(*struct.unpack(">II", file.read(8)))
            file.seek(-8, 1)
        _check_sum(file, kind, length)
        if kind == b"IEND":
            return size
    raise damaged(f"more than {_MAX_CHUNKS} chunks")


def _check_sum(file: BinaryIO, kind: bytes, length: int) -> None:
    summed = zlib.crc32(kind)
    while length:
        part = file.read(min(length, 1 << 20))
        summed = zlib.crc32(part, summed)
        length -= len(part)
    if file.read(4) != summed.to_bytes(4, "big"):
        raise damaged(f"the checksum of chunk {kind.decode('latin-1')!r} is wrong")


def _jpeg(file: BinaryIO, size_bytes: int) -> tuple[int, int]:
    at, size = 2, None
    while True:
        file.seek(at)
        mark, code, length = struct.unpack(">BBH", file.read(4))
        if mark != 0xFF:
            raise damaged(f"no JPEG marker at byte {at}")
        if code == 0xFF or code in _ALONE:  # fill byte, or a marker without a length
            at += 1 if code == 0xFF else 2
            continue
        if 0xC0 <= code <= 0xCF and code not in _NO_FRAME_MARKERS:
            height, width = struct.unpack(">xHH", file.read(5))
            size = check_size(width, height)
        at += 2 + length
        if code == 0xDA:
            break
    if size is None:
        raise damaged("the JPEG has no frame header")
    if at > size_bytes or not _holds(file, at, b"\xff\xd9"):
        raise cut("jpeg")
    return size


def _holds(file: BinaryIO, start: int, wanted: bytes) -> bool:
    file.seek(start)
    tail = b""
    while part := file.read(1 << 20):
        if wanted in tail + part:
            return True
        tail = part[-1:]
    return False


def _gif(file: BinaryIO, size_bytes: int) -> tuple[int, int]:
    file.seek(6)
    width, height, flags = struct.unpack("<HHB2x", file.read(7))
    size = check_size(width, height)
    file.seek(_palette(flags), 1)
    pictures = 0
    while True:
        kind = file.read(1)[0]
        if kind == 0x3B:
            break
        if kind == 0x2C:
            _, _, w, h, local = struct.unpack("<HHHHB", file.read(9))
            check_size(max(w, 1), max(h, 1))
            file.seek(_palette(local) + 1, 1)
            pictures += 1
        elif kind == 0x21:
            file.seek(1, 1)
        else:
            raise damaged(f"no GIF block at byte {file.tell() - 1}")
        _skip_sub_blocks(file, size_bytes)
    if not pictures:
        raise damaged("the GIF holds no picture")
    return size


def _palette(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_sub_blocks(file: BinaryIO, size_bytes: int) -> None:
    while length := file.read(1)[0]:
        file.seek(length, 1)
        if file.tell() > size_bytes:
            raise cut("gif")


def _webp(file: BinaryIO, size_bytes: int) -> tuple[int, int]:
    file.seek(0)
    head = file.read(64)
    if 8 + struct.unpack_from("<I", head, 4)[0] > size_bytes:
        raise cut("webp")
    kind = head[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
    elif kind == b"VP8L":
        bits = struct.unpack_from("<I", head, 21)[0]
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", head, 26))
    else:
        raise damaged("the WebP holds no picture")
    return check_size(width, height)


def _heif(file: BinaryIO, size_bytes: int) -> tuple[int, int]:
    """Box by box until the index and the media were seen whole: cameras append bytes of their own."""
    found: list[Box] = []
    for box in boxes_in(file, 0, size_bytes):
        if {b"meta", b"mdat"} <= {seen.kind for seen in found} and box.end > size_bytes:
            break
        if box.end > size_bytes:
            raise cut("heif")
        found.append(box)
    sizes = picture_sizes(file, found)
    if not sizes:
        raise damaged("no picture size stands in the file")
    for width, height in sizes:
        check_size(width, height)
    return max(sizes, key=lambda size: size[0] * size[1])


_CHECKS: dict[str, Callable[[BinaryIO, int], tuple[int, int]]] = {
    "png": _png,
    "jpeg": _jpeg,
    "gif": _gif,
    "webp": _webp,
    "avif": _heif,
    "heic": _heif,
}
