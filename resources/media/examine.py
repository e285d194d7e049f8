"""Facts and pictures of one file, for everybody outside: the only door to the decoders.

The file is opened here and handed over as a descriptor; its name goes no further. Type comes from content,
digest and length are counted here and not believed of a child.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.domain.errors import MediaRefused, MediaUnproven, SandboxFailed, StoreUnavailable
from pipeline.domain.media import (
    DerivativeFile,
    ImageFacts,
    MediaKind,
    TransformSet,
    VideoFacts,
)
from resources.media.answers import believed, derivative_file, image_facts, video_facts
from resources.media.sandbox import Sandbox
from resources.media.sniff import HEAD_BYTES, Sniffed, sniff

WHITE = (255, 255, 255)  #: what shows through transparency wherever nothing else is stated
_CHUNK = 1 << 20
_EXCERPT = 200
_SHORTEST_TEXT = 16  #: a few bytes that happen to be letters say nothing
_SHORTEST_VIDEO = 256  #: below it the first bytes of a cut body need not show what it was
_TEXTS = ("text/", "application/json", "application/xml")


@dataclass(frozen=True, slots=True)
class UprightPicture:
    """The cleaned picture that was written."""

    path: Path
    width: int
    height: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What is known without a decoder."""

    kind: MediaKind  #: IMAGE may turn out animated
    container: str | None
    content_type: str  #: also of what is not taken, e.g. `text/html`
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Opened:
    fd: int
    size_bytes: int
    sniffed: Sniffed
    head: bytes

    def order(self) -> dict[str, Any]:
        return {"size_bytes": self.size_bytes, "container": self.sniffed.container}


def first_look(path: Path) -> FirstLook:
    """Kind by the first bytes, length and digest; no decoder. MediaRefused `unreadable`."""
    with _opened(path) as file:
        sniffed = file.sniffed
        kind = MediaKind.VIDEO if sniffed.is_video else MediaKind.UNKNOWN
        if sniffed.is_image:
            kind = MediaKind.IMAGE
        return FirstLook(
            kind, sniffed.container or None, sniffed.content_type, file.size_bytes, _digest(file.fd)
        )


def examine_video(sandbox: Sandbox, path: Path, *, sha256: str | None = None) -> VideoFacts:
    """Facts of a whole video. Pass `sha256` where the bytes were hashed on their way in.

    Raises MediaRefused (`not_media`, `no_video_stream`, `unsupported_…`, `too_many_…`), MediaUnproven
    (`empty`, `truncated`, `no_index`, `no_frames`, `trailing_bytes`, `joined`, `hole`, `undecodable`),
    SandboxFailed.
    """
    with _opened(path) as file:
        _require_video(file)
        found, _ = sandbox.run("video", file.fd, file.order())
        with believed():
            return video_facts(found, file.sniffed, file.size_bytes, sha256 or _digest(file.fd))


def examine_image(sandbox: Sandbox, path: Path, *, sha256: str | None = None) -> ImageFacts:
    """Facts of a whole picture. Raises MediaRefused (`not_an_image`, `too_many_pixels`, `truncated`,
    `damaged`, `no_pixels`) or SandboxFailed; an upload is whole as it stands, so nothing is unproven."""
    with _opened(path) as file:
        _require_image(file)
        found, _ = sandbox.run("image", file.fd, file.order())
        with believed():
            return image_facts(found, file.sniffed, file.size_bytes, sha256 or _digest(file.fd))


def upright_image(
    sandbox: Sandbox,
    path: Path,
    out_path: Path,
    *,
    format: str = "jpeg",  # noqa: A002 - Pillow's word, and the manifest's
    quality: int = 95,
    max_side: int | None = None,
    background: tuple[int, int, int] = WHITE,
) -> UprightPicture:
    """Write the picture that moderation and providers see: upright, sRGB, flat, first frame, no metadata.

    `format` is `jpeg` or `png`. The original is untouched; `out_path` appears whole or not at all.
    """
    choice = {"format": format, "quality": quality, "max_side": max_side, "background": list(background)}
    with _opened(path) as file:
        _require_image(file)
        found, (blob,) = sandbox.run("upright", file.fd, {**file.order(), **choice})
    _write(out_path, blob)
    with believed():
        size = int(found["width"]), int(found["height"])
    return UprightPicture(out_path, *size, len(blob), hashlib.sha256(blob).hexdigest())


def derive(sandbox: Sandbox, path: Path, transforms: TransformSet, out_dir: Path) -> list[DerivativeFile]:
    """Make every picture of the set below `out_dir` as `{name}.{webp|jpg}`; one row for each, in order.

    `path` is a video or picture that was examined. Equal bytes, transforms and libraries give equal bytes.
    """
    with _opened(path) as file:
        if not (file.sniffed.is_video or file.sniffed.is_image):
            raise _not_media(file)
        found, blobs = sandbox.run("derive", file.fd, {**file.order(), **asdict(transforms)})
    with believed():
        rows = [
            derivative_file(transforms.derivatives[number], row, blobs[number])
            for number, row in enumerate(found["rows"])
        ]
    if len(rows) != len(transforms.derivatives) or not all(blobs):
        raise SandboxFailed("no_answer", "the set of pictures is not complete")
    for row, blob in zip(rows, blobs, strict=True):
        _write(out_dir / row.filename, blob)
    return rows


@contextmanager
def _opened(path: Path) -> Iterator[_Opened]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a named pipe must not make us wait
    except OSError as error:
        raise MediaRefused("unreadable", f"cannot be opened: {error.strerror}") from error
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise MediaRefused("unreadable", "is no regular file")
        head = os.pread(fd, HEAD_BYTES, 0)
        yield _Opened(fd, about.st_size, sniff(head), head)
    finally:
        os.close(fd)


def _require_video(file: _Opened) -> None:
    if file.sniffed.is_video:
        return
    if not file.size_bytes:
        raise MediaUnproven("empty", "the file is empty")
    nameless = file.sniffed.content_type == "application/octet-stream"
    if file.size_bytes < (_SHORTEST_VIDEO if nameless else _SHORTEST_TEXT):
        raise MediaUnproven("truncated", f"only {file.size_bytes} bytes")
    if file.sniffed.is_audio:
        raise MediaRefused(
            "no_video_stream", f"no video stream: {file.sniffed.content_type} (a cover picture is no video)"
        )
    if file.sniffed.is_image:
        raise MediaRefused("not_a_video", f"a picture ({file.sniffed.content_type}), no video")
    raise _not_media(file)


def _require_image(file: _Opened) -> None:
    if file.sniffed.is_image:
        return
    if not file.size_bytes:
        raise MediaRefused("empty", "the file is empty", "upload the picture again")
    raise MediaRefused(
        "not_an_image",
        f"not a picture that is read here ({file.sniffed.content_type})",
        "use JPEG, PNG, WebP, AVIF, HEIC or GIF",
    )


def _not_media(file: _Opened) -> MediaRefused:
    """Says what it is instead, with the beginning of a text: a provider's error often comes as a body."""
    problem = f"not media ({file.sniffed.content_type})"
    if file.sniffed.content_type.startswith(_TEXTS):
        text = file.head[: 4 * _EXCERPT].decode("utf-8", "replace")
        problem += ": " + " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_EXCERPT]
    return MediaRefused("not_media", problem)


def _digest(fd: int) -> str:
    digest, at = hashlib.sha256(), 0
    while chunk := os.pread(fd, _CHUNK, at):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()


def _write(path: Path, blob: bytes) -> None:
    """Whole or not at all: a reader never sees half a picture."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(blob)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StoreUnavailable(
            "disk_full" if full else "denied",
            f"{path.parent} does not take a picture: {error.strerror}",
            "free space on that disk" if full else "name a folder that can be written",
        ) from error
