"""Objects in an S3 bucket: AWS, or a server that keeps its promises.

Belongs here: the protocol on S3, put together from its parts beside this file. Does not belong here: any rule
about what is kept.

No write goes to a bucket that was not proven first (`s3_proof`); one that cannot be asked at the start may
still be there when the first write comes, and what only reads works without it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import BinaryIO

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import StoreUnavailable, UnknownSubject
from resources.object_store.local_files import digest, writing
from resources.object_store.protocol import Bytes, Put, Stored, check_receipt_key
from resources.object_store.s3_client import ATTEMPTS, FIRST_PAUSE_SECONDS, READ_SECONDS, Client
from resources.object_store.s3_proof import prove
from resources.object_store.s3_reading import held, read_digest, read_range, stream
from resources.object_store.s3_upload import ONE_PUT_BYTES, PART_BYTES, Upload, Uploader
from resources.object_store.s3_versions import (
    drop_unfinished,
    left_together,
    old_versions,
    purge,
    purge_together,
    together,
    unfinished,
)

#: Folders whose keys are removed side by side: listed, and deleted version by version.
DELETIONS_AT_ONCE = 8

_RECEIPT_TYPES = {".json": "application/json"}


class S3Store:
    """ObjectStore in one bucket, or below one prefix of it."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        one_put_bytes: int = ONE_PUT_BYTES,
        part_bytes: int = PART_BYTES,
        attempts: int = ATTEMPTS,
        pause_seconds: float = FIRST_PAUSE_SECONDS,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self._client = Client(
            bucket, attempts=attempts, pause_seconds=pause_seconds, read_seconds=read_seconds
        )
        self._uploader = Uploader(self._client, one_put_bytes, part_bytes)
        self._is_proven, self._proving = False, threading.Lock()

    @classmethod
    def opened(cls, bucket: Bucket) -> S3Store:
        """Raises BadSettings for a store that overwrites; one that does not answer is proven later."""
        store = cls(bucket)
        with suppress(StoreUnavailable):
            store.prove()
        return store

    def prove(self) -> None:
        with self._proving:
            if not self._is_proven:
                prove(self._client)
                self._is_proven = True

    def close(self) -> None:
        self._client.close()

    def put_if_absent(self, key: str, path: Path, *, sha256: str, size: int, media_type: str) -> Put:
        upload = Upload(key, self._client.full(key), path, Bytes(size, sha256), media_type)
        self.prove()
        return self._uploader.put(upload)

    def put_receipt(self, key: str, content: bytes) -> None:
        full = self._client.full(check_receipt_key(key))
        with suppress(UnknownSubject):
            if self.read_range(key, 0, len(content) + 1) == content:
                return  # a versioned bucket keeps every one
        self.prove()
        self._client.ask(
            "put_object",
            {
                "Key": full,
                "ContentType": _RECEIPT_TYPES.get(Path(key).suffix, "text/plain; charset=utf-8"),
                "ChecksumSHA256": base64.b64encode(hashlib.sha256(content).digest()).decode(),
                **self._client.encryption,
            },
            body=lambda: io.BytesIO(content),
        )

    def head(self, key: str) -> Stored | None:
        found = held(self._client, key)
        return None if found is None else found.stored

    def exists(self, key: str) -> bool:
        return self.head(key) is not None

    def sha256(self, key: str) -> str:
        found = held(self._client, key)
        if found is None:
            raise UnknownSubject("object", key)
        return found.sha256 or read_digest(self._client, key).sha256

    def open(self, key: str) -> AbstractContextManager[BinaryIO]:
        return stream(self._client, key)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        return read_range(self._client, key, start, length)

    def get_to(self, key: str, path: Path) -> Bytes:
        with self.open(key) as opened, writing(key), path.open("wb") as copy:
            return digest(opened, copy)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        asked = {"Prefix": self._client.below(prefix)}
        if after:
            asked |= {"StartAfter": self._client.below(after)}
        while True:
            page = self._client.ask("list_objects_v2", asked)
            for one in page.get("Contents", ()):
                key = self._client.key_of(one["Key"])
                if key is not None:
                    yield Stored(key, one["Size"], one["LastModified"], is_stable=True)
            if not page.get("IsTruncated"):
                return
            asked |= {"ContinuationToken": page["NextContinuationToken"]}

    def delete(self, key: str) -> bool:
        return purge(self._client, key)

    def delete_all(self, keys: Collection[str]) -> Mapping[str, bool | str]:
        answers: dict[str, bool | str] = {}
        with ThreadPoolExecutor(DELETIONS_AT_ONCE) as workers:
            for some in workers.map(self._deleted, together(keys)):
                answers |= some
        return answers

    def _deleted(self, keys: Sequence[str]) -> Mapping[str, bool | str]:
        try:
            return purge_together(self._client, keys)
        except StoreUnavailable as error:
            return dict.fromkeys(keys, error.reason)

    def left_of(self, keys: Collection[str]) -> Mapping[str, str]:
        left: dict[str, str] = {}
        with ThreadPoolExecutor(DELETIONS_AT_ONCE) as workers:
            for some in workers.map(lambda few: left_together(self._client, few), together(keys)):
                left |= some
        return left

    def old_versions(self, prefix: str) -> Iterator[Stored]:
        return old_versions(self._client, prefix)

    def list_temporary(self) -> Iterator[Stored]:
        return unfinished(self._client)

    def delete_temporary(self, key: str) -> bool:
        return drop_unfinished(self._client, key)

    def signed_url(self, key: str, *, seconds: int, media_type: str, disposition: str) -> str | None:
        return self._client.sign(
            seconds,
            Key=self._client.full(key),
            ResponseContentType=media_type,
            ResponseContentDisposition=disposition,
        )
