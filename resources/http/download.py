"""Untrusted bytes into a private file: streamed, hashed, capped, whole or not there (R1, R4).

Belongs here: hops, status words, caps and the file. Does not belong here: whether the bytes are a
good video (resources.media), or asking the provider for a fresh URL (the retrieve step).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.errors import MediaRefused, MediaUnproven, RemoteUnavailable, StoreUnavailable
from pipeline.domain.observations import UrlOutput
from pipeline.domain.polling import retry_after_from
from resources.http.client import HttpClient, Stream, joined
from resources.http.encoding import decoder_for
from resources.http.url_guard import UrlGuard, shown

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})

#: Status to reason; a look-up may give a fresh URL for `url_expired` (C41, R5).
_STATUS_REASONS: Mapping[int, str] = {
    401: "denied",
    403: "url_expired",
    404: "url_expired",
    410: "url_expired",
    429: "rate_limit",
}


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may cost beside its bytes. A slow-loris is ended by rate and by clock (C5)."""

    max_seconds: float = 900.0
    answer_seconds: float = 30.0  #: until the head of each hop's answer is there
    min_bytes_per_second: int = 4096
    grace_seconds: float = 10.0  #: before the rate counts
    max_redirects: int = 3


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A whole body as it lies in the file. `length_was_stated`: HTTP or the provider named its size or
    hash, and it held; without that only a full decode proves that nothing is missing (C2)."""

    sha256: str
    size_bytes: int
    content_type: str  #: as the server says; never believed
    length_was_stated: bool


async def download(
    client: HttpClient,
    output: UrlOutput,
    *,
    into: Path,
    guard: UrlGuard,
    max_bytes: int,
    limits: FetchLimits = FetchLimits(),
) -> Downloaded:
    """Fetch *output* into the new file *into* (mode 0600). On any error the file is gone again.

    Raises UrlRefused (guard), RemoteUnavailable (`url_expired`, `denied`, `rate_limit`,
    `server_error`, `unexpected_status`, `too_many_redirects`, `too_slow`, `timed_out`, … ; fetch
    again), MediaUnproven (`short_body`, `empty_body`, `partial_answer`, `wrong_size`, `wrong_hash`;
    fetch again), MediaRefused (`too_large`) and StoreUnavailable (`disk_full`).
    """
    try:
        async with asyncio.timeout(limits.max_seconds):
            with _new_file(into) as file:
                return await _fetch(client, output, file, _Caps(guard, max_bytes, limits))
    except TimeoutError as error:
        problem = f"{shown(output.url)} took more than {limits.max_seconds:g} s"
        raise RemoteUnavailable("timed_out", problem) from error


@dataclass(frozen=True, slots=True)
class _Caps:
    guard: UrlGuard
    max_bytes: int
    limits: FetchLimits


async def _fetch(client: HttpClient, output: UrlOutput, file: int, caps: _Caps) -> Downloaded:
    url, headers = output.url, output.headers
    for _ in range(caps.limits.max_redirects + 1):
        async with client.stream(
            url, guard=caps.guard, headers=headers, answer_seconds=caps.limits.answer_seconds
        ) as stream:
            if stream.status not in _REDIRECTS:
                _require_whole_answer(stream, url)
                return await _keep(stream, output, file, caps)
            url, headers = _next_hop(caps.guard, url, stream, headers)
    raise RemoteUnavailable("too_many_redirects", f"{shown(output.url)} redirects again and again")


def _next_hop(
    guard: UrlGuard, url: str, stream: Stream, headers: Mapping[str, str]
) -> tuple[str, Mapping[str, str]]:
    """Where to go on; credentials go along only to the very same scheme, host and port (C42)."""
    location = stream.headers.get("location", "")
    try:
        target = joined(url, location)
    except ValueError as error:
        raise RemoteUnavailable("bad_answer", f"{shown(url)} redirects to no URL") from error
    stays = guard.check(target).url.origin() == guard.check(url).url.origin()
    return target, headers if stays else {}


def _require_whole_answer(stream: Stream, url: str) -> None:
    if stream.status == 200:
        return
    if stream.status == 206:
        raise MediaUnproven("partial_answer", f"{shown(url)} sent a part although the whole was asked for")
    reason = _STATUS_REASONS.get(stream.status, "unexpected_status")
    if stream.status >= 500:
        reason = "server_error"
    wait = retry_after_from(stream.headers)
    raise RemoteUnavailable(reason, f"{shown(url)} answered {stream.status}", retry_after_seconds=wait)


async def _keep(stream: Stream, output: UrlOutput, file: int, caps: _Caps) -> Downloaded:
    stated = _stated_length(stream)
    if max(stated or 0, output.size_bytes or 0) > caps.max_bytes:
        raise MediaRefused("too_large", f"the body says that it passes {caps.max_bytes} bytes")
    written = _Written(file, hashlib.sha256())
    await _write_all(stream, written, caps)
    _require_whole(written, output)
    known = output.size_bytes is not None or output.sha256 is not None
    return Downloaded(
        sha256=written.digest.hexdigest(),
        size_bytes=written.size_bytes,
        content_type=stream.headers.get("content-type", ""),
        length_was_stated=stated is not None or known,
    )


@dataclass(slots=True)
class _Written:
    file: int
    digest: hashlib._Hash
    size_bytes: int = 0

    def add(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            view = view[os.write(self.file, view) :]
        self.digest.update(piece)
        self.size_bytes += len(piece)


async def _write_all(stream: Stream, written: _Written, caps: _Caps) -> None:
    decoder = decoder_for(stream.headers.get("content-encoding", ""), max_bytes=caps.max_bytes)
    received, begun = 0, asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(caps.limits.grace_seconds) as pause, aclosing(stream.chunks()) as chunks:
            async for chunk in chunks:
                received += len(chunk)
                for piece in decoder.feed(chunk):
                    written.add(piece)
                pause.reschedule(_next_byte_due(begun, received, caps.limits))
    except TimeoutError as error:
        raise RemoteUnavailable("too_slow", "the body comes slower than the lowest rate") from error
    except RemoteUnavailable as error:
        if error.reason == "short_body":
            raise MediaUnproven("short_body", str(error)) from error
        raise
    if not decoder.is_whole:
        raise MediaUnproven("short_body", "the encoded body ends early")


def _next_byte_due(begun: float, received: int, limits: FetchLimits) -> float:
    """Loop time at which what came so far would fall below the lowest rate."""
    return begun + limits.grace_seconds + received / limits.min_bytes_per_second


def _require_whole(written: _Written, output: UrlOutput) -> None:
    if written.size_bytes == 0:
        raise MediaUnproven("empty_body", "the body is empty")
    if output.size_bytes is not None and output.size_bytes != written.size_bytes:
        problem = f"{written.size_bytes} bytes came, the provider states {output.size_bytes}"
        raise MediaUnproven("wrong_size", problem)
    if output.sha256 is not None and output.sha256.lower() != written.digest.hexdigest():
        raise MediaUnproven("wrong_hash", "the bytes do not have the hash that the provider states")


def _stated_length(stream: Stream) -> int | None:
    text = stream.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None


@contextmanager
def _new_file(path: Path) -> Iterator[int]:
    """A file that did not exist before, and does not afterwards unless all went well."""
    with _disk_errors(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with _disk_errors(path):
            try:
                yield file
            finally:
                os.close(file)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        full = error.errno in _FULL_DISK
        raise StoreUnavailable(
            "disk_full" if full else "spool_unusable",
            f"cannot write {path}: {error.strerror or error}",
            "free disk space" if full else "check that the spool folder exists, is empty and writable",
        ) from error
