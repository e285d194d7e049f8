"""From a file to its lines: gzip of any number of members or plain, in blocks, whole or not at all.

Belongs here: what is said by bytes alone, names say nothing. Does not belong here: what a line means.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pipeline.domain.errors import LogRefused

BLOCK_BYTES = 256 * 1024
#: A longer line is no record of any log: it is set aside without being held.
MAX_LINE_BYTES = 1024 * 1024
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")

#: In place of a line that is too long to hold.
TOO_LONG: None = None


def first_bytes(path: Path, count: int = 4) -> bytes:
    with path.open("rb") as source:
        return source.read(count)


def lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line that is not empty, without its end; None for one beyond all measure.

    Raises `LogRefused`, possibly after the last line, when the file is not whole: nothing of it counts then.
    """
    with path.open("rb") as source:
        start = source.read(2)
        source.seek(0)
        blocks = _inflated(source) if start == GZIP else iter(lambda: source.read(BLOCK_BYTES), b"")
        yield from _split(_text(blocks))


def _text(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Without a byte order mark; text of two bytes a character is no log."""
    head = b""
    for block in blocks:
        head += block
        if len(head) >= len(_BOM):
            break
    if head.startswith(_WIDE):
        raise LogRefused("not_utf8", "is UTF-16 text", "save it as UTF-8")
    yield head.removeprefix(_BOM)
    yield from blocks


def _split(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None]]:
    number, rest, is_too_long = 0, b"", False
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            if is_too_long:
                is_too_long = False
                yield number, TOO_LONG
            elif text := line.rstrip(b"\r"):
                yield number, text
        if len(rest) > MAX_LINE_BYTES:
            rest, is_too_long = b"", True
    if is_too_long:
        yield number + 1, TOO_LONG
    elif text := rest.rstrip(b"\r"):
        yield number + 1, text


def _inflated(source: BinaryIO) -> Iterator[bytes]:
    """Every member in turn, each with its checksum; zeros may follow, as tapes and blocks leave them."""
    packed = source.read(BLOCK_BYTES)
    while packed:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not packed:
                raise LogRefused("cut_gzip", "ends within a gzip member", "deliver it again, whole")
            try:
                yield member.decompress(packed, BLOCK_BYTES)
            except zlib.error as error:
                raise LogRefused("damaged_gzip", "is damaged inside", "deliver it again") from error
            packed = (
                member.unconsumed_tail
                or member.unused_data
                or (b"" if member.eof else source.read(BLOCK_BYTES))
            )
        packed = _next_member(source, packed)


def _next_member(source: BinaryIO, rest: bytes) -> bytes:
    while True:
        rest = rest.lstrip(b"\0")
        if len(rest) < len(GZIP) and (more := source.read(BLOCK_BYTES)):
            rest += more
            continue
        if rest and not rest.startswith(GZIP):
            if GZIP.startswith(rest):
                raise LogRefused("cut_gzip", "ends within a gzip member", "deliver it again, whole")
            problem = "has bytes after its last gzip member that are none"
            raise LogRefused("trailing_garbage", problem, "deliver it again, or cut them off")
        return rest
