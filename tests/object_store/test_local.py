"""The local store: the contract, and what only files can do wrong (links, full disks, kills)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.domain.errors import BadKey, StoreUnavailable, UnknownSubject
from resources.object_store.local import LocalStore
from resources.object_store.local_files import FAULTS, unavailable
from resources.object_store.protocol import ObjectStore, Put
from tests.contracts.object_store import KEY, ObjectStoreContract, keys, sha256


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "objects"


class TestLocal(ObjectStoreContract):
    @pytest.fixture
    def store(self, root: Path) -> ObjectStore:
        return LocalStore(root)


def put(store: LocalStore, path: Path, key: str = KEY) -> Put:
    content = path.read_bytes()
    return store.put_if_absent(key, path, sha256=sha256(content), size=len(content), media_type="x/y")


def test_a_link_in_the_intake_is_neither_listed_nor_followed(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.jpg").write_bytes(b"secret")
    intake = root / "intake/northwind"
    intake.mkdir(parents=True)
    (intake / "folder").symlink_to(secret)
    (intake / "a.jpg").symlink_to(secret / "a.jpg")
    (intake / "brief.receipt.json").symlink_to(secret / "a.jpg")
    store = LocalStore(root)

    assert keys(store) == []
    for key in ("intake/northwind/a.jpg", "intake/northwind/folder/a.jpg"):
        assert store.head(key) is None
        with pytest.raises(UnknownSubject):
            store.read_range(key, 0, 1)
    with pytest.raises(BadKey):
        put(store, secret / "a.jpg", "intake/northwind/folder/b.jpg")
    store.put_receipt("intake/northwind/brief.receipt.json", b"{}")
    assert (secret / "a.jpg").read_bytes() == b"secret"
    assert not (secret / "b.jpg").exists()
    assert keys(store) == ["intake/northwind/brief.receipt.json"]


def test_what_is_no_file_is_no_object(root: Path) -> None:
    (root / "intake/northwind/folder").mkdir(parents=True)
    os.mkfifo(root / "intake/northwind/pipe")
    store = LocalStore(root)

    assert keys(store) == []
    assert store.head("intake/northwind/folder") is None
    assert store.head("intake/northwind/pipe") is None
    assert store.head("intake/northwind/pipe/below") is None


def test_a_name_that_no_key_can_hold_is_not_listed(root: Path) -> None:
    folder = root / "intake/northwind"
    folder.mkdir(parents=True)
    for name in (b"new\nline.mp4", b"not-utf8-\xff.mp4", b"good.mp4"):
        (folder / os.fsdecode(name)).write_bytes(b"x")

    assert keys(LocalStore(root)) == ["intake/northwind/good.mp4"]


def test_a_key_below_another_object_is_refused_by_name(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    store = LocalStore(root)
    put(store, path, "a/b")

    with pytest.raises(BadKey):
        put(store, path, "a/b/c")
    with pytest.raises(BadKey):
        put(store, path, "a")
    with pytest.raises(BadKey):
        put(store, path, ".tmp/x")


@pytest.mark.parametrize("below", ["", "objects"])
def test_a_root_that_is_no_folder_is_no_empty_store(root: Path, tmp_path: Path, below: str) -> None:
    root.write_bytes(b"a file stands where the folder should be")
    store = LocalStore(root / below)

    for use in (
        lambda: keys(store),
        lambda: list(store.list_temporary()),
        lambda: store.head(KEY),
        lambda: put(store, root),
    ):
        with pytest.raises(StoreUnavailable, match="is not a folder"):
            use()


def test_a_file_in_the_intake_is_not_taken_for_stable(root: Path) -> None:
    (root / "intake/northwind").mkdir(parents=True)
    (root / "intake/northwind/a.jpg").write_bytes(b"x")

    assert [stored.is_stable for stored in LocalStore(root).list("intake/")] == [False]


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from resources.object_store.local import LocalStore
store, big = LocalStore(Path(sys.argv[1])), Path(sys.argv[2])
with big.open("wb") as file:
    file.truncate(1_000_000_000)
print("ready", flush=True)
store.put_if_absent("a/b", big, sha256="0" * 64, size=1, media_type="x/y")
"""


def test_a_killed_write_leaves_a_temporary_object_and_no_object(root: Path, tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_FOR_EVER, str(root), str(tmp_path / "big")], stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        _wait_for_bytes(root / ".tmp")
        child.send_signal(signal.SIGKILL)
    store = LocalStore(root)

    left = list(store.list_temporary())
    assert len(left) == 1
    assert keys(store) == []
    assert store.delete_temporary(left[0].key)
    assert not store.delete_temporary(left[0].key)
    assert list(store.list_temporary()) == []


def _wait_for_bytes(folder: Path) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if folder.exists() and any(path.stat().st_size for path in folder.iterdir()):
            return
        time.sleep(0.001)
    raise AssertionError("the child wrote nothing")


FILL = """
import resource, sys
from pathlib import Path
from pipeline.domain.errors import StoreUnavailable
from resources.object_store.local import LocalStore
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
store, big = LocalStore(Path(sys.argv[1])), Path(sys.argv[2])
try:
    store.put_if_absent("a/b", big, sha256="0" * 64, size=1, media_type="x/y")
except StoreUnavailable as error:
    print(error.reason, "|", error.remedy)
"""


def test_a_full_disk_is_named_and_leaves_nothing(root: Path, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(100_000))

    said = subprocess.run(
        [sys.executable, "-c", FILL, str(root), str(tmp_path / "big")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said.startswith("disk_full | free space")
    store = LocalStore(root)
    assert keys(store) == []
    assert list(store.list_temporary()) == []


@pytest.mark.parametrize("number", [*FAULTS, errno.EIO])
def test_every_error_of_the_disk_has_a_reason(number: int) -> None:
    error = unavailable(OSError(number, os.strerror(number)))

    assert isinstance(error, StoreUnavailable)
    assert error.may_help
    assert error.reason in {"disk_full", "denied", "unreachable"}
    assert bool(error.remedy) == (number in FAULTS)
