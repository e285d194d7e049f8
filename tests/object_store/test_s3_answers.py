"""S3 by a server that says what is written down: conflicts, throttling, refusals, stores that lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore import exceptions as sdk

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadKey, BadSettings, StoreConflict, StoreUnavailable
from resources.object_store.protocol import Put
from resources.object_store.s3 import S3Store
from resources.object_store.s3_errors import CODES, SDK_ERRORS, meaning_of
from tests.contracts.object_store import KEY, sha256
from tests.object_store.s3_stub import BUCKET, PROOF, TAKEN, Said, Stub, stub

PUT = f"PUT /{BUCKET}/{KEY}"
HEAD = f"HEAD /{BUCKET}/{KEY}"
EMPTY = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
CONFLICT = Said(409, "ConditionalRequestConflict")


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def told() -> Iterator[Stub]:
    with stub() as one:
        yield one


@pytest.fixture
def store(told: Stub) -> Iterator[S3Store]:
    one = S3Store(told.bucket, attempts=3, pause_seconds=0.001)
    yield one
    one.close()


@pytest.fixture
def video(tmp_path: Path) -> Path:
    path = tmp_path / "video"
    path.write_bytes(b"video")
    return path


def put(store: S3Store, path: Path, key: str = KEY) -> Put:
    content = path.read_bytes()
    return store.put_if_absent(key, path, sha256=sha256(content), size=len(content), media_type="video/mp4")


def held(**metadata: str) -> Said:
    said = [(f"x-amz-meta-{name}", value) for name, value in metadata.items()]
    return Said(headers=(("Last-Modified", "Thu, 01 Jan 2026 12:00:00 GMT"), *said))


def test_a_conflict_says_nothing_about_who_won_and_is_tried_again(
    told: Stub, store: S3Store, video: Path
) -> None:
    told.say(PUT, CONFLICT, CONFLICT, Said())

    assert put(store, video) is Put.CREATED
    assert len(told.asked(PUT)) == 3


def test_a_conflict_that_somebody_else_won_is_theirs(told: Stub, store: S3Store, video: Path) -> None:
    told.say(PUT, CONFLICT, TAKEN)
    told.say(HEAD, held())  # nothing in it, and no mark

    with pytest.raises(StoreConflict):
        put(store, video)


@pytest.mark.parametrize("status", [503, 500, 429])
def test_a_store_that_throttles_is_asked_again_in_a_while(
    told: Stub, store: S3Store, video: Path, status: int
) -> None:
    told.say(PUT, Said(status, "SlowDown"), Said(status), Said())

    assert put(store, video) is Put.CREATED


def test_a_store_that_throttles_for_ever_is_named_after_a_few_tries(
    told: Stub, store: S3Store, video: Path
) -> None:
    told.say(PUT, Said(503, "SlowDown"))

    with pytest.raises(StoreUnavailable) as caught:
        put(store, video)
    assert caught.value.reason == "busy"
    assert caught.value.remedy
    assert len(told.asked(PUT)) == 3


def test_an_error_in_the_body_of_a_200_is_an_error(told: Stub, video: Path) -> None:
    store = S3Store(told.bucket, attempts=2, pause_seconds=0.001, one_put_bytes=0)
    path = f"/{BUCKET}/{KEY}"
    begun = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
    told.say(HEAD, Said(404))
    told.say(f"GET /{BUCKET}", Said(body=EMPTY))
    told.say(f"POST {path}?uploads", Said(body=begun.encode()))
    told.say(f"POST {path}?uploadId=u", Said(200, "InternalError"))

    with pytest.raises(StoreUnavailable) as caught:
        put(store, video)
    assert caught.value.reason == "busy"
    assert told.asked(f"DELETE {path}?uploadId=u")
    store.close()


def test_a_store_that_overwrites_is_refused_before_anything_is_written(
    told: Stub, store: S3Store, video: Path
) -> None:
    told.say(f"PUT {PROOF}", Said())

    with pytest.raises(BadSettings) as caught:
        S3Store.opened(told.bucket)
    with pytest.raises(BadSettings, match="overwrites"):
        put(store, video)
    assert caught.value.setting == "store_url"
    assert told.asked(PUT) == []


def test_a_store_that_takes_any_checksum_is_refused(told: Stub) -> None:
    told.say(f"PUT {PROOF}", Said(), TAKEN)

    with pytest.raises(BadSettings, match="checksum"):
        S3Store.opened(told.bucket)


def test_a_store_that_proves_itself_is_asked_once(told: Stub, store: S3Store, video: Path) -> None:
    told.say(f"PUT {PROOF}", Said(), TAKEN)
    told.say(f"PUT /{BUCKET}/.reelwright/spoilt", Said(400, "BadDigest"))

    put(store, video)
    put(store, video, "a/b")
    assert len(told.asked(f"PUT {PROOF}")) == 2


def test_a_store_that_does_not_answer_at_the_start_is_proven_before_the_first_write(
    told: Stub, video: Path
) -> None:
    told.say(f"PUT {PROOF}", Said(503, "SlowDown"), Said())

    store = S3Store.opened(told.bucket)
    with pytest.raises(BadSettings, match="overwrites"):
        put(store, video)
    store.close()


def test_encryption_and_owner_are_said_with_every_write(told: Stub, video: Path) -> None:
    place = Bucket(
        BUCKET, endpoint=told.endpoint, region="us-east-1", sse="aws:kms", kms_key="k", owner="111122223333"
    )
    store = S3Store(place)

    put(store, video)
    store.put_receipt("intake/northwind/spring/brief.receipt.json", b"{}")
    writes = told.asked("PUT ")
    assert len(writes) == 3
    assert {one["x-amz-server-side-encryption"] for one in writes} == {"aws:kms"}
    assert {one["x-amz-server-side-encryption-aws-kms-key-id"] for one in writes} == {"k"}
    assert {one.get("x-amz-expected-bucket-owner") for _, one in told.requests} == {"111122223333"}
    assert "expected" not in str(store.signed_url(KEY, seconds=60, media_type="x/y", disposition="inline"))
    store.close()


def test_a_write_says_absent_and_its_checksum(told: Stub, store: S3Store, video: Path) -> None:
    put(store, video)

    (one,) = told.asked(PUT)
    assert one["if-none-match"] == "*"
    assert one["x-amz-checksum-sha256"] == "DKsclhdAT68rJOIh4YnKWUWBPhTT92Y0WwnKE7vij/w="


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (403, "InvalidAccessKeyId", "wrong_credentials"),
        (403, "SignatureDoesNotMatch", "wrong_credentials"),
        (400, "ExpiredToken", "expired_credentials"),
        (403, "AccessDenied", "denied"),
        (404, "NoSuchBucket", "no_bucket"),
        (403, "RequestTimeTooSkewed", "clock_skew"),
        (400, "AuthorizationHeaderMalformed", "wrong_region"),
        (301, "PermanentRedirect", "wrong_region"),
        (400, "KMS.DisabledException", "encryption_key"),
        (501, "NotImplemented", "unsupported"),
        (507, "", "disk_full"),
    ],
)
def test_what_does_not_pass_by_waiting_is_said_at_once_with_its_remedy(
    told: Stub, store: S3Store, video: Path, status: int, code: str, reason: str
) -> None:
    told.say(PUT, Said(status, code))

    with pytest.raises(StoreUnavailable) as caught:
        put(store, video)
    assert caught.value.reason == reason
    assert caught.value.remedy
    assert f"s3://{BUCKET}" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(told.asked(PUT)) == 1


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [(400, "ExpiredToken", "expired_credentials"), (404, "NoSuchBucket", "no_bucket")],
)
def test_what_a_head_cannot_say_is_asked_for_in_words(
    told: Stub, store: S3Store, status: int, code: str, reason: str
) -> None:
    told.say(HEAD, Said(status))
    told.say(f"GET /{BUCKET}", Said(status, code))

    with pytest.raises(StoreUnavailable) as caught:
        store.head(KEY)
    assert caught.value.reason == reason


def test_a_bucket_that_lists_and_does_not_show_is_not_an_empty_one(told: Stub, store: S3Store) -> None:
    told.say(HEAD, Said(403))
    told.say(f"GET /{BUCKET}", Said(body=EMPTY))

    with pytest.raises(StoreUnavailable) as caught:
        store.exists(KEY)
    assert caught.value.reason == "denied"


def test_a_key_that_the_server_cannot_hold_is_refused_by_name(
    told: Stub, store: S3Store, video: Path
) -> None:
    told.say(PUT, Said(409, "ObjectParentIsFile"))

    with pytest.raises(BadKey):
        put(store, video)


@pytest.mark.parametrize("body", [b"", b"<html></html>", EMPTY[:40], b"upstream is gone"])
def test_what_is_no_list_is_no_empty_bucket(told: Stub, store: S3Store, body: bytes) -> None:
    told.say(f"GET /{BUCKET}", Said(body=body))

    with pytest.raises(StoreUnavailable) as caught:
        list(store.list(""))
    assert caught.value.reason in {"unreachable", "busy"}


def test_the_store_keeps_its_own_keys_to_itself(store: S3Store) -> None:
    with pytest.raises(BadKey):
        store.head(".reelwright/proof")


def _network_errors() -> Iterator[type[Exception]]:
    """Every error of the client library that a network can cause."""
    for one in vars(sdk).values():
        if isinstance(one, type) and issubclass(one, sdk.ConnectionError | sdk.HTTPClientError):
            yield one


@pytest.mark.parametrize("kind", sorted({*_network_errors(), *(kind for kind, _ in SDK_ERRORS)}, key=str))
def test_every_error_of_the_network_has_a_reason_and_a_remedy(kind: type[Exception]) -> None:
    meaning = meaning_of(kind.__new__(kind))

    assert meaning is not None
    assert meaning.remedy


def test_every_code_has_a_remedy() -> None:
    assert all(meaning.remedy and meaning.reason for meaning in CODES.values())


def test_without_credentials_it_says_so(
    told: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, video: Any
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    store = S3Store(told.bucket)

    with pytest.raises(StoreUnavailable) as caught:
        put(store, video)
    assert caught.value.reason == "no_credentials"
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(StoreUnavailable) as caught:
        S3Store(told.bucket)
    assert caught.value.reason == "no_credentials"
    store.close()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://nowhere.invalid"])
def test_a_host_that_is_not_there_is_named_and_no_key(endpoint: str) -> None:
    store = S3Store(Bucket(BUCKET, endpoint=endpoint, region="us-east-1"), attempts=2, pause_seconds=0.001)

    with pytest.raises(StoreUnavailable) as caught:
        store.head(KEY)
    assert caught.value.reason == "unreachable"
    assert "store_url" in caught.value.remedy
    assert endpoint in str(caught.value)
    assert "northwind" not in str(caught.value)
    store.close()


def test_a_port_that_does_not_speak_tls_is_named(told: Stub, video: Path) -> None:
    store = S3Store(
        Bucket(BUCKET, endpoint=told.endpoint.replace("http", "https"), region="us-east-1"), attempts=2
    )

    with pytest.raises(StoreUnavailable) as caught:
        put(store, video)
    assert caught.value.reason == "tls"
    store.close()
