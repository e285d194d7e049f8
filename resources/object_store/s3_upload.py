"""Put-if-absent on S3: one put up to its limit, a loop of parts above it, and who wrote a key that is taken.

Belongs here: uploads and their proof. Does not belong here: reading, listing, or what keys mean.

Both ways carry SHA-256 checksums, which the store compares, and `If-None-Match: *`. A lost answer makes the
second try meet our own object: every upload leaves its attempt's mark in the metadata, so that 412 and 409
mean only "look and compare".
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from pipeline.domain.errors import BadKey, StoreConflict, StoreUnavailable
from resources.object_store.local_files import CHUNK, digest, reading
from resources.object_store.protocol import Bytes, Put
from resources.object_store.s3_client import Answered, Client
from resources.object_store.s3_errors import CONFLICT, IN_THE_WAY, NO_UPLOAD, NOT_WHOLE, TAKEN
from resources.object_store.s3_reading import Held, held, read_digest

ONE_PUT_BYTES = 5 * 2**30  #: S3's limit of one put
PART_BYTES = 64 * 2**20
MAX_PARTS = 10_000  #: S3's limit
MARK = "reelwright-attempt"


@dataclass(frozen=True, slots=True)
class Upload:
    """One file on its way to one key."""

    key: str
    full: str  #: the key as the bucket knows it
    path: Path
    wanted: Bytes
    media_type: str
    mark: str = field(default_factory=lambda: secrets.token_hex(16))

    def headers(self, client: Client) -> dict[str, Any]:
        said = {"Key": self.full, "ContentType": self.media_type, "Metadata": {MARK: self.mark}}
        return said | client.encryption


@dataclass(frozen=True, slots=True)
class Uploader:
    """Chooses the way by size."""

    client: Client
    one_put_bytes: int = ONE_PUT_BYTES
    part_bytes: int = PART_BYTES

    def put(self, upload: Upload) -> Put:
        """Until the key is ours, is found to be taken, or trying again does not help."""
        _require_size(upload)
        is_large = upload.wanted.size > self.one_put_bytes
        if is_large and (found := compare(self.client, upload)):
            return found  # rather than after hours of sending
        pauses = self.client.pauses()
        while True:
            try:
                self._send_in_parts(upload) if is_large else self._send(upload)
            except Answered as answer:
                if answer.code in IN_THE_WAY:
                    raise BadKey(upload.key, f"cannot be held by this store ({answer.code})") from answer
                if answer.code in NOT_WHOLE:
                    _require_digest(upload)
                elif found := compare(self.client, upload):
                    return found
                pause = next(pauses, None)
                if pause is None:
                    raise _contended(upload, answer.code) from answer
            else:
                return Put.CREATED
            time.sleep(pause)

    def _send(self, upload: Upload) -> None:
        self.client.ask(
            "put_object",
            {
                "ContentLength": upload.wanted.size,
                "ChecksumSHA256": _base64(bytes.fromhex(upload.wanted.sha256)),
                "IfNoneMatch": "*",
                **upload.headers(self.client),
            },
            expects=TAKEN | NOT_WHOLE | IN_THE_WAY,
            body=lambda: upload.path.open("rb"),
        )

    def _send_in_parts(self, upload: Upload) -> None:
        """Nothing shows before the last call; what a kill leaves is listed as temporary."""
        begun = self.client.ask(
            "create_multipart_upload",
            {"ChecksumAlgorithm": "SHA256", **upload.headers(self.client)},
            expects=IN_THE_WAY,
        )
        names = {"Key": upload.full, "UploadId": begun["UploadId"]}
        try:
            parts = self._send_parts(upload, names)
            self.client.ask(
                "complete_multipart_upload",
                {
                    "IfNoneMatch": "*",
                    "MpuObjectSize": upload.wanted.size,
                    "MultipartUpload": {"Parts": parts},
                    **names,
                },
                expects=TAKEN | {CONFLICT, NO_UPLOAD},
            )
        except BaseException:
            with suppress(StoreUnavailable, Answered):
                abort(self.client, names)
            raise

    def _send_parts(self, upload: Upload, names: dict[str, str]) -> list[dict[str, Any]]:
        whole, parts = hashlib.sha256(), []
        for number, start, length in _parts(upload.wanted.size, self.part_bytes):
            checksum = _base64(_hash_part(upload.path, start, length, whole))
            answer = self.client.ask(
                "upload_part",
                {"PartNumber": number, "ContentLength": length, "ChecksumSHA256": checksum, **names},
                expects=NOT_WHOLE | {NO_UPLOAD},
                body=partial(_part, upload.path, start, length),
            )
            parts.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": checksum})
        if whole.hexdigest() != upload.wanted.sha256:
            raise _not_what_was_said(upload, Bytes(upload.wanted.size, whole.hexdigest()))
        return parts


def compare(client: Client, upload: Upload) -> Put | None:
    """What the key holds, against what it should: None when it is free."""
    found = held(client, upload.key)
    if found is None:
        return None
    if found.metadata.get(MARK) == upload.mark:
        return Put.CREATED
    if found.stored.size != upload.wanted.size or _digest_of(client, found) != upload.wanted.sha256:
        raise StoreConflict(upload.key)
    return Put.ALREADY_SAME


def _digest_of(client: Client, found: Held) -> str:
    return found.sha256 or read_digest(client, found.stored.key).sha256


def abort(client: Client, names: Mapping[str, str]) -> bool:
    """Drop an unfinished upload and its parts; False when there is none."""
    try:
        client.ask("abort_multipart_upload", names, expects={NO_UPLOAD, "404"})
    except Answered:
        return False
    return True


def _parts(size: int, part_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and length of each part; larger ones where there would be too many."""
    step = max(part_bytes, -(-size // MAX_PARTS))
    for n, start in enumerate(range(0, size, step), 1):
        yield n, start, min(step, size - start)


def _hash_part(path: Path, start: int, length: int, whole: Any) -> bytes:
    """The part's own digest, added to *whole* in the same reading."""
    part = hashlib.sha256()
    with _Part(path, start, length) as stream:
        while chunk := stream.read(CHUNK):
            part.update(chunk)
            whole.update(chunk)
    return part.digest()


class _Part(io.RawIOBase):
    """A stretch of a file as a file: no part is ever held in memory."""

    def __init__(self, path: Path, start: int, length: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._start, self._length, self._at = start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = memoryview(buffer)[: max(0, self._length - self._at)]
        self._file.seek(self._start + self._at)
        count = self._file.readinto(wanted) or 0
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _part(path: Path, start: int, length: int) -> BinaryIO:
    return cast("BinaryIO", _Part(path, start, length))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _require_size(upload: Upload) -> None:
    with reading(str(upload.path)):
        size = upload.path.stat().st_size
    if size != upload.wanted.size:
        raise _not_what_was_said(upload, Bytes(size, "…"))


def _require_digest(upload: Upload) -> None:
    """The store saw other bytes: those of the file, or were they changed on the way?"""
    with upload.path.open("rb") as stream:
        found = digest(stream)
    if found != upload.wanted:
        raise _not_what_was_said(upload, found)


def _not_what_was_said(upload: Upload, found: Bytes) -> StoreUnavailable:
    problem = f"the file to store has {found.size} bytes, {found.sha256}, not what was said"
    return StoreUnavailable("checksum_mismatch", f"object {upload.key}: {problem}")


def _contended(upload: Upload, code: str) -> StoreUnavailable:
    if code in NOT_WHOLE:
        problem, remedy = "its bytes are changed on the way", "look for what changes them"
        return StoreUnavailable("checksum_mismatch", f"object {upload.key}: {problem}", remedy)
    problem = f"object {upload.key} came and went while it was written ({code})"
    return StoreUnavailable("unreachable", problem, "find out who else writes and deletes in this bucket")
