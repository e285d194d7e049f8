"""Content encodings within a cap: identity and gzip are read, all others refused (C45, C6).

Belongs here: turning encoded chunks into plain ones without ever holding more than the cap. Does not
belong here: asking for `identity`, which every request does first.
"""

from __future__ import annotations

import zlib
from typing import Protocol

from pipeline.domain.errors import MediaRefused, RemoteUnavailable

_STEP = 1 << 20
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Decoder(Protocol):
    def feed(self, chunk: bytes) -> list[bytes]:
        """Plain pieces of at most 1 MiB; MediaRefused `too_large` as soon as they pass the cap."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the encoding itself says that it ended."""
        ...


class Identity:
    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self.is_whole = True

    def feed(self, chunk: bytes) -> list[bytes]:
        self._left -= len(chunk)
        if self._left < 0:
            raise _too_large()
        return [chunk]


class Gzip:
    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)

    @property
    def is_whole(self) -> bool:
        return self._inflate.eof

    def feed(self, chunk: bytes) -> list[bytes]:
        plain = []
        while chunk and not self._inflate.eof:
            plain.append(self._next(chunk))
            chunk = self._inflate.unconsumed_tail
        return plain

    def _next(self, chunk: bytes) -> bytes:
        try:
            piece = self._inflate.decompress(chunk, _STEP)
        except zlib.error as error:
            raise RemoteUnavailable("bad_encoding", "the body is not the gzip that it says") from error
        self._left -= len(piece)
        if self._left < 0:
            raise _too_large()
        return piece


_DECODERS: dict[str, type[Identity] | type[Gzip]] = {
    "": Identity,
    "identity": Identity,
    "gzip": Gzip,
    "x-gzip": Gzip,
}


def decoder_for(content_encoding: str, *, max_bytes: int) -> Decoder:
    """The decoder of a `Content-Encoding`; RemoteUnavailable `bad_encoding` for one we do not read."""
    kind = _DECODERS.get(content_encoding.strip().lower())
    if kind is None:
        raise RemoteUnavailable("bad_encoding", f"cannot read content encoding {content_encoding[:40]!r}")
    return kind(max_bytes)


def decoded(raw: bytes, content_encoding: str, *, max_bytes: int) -> bytes:
    """A whole small body in plain; RemoteUnavailable when it is cut, too large or unreadable."""
    decoder = decoder_for(content_encoding, max_bytes=max_bytes)
    try:
        plain = b"".join(decoder.feed(raw))
    except MediaRefused as error:
        raise RemoteUnavailable(error.reason, str(error)) from error
    if not decoder.is_whole:
        raise RemoteUnavailable("short_body", "the encoded body ends early")
    return plain


def _too_large() -> MediaRefused:
    return MediaRefused("too_large", "the body passes the byte cap", "raise the profile's size limit")
