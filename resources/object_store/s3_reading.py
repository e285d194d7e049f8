"""Reading from S3: what a key holds, streams that outlive a cut connection, ranges.

Belongs here: heads, streams and digests. Does not belong here: writing, listing, deleting.
"""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError

from pipeline.domain.errors import StoreUnavailable, UnknownSubject
from resources.object_store.local_files import CHUNK, digest
from resources.object_store.protocol import Bytes, Stored
from resources.object_store.s3_client import Answered, Client
from resources.object_store.s3_errors import ABSENT, PAST_THE_END, TAKEN, meaning_of, unavailable

#: A HEAD has no body: whatever is wrong shows as its status alone.
_MUTE = frozenset({"301", "307", "400", "401", "403"})


@dataclass(frozen=True, slots=True)
class Held:
    """What a key holds."""

    stored: Stored
    sha256: str | None  #: where the store vouches for the digest of the whole
    metadata: Mapping[str, str]


def held(client: Client, key: str) -> Held | None:
    """None when the key is free, as proven by a bucket that can be listed."""
    full = client.full(key)
    try:
        answer = client.ask("head_object", {"Key": full, "ChecksumMode": "ENABLED"}, expects=ABSENT | _MUTE)
    except Answered as said:
        client.ask("list_objects_v2", {"Prefix": full, "MaxKeys": 1})  # says in words what a HEAD cannot
        if said.code in ABSENT:
            return None
        problem = f"object store {client.bucket} lists its objects and does not show one ({said.code})"
        raise StoreUnavailable("denied", problem, "allow these credentials to read objects") from said
    stored = Stored(key, answer["ContentLength"], answer["LastModified"], is_stable=True)
    return Held(stored, _vouched(answer), answer.get("Metadata", {}))


def _vouched(answer: Mapping[str, Any]) -> str | None:
    """The digest of the whole; an object in parts has one of its parts' digests, which ends in `-PARTS`."""
    checksum = answer.get("ChecksumSHA256", "")
    if not checksum or "-" in checksum or answer.get("ChecksumType") == "COMPOSITE":
        return None
    return base64.b64decode(checksum).hex()


def read_digest(client: Client, key: str) -> Bytes:
    with stream(client, key) as opened:
        return digest(opened)


def read_range(client: Client, key: str, start: int, length: int) -> bytes:
    """The part, read again from its beginning when it was cut."""
    wanted = {"Key": client.full(key), "Range": f"bytes={start}-{start + length - 1}"}
    pauses = client.pauses()
    while True:
        try:
            with closing(client.ask("get_object", wanted, expects=ABSENT | PAST_THE_END)["Body"]) as body:
                return bytes(body.read())
        except Answered as said:
            if said.code in PAST_THE_END:
                return b""
            raise UnknownSubject("object", key) from said
        except BotoCoreError as error:
            time.sleep(_pause(client, pauses, error))


@contextmanager
def stream(client: Client, key: str) -> Iterator[BinaryIO]:
    with io.BufferedReader(_Stream(client, key, _get(client, key)), CHUNK) as opened:
        yield cast("BinaryIO", opened)


def _get(client: Client, key: str, **part: str) -> dict[str, Any]:
    try:
        return client.ask("get_object", {"Key": client.full(key), **part}, expects=ABSENT | TAKEN)
    except Answered as said:
        # `If-Match` failed: other bytes lie there now, and those that were asked for are gone
        raise UnknownSubject("object", key) from said


class _Stream(io.RawIOBase):
    """One object from its first byte to its last; a cut connection is taken up where it broke."""

    def __init__(self, client: Client, key: str, answer: Mapping[str, Any]) -> None:
        self._client, self._key, self._at = client, key, 0
        self._body, self._etag = answer["Body"], answer["ETag"]
        self._pauses = client.pauses()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            try:
                chunk: bytes = self._body.read(len(buffer))
            except BotoCoreError as error:
                self._take_up(error)
            else:
                break
        if chunk:
            self._pauses = self._client.pauses()
        buffer[: len(chunk)] = chunk
        self._at += len(chunk)
        return len(chunk)

    def _take_up(self, error: BotoCoreError) -> None:
        self._body.close()
        time.sleep(_pause(self._client, self._pauses, error))
        rest = _get(self._client, self._key, Range=f"bytes={self._at}-", IfMatch=self._etag)
        self._body = rest["Body"]

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()


def _pause(client: Client, pauses: Iterator[float], error: BotoCoreError) -> float:
    """How long to wait until the bytes are asked for again; raises when that was done often enough."""
    meaning = meaning_of(error)
    if meaning is None:
        raise error
    pause = next(pauses, None) if meaning.is_passing else None
    if pause is None:
        raise unavailable(error, client.bucket, meaning) from error
    return pause
