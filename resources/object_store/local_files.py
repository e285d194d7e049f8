"""File work of the local store: copying with proof, flushing, and what the operating system's errors mean.

Belongs here: calls that know files and nothing of keys' meaning. Does not belong here: the protocol.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from pipeline.domain.errors import BadKey, StoreUnavailable, UnknownSubject
from resources.object_store.protocol import Bytes

CHUNK = 1024 * 1024

_FULL = "free space on the disk of the object store, then run again"
_NO_FOLDER = "move what stands there away, or name a folder with the setting `store_url`"
_DENIED = "let this user read and write the folder of the object store"

#: What an error number means to a writer: reason, remedy. Anything else is `unreachable`.
FAULTS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        errno.ENOSPC: ("disk_full", _FULL),
        errno.EDQUOT: ("disk_full", _FULL),
        errno.EFBIG: ("disk_full", _FULL),
        errno.EACCES: ("denied", _DENIED),
        errno.EPERM: ("denied", _DENIED),
        errno.EROFS: ("denied", _DENIED),
    }
)
#: The key asks for a file where a folder or a link stands, or the other way round.
_IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})


@contextmanager
def writing(key: str) -> Iterator[None]:
    """Errors of the operating system while *key* is written, in our words."""
    try:
        yield
    except OSError as error:
        if error.errno in _IN_THE_WAY:
            raise BadKey(key, f"cannot be held by this store ({error.strerror})") from error
        raise unavailable(error) from error


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Errors of the operating system while *key* is read, in our words."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOENT or error.errno in _IN_THE_WAY:
            raise UnknownSubject("object", key) from error
        raise unavailable(error) from error


def unavailable(error: OSError) -> StoreUnavailable:
    reason, remedy = FAULTS.get(error.errno or 0, ("unreachable", ""))
    return StoreUnavailable(reason, f"object store: {error.strerror}", remedy)


def no_folder(root: Path) -> StoreUnavailable:
    """A store whose root is a file says so: an empty listing would read as if everything were lost."""
    return StoreUnavailable("unreachable", f"object store: {root} is not a folder", _NO_FOLDER)


def digest(stream: BinaryIO, copy: BinaryIO | None = None) -> Bytes:
    """Read *stream* to its end in constant memory, writing it to *copy* on the way."""
    hashed, size = hashlib.sha256(), 0
    while chunk := stream.read(CHUNK):
        hashed.update(chunk)
        size += len(chunk)
        if copy is not None:
            copy.write(chunk)
    return Bytes(size, hashed.hexdigest())


def flush(descriptor: int) -> None:
    """Onto the medium: on macOS fsync alone stops at the drive's cache."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)
