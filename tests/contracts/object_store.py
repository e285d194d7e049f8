"""What every object store must do; each implementation runs it from tests/object_store/.

A subclass gives a fixture `store`: an empty ObjectStore.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.domain.errors import BadKey, StoreConflict, StoreUnavailable, UnknownSubject
from pipeline.domain.renditions import derivative_key, rendition_key, source_key
from resources.object_store.protocol import Bytes, ObjectStore, Put

NAMES = Path(__file__).parent.parent / "data/names"
KEYS = json.loads((NAMES / "key_round_trip.json").read_text())
KEY = "northwind/renditions/r-1/1.mp4"


def trap_names() -> list[str]:
    with tarfile.open(NAMES / "names_traps.tar") as archive:
        return [name for name in archive.getnames() if "\n" not in name]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def keys(store: ObjectStore, prefix: str = "", after: str = "") -> list[str]:
    return [stored.key for stored in store.list(prefix, after=after)]


class ObjectStoreContract:
    @pytest.fixture
    def spool(self, tmp_path: Path) -> Path:
        folder = tmp_path / "spool"
        folder.mkdir()
        return folder

    def put(self, store: ObjectStore, spool: Path, key: str, content: bytes) -> Put:
        path = spool / f"{threading.get_ident()}-{sha256(content)}"
        path.write_bytes(content)
        return store.put_if_absent(
            key, path, sha256=sha256(content), size=len(content), media_type="video/mp4"
        )

    def test_what_was_put_is_there_as_it_was(self, store: ObjectStore, spool: Path) -> None:
        began = datetime.now(UTC)

        assert self.put(store, spool, KEY, b"video") is Put.CREATED
        stored = store.head(KEY)
        assert stored is not None
        assert (stored.key, stored.size, stored.is_stable) == (KEY, 5, True)
        assert abs(stored.modified_at - began) < timedelta(seconds=10)
        assert store.exists(KEY)
        assert store.sha256(KEY) == sha256(b"video")
        with store.open(KEY) as stream:
            assert stream.read() == b"video"

    def test_nothing_is_nowhere(self, store: ObjectStore, tmp_path: Path) -> None:
        assert store.head(KEY) is None
        assert not store.exists(KEY)
        assert keys(store) == []
        assert list(store.list_temporary()) == []
        assert not store.delete(KEY)
        for read in (
            store.sha256,
            lambda key: store.get_to(key, tmp_path / "x"),
            lambda key: store.read_range(key, 0, 1),
        ):
            with pytest.raises(UnknownSubject):
                read(KEY)
        with pytest.raises(UnknownSubject), store.open(KEY):
            pass

    def test_the_same_bytes_again_are_adopted(self, store: ObjectStore, spool: Path) -> None:
        self.put(store, spool, KEY, b"video")

        assert self.put(store, spool, KEY, b"video") is Put.ALREADY_SAME

    def test_other_bytes_under_a_taken_key_are_refused_and_change_nothing(
        self, store: ObjectStore, spool: Path
    ) -> None:
        self.put(store, spool, KEY, b"first")

        with pytest.raises(StoreConflict) as caught:
            self.put(store, spool, KEY, b"other")
        assert caught.value.key == KEY
        assert store.read_range(KEY, 0, 100) == b"first"

    def test_of_many_writers_at_once_exactly_one_creates(self, store: ObjectStore, spool: Path) -> None:
        contents = [b"one", b"two"] * 4
        barrier = threading.Barrier(len(contents))

        def attempt(content: bytes) -> Put | None:
            barrier.wait()
            try:
                return self.put(store, spool, KEY, content)
            except StoreConflict:
                return None

        with ThreadPoolExecutor(len(contents)) as pool:
            results = list(pool.map(attempt, contents))

        assert results.count(Put.CREATED) == 1
        assert results.count(Put.ALREADY_SAME) == 3
        assert results.count(None) == 4

    def test_a_file_that_is_not_what_was_said_is_never_stored(self, store: ObjectStore, spool: Path) -> None:
        path = spool / "x"
        path.write_bytes(b"cut")

        for digest, size in [(sha256(b"whole"), 3), (sha256(b"cut"), 4)]:
            with pytest.raises(StoreUnavailable) as caught:
                store.put_if_absent(KEY, path, sha256=digest, size=size, media_type="video/mp4")
            assert caught.value.reason == "checksum_mismatch"
        assert keys(store) == []
        assert list(store.list_temporary()) == []

    def test_an_empty_object_is_an_object(self, store: ObjectStore, spool: Path) -> None:
        self.put(store, spool, KEY, b"")

        assert store.read_range(KEY, 0, 10) == b""
        assert store.sha256(KEY) == sha256(b"")

    def test_ranges_are_cut_at_the_end(self, store: ObjectStore, spool: Path) -> None:
        self.put(store, spool, KEY, b"0123456789")

        assert store.read_range(KEY, 2, 3) == b"234"
        assert store.read_range(KEY, 8, 30) == b"89"
        assert store.read_range(KEY, 10, 5) == b""

    def test_a_large_object_comes_back_whole_with_its_proof(
        self, store: ObjectStore, spool: Path, tmp_path: Path
    ) -> None:
        content = bytes(range(256)) * 20_000
        self.put(store, spool, KEY, content)

        assert store.get_to(KEY, tmp_path / "copy") == Bytes(len(content), sha256(content))
        assert (tmp_path / "copy").read_bytes() == content

    def test_deleting_frees_the_key(self, store: ObjectStore, spool: Path) -> None:
        self.put(store, spool, KEY, b"first")

        assert store.delete(KEY)
        assert not store.delete(KEY)
        assert not store.exists(KEY)
        assert self.put(store, spool, KEY, b"other") is Put.CREATED

    def test_lists_are_in_byte_order_by_prefix_and_go_on_after_a_key(
        self, store: ObjectStore, spool: Path
    ) -> None:
        wanted = ["a/b", "a/b.c", "a/b0", "a-b/c", "a/ä", "a/🎉", "b/c/d", "b/c/e/f"]
        for key in wanted[1:]:
            self.put(store, spool, key, key.encode())
        in_order = sorted(wanted[1:], key=str.encode)

        assert keys(store) == in_order
        assert keys(store, "a/b") == ["a/b.c", "a/b0"]
        assert keys(store, "a/") == ["a/b.c", "a/b0", "a/ä", "a/🎉"]
        assert keys(store, "b/c") == ["b/c/d", "b/c/e/f"]
        assert keys(store, "c/") == []
        for n, key in enumerate(in_order):
            assert keys(store, after=key) == in_order[n + 1 :]
        assert keys(store, "b/", "b/c/d0") == ["b/c/e/f"]

    @pytest.mark.parametrize("names", [KEYS["keys"], trap_names()], ids=["round_trip", "traps"])
    def test_every_awkward_name_is_its_own_object_by_every_road(
        self, store: ObjectStore, spool: Path, tmp_path: Path, names: list[str]
    ) -> None:
        awkward = [f"intake/northwind/spring/{name}" for name in names]
        for n, key in enumerate(awkward):
            assert self.put(store, spool, key, str(n).encode()) is Put.CREATED

        assert keys(store, "intake/northwind/") == sorted(awkward, key=str.encode)
        for n, key in enumerate(awkward):
            content = str(n).encode()
            assert store.read_range(key, 0, 9) == content
            assert store.get_to(key, tmp_path / "copy").sha256 == sha256(content)
            stored = store.head(key)
            assert stored is not None
            assert stored.key == key
        for key in awkward:
            assert store.delete(key)
        assert keys(store) == []

    @pytest.mark.parametrize(
        "key", [*KEYS["refuse_or_state"], "", "a/", "a/./b", "nul\0", "x" * 256, "x/" * 600 + "x"]
    )
    def test_a_key_that_some_store_would_change_is_refused_by_name(
        self, store: ObjectStore, spool: Path, key: str
    ) -> None:
        with pytest.raises(BadKey):
            self.put(store, spool, key, b"x")
        with pytest.raises(BadKey):
            store.head(key)
        with pytest.raises(BadKey):
            store.delete(key)
        assert keys(store) == []

    def test_our_own_keys_are_good_keys(self, store: ObjectStore, spool: Path) -> None:
        ours = [
            source_key("northwind", "a" * 64),
            rendition_key("northwind", "r-" + "0" * 32, 1),
            derivative_key("northwind", "a" * 64, "v1", "thumb-320", "webp"),
        ]
        for key in ours:
            self.put(store, spool, key, b"x")

        assert keys(store, "northwind/") == sorted(ours)

    def test_a_receipt_is_written_over_and_nothing_else_is(self, store: ObjectStore, spool: Path) -> None:
        brief = "intake/northwind/spring/brief.yaml"
        self.put(store, spool, brief, b"tenant: northwind")
        receipt = "intake/northwind/spring/brief.receipt.json"

        store.put_receipt(receipt, b"{}")
        store.put_receipt(receipt, b'{"state": "ready"}')

        assert store.read_range(receipt, 0, 99) == b'{"state": "ready"}'
        assert store.read_range(brief, 0, 99) == b"tenant: northwind"
        assert list(store.list_temporary()) == []

    @pytest.mark.parametrize(
        "key", ["intake/northwind/spring/brief.yaml", "northwind/x.receipt.json", "intake/../x.errors.txt"]
    )
    def test_what_is_no_receipt_cannot_be_written_over(self, store: ObjectStore, key: str) -> None:
        with pytest.raises(BadKey):
            store.put_receipt(key, b"x")

    def test_temporary_objects_are_deleted_only_as_such(self, store: ObjectStore, spool: Path) -> None:
        self.put(store, spool, KEY, b"video")

        with pytest.raises(BadKey):
            store.delete_temporary(KEY)
        assert store.exists(KEY)

    def test_a_deleted_key_keeps_nothing_behind_it(self, store: ObjectStore) -> None:
        receipt = "intake/northwind/spring/brief.receipt.json"
        for content in (b"{}", b"[]", b"{}"):
            store.put_receipt(receipt, content)
        behind = list(store.old_versions("intake/"))

        assert {one.key for one in behind} <= {receipt}
        assert sum(one.size for one in behind) in (0, 4)
        assert store.delete(receipt)
        assert list(store.old_versions("")) == []

    def test_a_url_is_signed_by_a_store_that_serves_and_only_for_a_good_key(
        self, store: ObjectStore, spool: Path
    ) -> None:
        content = "hällo".encode() * 1000
        key = "northwind/renditions/r-1/ä b+c%20?#&=1.mp4"
        self.put(store, spool, key, content)
        shown = {"media_type": "video/mp4", "disposition": 'attachment; filename="spring.mp4"'}

        with pytest.raises(BadKey):
            store.signed_url("a/../b", seconds=60, **shown)
        url = store.signed_url(key, seconds=60, **shown)
        if url is not None:
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  our own
                assert answer.read() == content
                assert answer.headers["Content-Type"] == shown["media_type"]
                assert answer.headers["Content-Disposition"] == shown["disposition"]

    def test_many_are_deleted_at_once_and_what_is_left_is_told(self, store: ObjectStore, spool: Path) -> None:
        folder = "northwind/derivatives/abc/v1"
        mine = [f"{folder}/a.webp", f"{folder}/b.webp", KEY, source_key("northwind", "d" * 64)]
        other = f"{folder}/a.webp.old"
        for key in (*mine, other):
            self.put(store, spool, key, key.encode())
        absent = f"{folder}/never.webp"
        assert store.left_of([*mine, absent]) == dict.fromkeys(mine, "still_readable")

        assert store.delete_all([*mine, absent]) == dict.fromkeys(mine, True) | {absent: False}
        assert store.left_of([*mine, absent]) == {}
        assert keys(store) == [other]
        assert store.delete_all([]) == {}
