"""An intake that lies elsewhere than the objects: people drop files into a folder, the rest is in S3.

Belongs here: which of two stores holds a key. Does not belong here: any store's own way.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from resources.object_store.local import TEMPORARY
from resources.object_store.protocol import INTAKE_PREFIX, Bytes, ObjectStore, Put, Stored


class IntakeBeside:
    """ObjectStore of two: keys below `intake/` in *intake* (a local folder), all others in *objects*."""

    def __init__(self, objects: ObjectStore, intake: ObjectStore) -> None:
        self._objects, self._intake = objects, intake

    def _of(self, key: str) -> ObjectStore:
        return self._intake if key.startswith(INTAKE_PREFIX) else self._objects

    def put_if_absent(self, key: str, path: Path, *, sha256: str, size: int, media_type: str) -> Put:
        return self._of(key).put_if_absent(key, path, sha256=sha256, size=size, media_type=media_type)

    def put_receipt(self, key: str, content: bytes) -> None:
        self._of(key).put_receipt(key, content)

    def head(self, key: str) -> Stored | None:
        return self._of(key).head(key)

    def exists(self, key: str) -> bool:
        return self._of(key).exists(key)

    def sha256(self, key: str) -> str:
        return self._of(key).sha256(key)

    def open(self, key: str) -> AbstractContextManager[BinaryIO]:
        return self._of(key).open(key)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        return self._of(key).read_range(key, start, length)

    def get_to(self, key: str, path: Path) -> Bytes:
        return self._of(key).get_to(key, path)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        both = [self._only(store, store.list(prefix, after=after)) for store in self._asked(prefix)]
        return heapq.merge(*both, key=lambda one: one.key.encode())

    def delete(self, key: str) -> bool:
        return self._of(key).delete(key)

    def delete_all(self, keys: Collection[str]) -> Mapping[str, bool | str]:
        others, intake = self._apart(keys)
        return {**self._objects.delete_all(others), **self._intake.delete_all(intake)}

    def left_of(self, keys: Collection[str]) -> Mapping[str, str]:
        others, intake = self._apart(keys)
        return {**self._objects.left_of(others), **self._intake.left_of(intake)}

    def _apart(self, keys: Collection[str]) -> tuple[Sequence[str], Sequence[str]]:
        intake = [key for key in keys if self._of(key) is self._intake]
        return [key for key in keys if self._of(key) is self._objects], intake

    def old_versions(self, prefix: str) -> Iterator[Stored]:
        both = [self._only(store, store.old_versions(prefix)) for store in self._asked(prefix)]
        return heapq.merge(*both, key=lambda one: one.key.encode())

    def signed_url(self, key: str, *, seconds: int, media_type: str, disposition: str) -> str | None:
        return self._of(key).signed_url(key, seconds=seconds, media_type=media_type, disposition=disposition)

    def list_temporary(self) -> Iterator[Stored]:
        return chain(self._objects.list_temporary(), self._intake.list_temporary())

    def delete_temporary(self, key: str) -> bool:
        is_local = key.startswith(f"{TEMPORARY}/")
        return (self._intake if is_local else self._objects).delete_temporary(key)

    def close(self) -> None:
        self._objects.close()
        self._intake.close()

    def _asked(self, prefix: str) -> tuple[ObjectStore, ...]:
        """Who may hold a key with this prefix: one is asked for the intake, the other for a tenant."""
        if prefix.startswith(INTAKE_PREFIX):
            return (self._intake,)
        return (self._objects, self._intake) if INTAKE_PREFIX.startswith(prefix) else (self._objects,)

    def _only(self, store: ObjectStore, found: Iterator[Stored]) -> Iterator[Stored]:
        """What lies where it would be looked for: a bucket's own `intake/` is nobody's."""
        return (one for one in found if self._of(one.key) is store)
