"""Calls to one S3 bucket: each names it, is tried again when that may help, and fails in our words.

Belongs here: the one client, its settings, and trying again. Does not belong here: what a call is for.

The SDK's own retries are off. It repeats a conditional write whose answer was lost and takes the 412 for
somebody else's object; here whoever asks knows what a second try may find.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType
from typing import Any, BinaryIO

import boto3
from botocore.config import Config

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadKey
from resources.object_store.protocol import MAX_KEY_BYTES, check_key
from resources.object_store.s3_errors import TROUBLE, CutAnswer, code_of, meaning_of, unavailable

#: First segment of keys that the store keeps for itself; no tenant begins with a dot.
RESERVED = ".reelwright"
ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 0.2
CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0

#: Without these a success is no whole answer.
_MUST_HOLD: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "head_object": frozenset({"ETag", "ContentLength", "LastModified"}),
        "get_object": frozenset({"ETag", "ContentLength"}),
        "put_object": frozenset({"ETag"}),
        "create_multipart_upload": frozenset({"UploadId"}),
        "upload_part": frozenset({"ETag"}),
        "complete_multipart_upload": frozenset({"ETag"}),
        "list_objects_v2": frozenset({"IsTruncated"}),
        "list_object_versions": frozenset({"IsTruncated"}),
        "list_multipart_uploads": frozenset({"IsTruncated"}),
        "list_parts": frozenset({"IsTruncated"}),
    }
)

Body = Callable[[], AbstractContextManager[BinaryIO]]


class Answered(Exception):
    """The store said what its asker expects besides success; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Client:
    """One bucket; safe to use from many threads."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        attempts: int = ATTEMPTS,
        pause_seconds: float = FIRST_PAUSE_SECONDS,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self.bucket = bucket
        self.attempts = attempts
        self._pause_seconds = pause_seconds
        self._base = f"{bucket.prefix}/" if bucket.prefix else ""
        with self.speaking():
            self._calls = _calls(bucket, read_seconds)
        self._always = {"Bucket": bucket.name}
        if bucket.owner:
            self._always["ExpectedBucketOwner"] = bucket.owner

    def ask(
        self,
        call: str,
        wanted: Mapping[str, Any],
        *,
        expects: Collection[str] = (),
        body: Body | None = None,
        attempts: int | None = None,
    ) -> dict[str, Any]:
        """The answer of *call* with *wanted*; `Answered` for a code in *expects*, else StoreUnavailable.

        *body* is opened anew for each try.
        """
        pauses = self.pauses(attempts)
        while True:
            try:
                return self._once(call, body, wanted)
            except TROUBLE as error:
                if code_of(error) in expects:
                    raise Answered(code_of(error)) from error
                meaning = meaning_of(error)
                if meaning is None:
                    raise
                pause = next(pauses, None) if meaning.is_passing else None
                if pause is None:
                    raise unavailable(error, self.bucket, meaning) from error
            time.sleep(pause)

    def _once(self, call: str, body: Body | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
        with nullcontext() if body is None else body() as stream:
            sent = wanted if stream is None else {**wanted, "Body": stream}
            try:
                answer: dict[str, Any] = getattr(self._calls, call)(**self._always, **sent)
            except ValueError as error:  # half a date or half a number in its head
                raise CutAnswer(call=call) from error
        if not _is_whole(call, answer):
            raise CutAnswer(call=call)
        return answer

    def pauses(self, attempts: int | None = None) -> Iterator[float]:
        """Seconds before each try after the first: doubled, and spread so that workers do not march."""
        for n in range((attempts or self.attempts) - 1):
            yield self._pause_seconds * 2**n * random.uniform(0.5, 1.0)  # noqa: S311  no secret

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Errors of a single use of the library, in our words."""
        try:
            yield
        except TROUBLE as error:
            meaning = meaning_of(error)
            if meaning is None:
                raise
            raise unavailable(error, self.bucket, meaning) from error

    def sign(self, seconds: int, **wanted: str) -> str:
        """A URL for one GET. The owner is not part of it: its bearer would have to send that as a header."""
        with self.speaking():
            signed: str = self._calls.generate_presigned_url(
                "get_object", Params={"Bucket": self.bucket.name, **wanted}, ExpiresIn=seconds
            )
        return signed

    def close(self) -> None:
        self._calls.close()

    @property
    def encryption(self) -> dict[str, Any]:
        """What a write says about encryption at rest."""
        wanted = {"ServerSideEncryption": self.bucket.sse, "SSEKMSKeyId": self.bucket.kms_key}
        return {name: value for name, value in wanted.items() if value}

    def full(self, key: str) -> str:
        """*key* as the bucket knows it; BadKey for what no store should hold, or for the store's own."""
        if check_key(key).partition("/")[0] == RESERVED:
            raise BadKey(key, f"starts with {RESERVED}, which the store keeps for itself")
        return self.own(key)

    def own(self, key: str) -> str:
        full = self._base + key
        if len(full.encode()) > MAX_KEY_BYTES:
            raise BadKey(key, f"is too long: at most {MAX_KEY_BYTES} bytes below {self.bucket}")
        return full

    def below(self, prefix: str) -> str:
        """A prefix of keys, which may end anywhere."""
        return self._base + prefix

    def key_of(self, full: str) -> str | None:
        """Our name of what the bucket lists; None for what no key of ours can be (a console's `folder/`)."""
        key = full.removeprefix(self._base)
        try:
            self.full(key)
        except BadKey:
            return None
        return key


def _is_whole(call: str, answer: Mapping[str, Any]) -> bool:
    """A head that was cut lacks something, or ends within its last line: half an ETag names other bytes."""
    etag: str = answer.get("ETag", '""')
    is_quoted = len(etag) > 1 and etag.endswith('"')
    return is_quoted and _MUST_HOLD.get(call, frozenset()) <= answer.keys()


def _calls(bucket: Bucket, read_seconds: float) -> Any:
    session = boto3.session.Session()
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        max_pool_connections=32,
        signature_version="s3v4",
        s3={"addressing_style": "path" if bucket.endpoint else "auto"},
        # We name checksums ourselves; the SDK's trailing one makes some servers store `aws-chunked`.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    region = bucket.region or session.region_name or "us-east-1"
    return session.client("s3", endpoint_url=bucket.endpoint or None, region_name=region, config=config)
