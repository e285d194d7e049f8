"""S3 when answers are lost, connections are cut, bytes are changed, and the server is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import StoreConflict, StoreUnavailable
from resources.object_store.protocol import Bytes, Put
from resources.object_store.s3 import S3Store
from resources.object_store.s3_client import ATTEMPTS
from tests.contracts.object_store import KEY, keys, sha256
from tests.services.relay import Relay, relaying
from tests.services.s3.conftest import bare_client
from tests.services.s3.servers import S3Server, running_s3

MIB = 2**20
VIDEO = bytes(range(256)) * (11 * MIB // 256) + b"end"
RECEIPT = "intake/northwind/spring/brief.receipt.json"
PARTS: dict[str, Any] = {"one_put_bytes": MIB, "part_bytes": 5 * MIB}
CONFLICT = b"<Error><Code>ConditionalRequestConflict</Code><Message>told</Message></Error>"


@pytest.fixture
def relay(s3_server: S3Server) -> Iterator[Relay]:
    with relaying(s3_server.port) as one:
        yield one


@pytest.fixture
def beside(bucket: Bucket) -> Iterator[S3Store]:
    """The same bucket, past the relay."""
    store = S3Store(bucket)
    yield store
    store.close()


Open = Callable[..., S3Store]


@pytest.fixture
def through(bucket: Bucket, relay: Relay) -> Iterator[Open]:
    """Opens a proven store behind the relay; what the proof asked is forgotten."""
    opened = []

    def open_(**how: Any) -> S3Store:
        store = S3Store(replace(bucket, endpoint=relay.endpoint), **{"pause_seconds": 0.01, **how})
        opened.append(store)
        store.prove()
        relay.heads.clear()
        return store

    yield open_
    for one in opened:
        one.close()


@pytest.fixture
def video(tmp_path: Path) -> Path:
    path = tmp_path / "video"
    path.write_bytes(VIDEO)
    return path


def put(store: S3Store, path: Path, key: str = KEY) -> Put:
    content = path.read_bytes()
    return store.put_if_absent(key, path, sha256=sha256(content), size=len(content), media_type="video/mp4")


def object_of(bucket: Bucket, key: str = KEY) -> str:
    return f"/{bucket.name}/{key}"


@pytest.mark.parametrize(
    "trouble",
    [{"lose_answer": True}, {"cut_request_at": 3 * MIB}, {"cut_answer_at": 20}, {"spoil": True}],
    ids=lambda one: next(iter(one)),
)
def test_one_put_survives(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path, trouble: dict[str, Any]
) -> None:
    store = through()
    relay.order(f"PUT {object_of(bucket)}", **trouble)

    assert put(store, video) is Put.CREATED
    # A refusal that comes before the body was heard may be lost with its connection, and is asked for again.
    assert 2 <= relay.count(f"PUT {object_of(bucket)}") <= ATTEMPTS
    assert [one.times for one in relay.orders] == [0]
    assert beside.sha256(KEY) == sha256(VIDEO)
    assert put(store, video) is Put.ALREADY_SAME


@pytest.mark.parametrize(
    "call", ["POST {}?uploads", "PUT {}?partNumber=2", "PUT {}?uploadId", "POST {}?uploadId"]
)
@pytest.mark.parametrize(
    "trouble", [{"lose_answer": True}, {"cut_answer_at": 20}], ids=lambda one: next(iter(one))
)
def test_an_upload_in_parts_survives(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path, call: str, trouble: Any
) -> None:
    store = through(**PARTS)
    relay.order(call.format(object_of(bucket)), **trouble)

    assert put(store, video) is Put.CREATED
    assert beside.sha256(KEY) == sha256(VIDEO)
    assert len(list(beside.list_temporary())) == (1 if call.endswith("?uploads") else 0)


def test_a_changed_byte_of_a_part_is_sent_again(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path
) -> None:
    store = through(**PARTS)
    relay.order(f"PUT {object_of(bucket)}", spoil=True)

    assert put(store, video) is Put.CREATED
    assert beside.sha256(KEY) == sha256(VIDEO)
    assert list(beside.list_temporary()) == []


def test_a_conflict_at_the_end_of_an_upload_begins_a_new_one(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path
) -> None:
    store = through(**PARTS)
    head = f"HTTP/1.1 409 Conflict\r\nContent-Length: {len(CONFLICT)}\r\nConnection: close\r\n\r\n"
    relay.order(f"POST {object_of(bucket)}?uploadId", answer=head.encode() + CONFLICT)

    assert put(store, video) is Put.CREATED
    assert relay.count(f"POST {object_of(bucket)}?uploads") == 2
    assert beside.sha256(KEY) == sha256(VIDEO)
    assert list(beside.list_temporary()) == []


def test_a_lost_answer_is_no_reason_to_take_other_bytes_for_ours(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path, tmp_path: Path
) -> None:
    store = through()
    other = tmp_path / "other"
    other.write_bytes(b"other")
    put(beside, other)
    relay.order(f"PUT {object_of(bucket)}", lose_answer=True)

    with pytest.raises(StoreConflict):
        put(store, video)
    assert beside.read_range(KEY, 0, 9) == b"other"


def test_a_stream_goes_on_where_it_was_cut(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path, tmp_path: Path
) -> None:
    store = through()
    put(beside, video)
    relay.order(f"GET {object_of(bucket)}", cut_answer_at=4 * MIB, times=2)

    assert store.get_to(KEY, tmp_path / "copy") == Bytes(len(VIDEO), sha256(VIDEO))
    assert (tmp_path / "copy").read_bytes() == VIDEO
    asked = [head for head in relay.heads if head.startswith("GET ")]
    assert len(asked) == 3
    assert all("if-match:" in head.lower() for head in asked[1:])


def test_a_head_that_was_cut_anywhere_is_no_answer(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, tmp_path: Path
) -> None:
    """Half an ETag names other bytes, and those are gone."""
    path = tmp_path / "small"
    path.write_bytes(b"small")
    store = through()
    put(beside, path)

    for place in range(16, 400, 3):
        relay.order(f"GET {object_of(bucket)}", cut_answer_at=place)
        assert store.get_to(KEY, tmp_path / "copy") == Bytes(5, sha256(b"small")), place


def test_a_range_that_was_cut_is_read_again(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path
) -> None:
    store = through()
    put(beside, video)
    relay.order(f"GET {object_of(bucket)}", cut_answer_at=MIB)

    assert store.read_range(KEY, 10, 2 * MIB) == VIDEO[10 : 10 + 2 * MIB]


def test_a_stream_that_is_cut_for_ever_is_named(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path, tmp_path: Path
) -> None:
    store = through(attempts=2)
    put(beside, video)
    relay.order(f"GET {object_of(bucket)}", cut_answer_at=100, times=99)

    with pytest.raises(StoreUnavailable) as caught:
        store.get_to(KEY, tmp_path / "copy")
    assert caught.value.reason == "unreachable"


def test_every_question_is_asked_again_when_its_answer_is_lost(
    through: Open, relay: Relay, bucket: Bucket, beside: S3Store, video: Path
) -> None:
    store = through()
    put(beside, video)
    for method in ("HEAD", "GET", "DELETE", f"PUT {object_of(bucket, RECEIPT)}"):
        relay.order(method, lose_answer=True)

    assert store.exists(KEY)
    assert keys(store) == [KEY]
    store.put_receipt(RECEIPT, b"{}")
    assert beside.read_range(RECEIPT, 0, 9) == b"{}"
    assert store.delete(KEY)
    assert keys(beside) == [RECEIPT]
    assert all(order.times == 0 for order in relay.orders)


def test_a_server_that_is_too_slow_is_asked_again(
    through: Open, relay: Relay, bucket: Bucket, video: Path
) -> None:
    store = through(read_seconds=1.0)
    relay.order(f"PUT {object_of(bucket)}", delay_seconds=2.5)

    assert put(store, video) is Put.CREATED
    assert relay.count(f"PUT {object_of(bucket)}") >= 2  # a busy machine is slow by itself, too


@pytest.mark.parametrize("how", [{}, PARTS], ids=["one_put", "parts"])
def test_a_killed_server_that_comes_back_loses_nothing(video: Path, how: dict[str, Any]) -> None:
    with running_s3() as server, relaying(server.port) as relay:
        bare = bare_client(server.endpoint)
        bare.create_bucket(Bucket="videos")
        # SeaweedFS is away for a quarter of a minute, and longer on a busy machine
        patience = {"attempts": 11, "pause_seconds": 0.1}
        store = S3Store(Bucket("videos", endpoint=relay.endpoint), **patience, **how)
        store.prove()
        put(store, video, "a/before")
        relay.order("PUT /videos/" + KEY, cut_request_at=2 * MIB)

        back = threading.Timer(0.1, lambda: (server.kill(), server.start()))
        back.start()

        assert put(store, video) is Put.CREATED
        back.join()
        assert store.sha256(KEY) == store.sha256("a/before") == sha256(VIDEO)
        store.close()
        bare.close()


def test_a_server_that_is_gone_is_named_and_takes_nothing(video: Path) -> None:
    with running_s3() as server:
        bare = bare_client(server.endpoint)
        bare.create_bucket(Bucket="videos")
        bare.close()
        store = S3Store(Bucket("videos", endpoint=server.endpoint), attempts=3, pause_seconds=0.01)
        server.kill()

        for use in (lambda: put(store, video), lambda: store.head(KEY), lambda: keys(store)):
            with pytest.raises(StoreUnavailable) as caught:
                use()
            assert caught.value.reason == "unreachable"
        server.start()
        assert put(store, video) is Put.CREATED
        store.close()
