"""What every object store promises: immutable bytes under a key, written once, and an intake to look into.

Belongs here: the protocol, its values, and the rules for keys that hold for every store. Does not belong
here: what keys mean (`pipeline.domain.renditions`) or any store's own way (its own file).

One store holds two kinds of keys. Below `intake/` lie files that people drop under their own names; there
Reelwright writes receipts and nothing else. Every other key is ours, starts with its tenant, and its bytes
never change.
"""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from pipeline.domain.errors import BadKey
from pipeline.domain.renditions import INTAKE, RECEIPT_ENDINGS

INTAKE_PREFIX = f"{INTAKE}/"
#: First segment of unfinished uploads as a store names them: `.uploads/UPLOAD/KEY`.
UPLOADS = ".uploads"
READABLE, VERSIONS = "still_readable", "versions_left"  #: what `left_of` says
MAX_KEY_BYTES = 1024  #: S3's limit
MAX_PART_BYTES = 255  #: of one part between slashes: the limit of the file systems


class Put(enum.StrEnum):
    CREATED = "created"  #: The key was free and now holds these bytes, durably.
    ALREADY_SAME = "already_same"  #: It held the very same bytes already; they are durable.


@dataclass(frozen=True, slots=True)
class Stored:
    """One object as the store lists it."""

    key: str
    size: int  #: bytes
    modified_at: datetime  #: aware UTC; when the bytes were last written
    is_stable: bool = False  #: the store itself guarantees that the bytes are whole (I1)


@dataclass(frozen=True, slots=True)
class Bytes:
    """What was really read: the proof that a copy is the object."""

    size: int
    sha256: str


class ObjectStore(Protocol):
    """Every call raises StoreUnavailable when the store does not answer, BadKey for an impossible key."""

    def put_if_absent(self, key: str, path: Path, *, sha256: str, size: int, media_type: str) -> Put:
        """Upload the file at *path* unless *key* exists; durable when this returns.

        The bytes are checked against *sha256* and *size* on their way. StoreConflict when the key holds
        other bytes, which stay untouched; StoreUnavailable (`checksum_mismatch`) when *path* is not what
        was said. A repeated or concurrent call is harmless.
        """
        ...

    def put_receipt(self, key: str, content: bytes) -> None:
        """Write a receipt beside a brief, over an older one; no other object is ever overwritten."""
        ...

    def head(self, key: str) -> Stored | None: ...

    def exists(self, key: str) -> bool: ...

    def sha256(self, key: str) -> str:
        """The digest of the stored bytes, read or as the store itself vouches for them."""
        ...

    def open(self, key: str) -> AbstractContextManager[BinaryIO]:
        """The bytes as a stream, in constant memory; UnknownSubject when there is no such object."""
        ...

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """At most *length* bytes from *start* on; UnknownSubject when there is no such object."""
        ...

    def get_to(self, key: str, path: Path) -> Bytes:
        """Copy to a private local file, over what is there; says what was read."""
        ...

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        """Objects whose key starts with *prefix* and follows *after*, in the byte order of their keys."""
        ...

    def delete(self, key: str) -> bool:
        """Remove every version; True when something was there. Gone for good when this returns."""
        ...

    def delete_all(self, keys: Collection[str]) -> Mapping[str, bool | str]:
        """As `delete`, for many at once; by key its answer, or the reason code where it failed.

        Whoever must know that they are gone asks `left_of` afterwards."""
        ...

    def left_of(self, keys: Collection[str]) -> Mapping[str, str]:
        """Of each of *keys* that is not wholly gone, what is left: `still_readable`, or `versions_left`."""
        ...

    def old_versions(self, prefix: str) -> Iterator[Stored]:
        """What lies behind the objects below *prefix*, in the order of keys: versions that were written over
        or deleted by others, and their delete markers (0 bytes). They cost storage until their key is
        deleted; a store without versions has none."""
        ...

    def signed_url(self, key: str, *, seconds: int, media_type: str, disposition: str) -> str | None:
        """Where whoever has this URL gets the bytes for so long, with these headers; None from a store that
        serves nobody. It names a place and holds a right: never log it, never keep it (A2, A4)."""
        ...

    def list_temporary(self) -> Iterator[Stored]:
        """What killed writes left: never part of `list`; their keys go to `delete_temporary` only."""
        ...

    def delete_temporary(self, key: str) -> bool: ...

    def close(self) -> None:
        """End connections; whoever opened the store calls it once."""
        ...


def check_key(key: str) -> str:
    """*key* itself, when every store holds it as it is; BadKey names what is wrong."""
    problem = _key_problem(key)
    if problem:
        raise BadKey(key, problem)
    return key


def _key_problem(key: str) -> str | None:
    parts = key.split("/")
    if "" in parts:
        return "is empty, or has an empty part between slashes"
    if not {".", ".."}.isdisjoint(parts):
        return "leads out of its place"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in key):
        return "holds a control character"
    if len(key.encode()) > MAX_KEY_BYTES or any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return f"is too long: at most {MAX_PART_BYTES} bytes a part, {MAX_KEY_BYTES} in all"
    return None


def check_receipt_key(key: str) -> str:
    """*key* itself, when it names a receipt in the intake; BadKey for anything else."""
    if not key.startswith(INTAKE_PREFIX) or not key.endswith(RECEIPT_ENDINGS):
        raise BadKey(key, "is not the key of a receipt in the intake")
    return check_key(key)
