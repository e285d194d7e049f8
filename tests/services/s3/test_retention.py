"""C2 on a bucket with versions: everything of a key goes, and a purge that dies goes on where it was."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.bucket import Bucket
from pipeline.steps.retain.approve import approve
from pipeline.steps.retain.plan import plan
from pipeline.steps.retain.purge import purge
from pipeline.steps.retain.run import run
from pipeline.steps.retain.verify import prove
from resources.database.database import Database
from resources.object_store.s3 import S3Store
from tests.conftest import Clock
from tests.faults.retention_world import PurgeWorld
from tests.steps.retain.vault import ALWAYS, Vault

pytestmark = pytest.mark.timeout(600)
#: Durable writes after which the child is killed; beyond the last it comes to its end.
POINTS = range(1, 44, 3)


@pytest.fixture
def url(migrated_sqlite: Path, tmp_path: Path) -> str:
    shutil.copy(migrated_sqlite, tmp_path / "reelwright.db")
    return f"sqlite:///{tmp_path / 'reelwright.db'}"


@pytest.mark.parametrize("point", POINTS)
def test_a_purge_that_dies_goes_on_where_it_was(
    url: str, versioned: Bucket, tmp_path: Path, point: int
) -> None:
    made = PurgeWorld(url, tmp_path, lambda: S3Store.opened(versioned))
    status, reached = made.die_at(point)
    assert (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL) == (reached == point)

    made.holds_halfway()
    made.comes_to_its_end()


@pytest.fixture
def vault(url: str, versioned: Bucket, tmp_path: Path) -> Any:
    database = Database.at(url)
    database.clock = clock = Clock()
    store = S3Store.opened(versioned)
    yield Vault(database, clock, store, tmp_path)
    store.close()
    database.close()


def test_old_versions_markers_and_unfinished_uploads_of_a_key_go_too(
    vault: Vault, versioned: Bucket, bare: Any
) -> None:
    video = vault.video()
    vault.publish("r-1")
    key = vault.row(video).key
    vault.pass_days(60)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    bare.put_object(Bucket=versioned.name, Key=key, Body=b"video r-1")  # by another tool: a second version
    bare.delete_object(Bucket=versioned.name, Key=key)  # and a marker over both
    bare.create_multipart_upload(Bucket=versioned.name, Key=key)
    vault.pass_days(7)
    done = purge(vault.retaining())
    listed = bare.list_object_versions(Bucket=versioned.name, Prefix=key)

    assert done == {"purged": 2}
    assert not listed.get("Versions")
    assert not listed.get("DeleteMarkers")
    assert not bare.list_multipart_uploads(Bucket=versioned.name).get("Uploads")
    assert prove(vault.retaining(), video).holds
    assert vault.broken(ALWAYS) == []


def test_a_store_that_says_yes_and_keeps_it_gets_no_receipt(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = vault.video()
    vault.pass_days(60)
    made = plan(vault.retaining())
    approve(vault.retaining(), made.id)
    run(vault.retaining())
    vault.pass_days(7)
    real = type(vault.store).delete_all
    monkeypatch.setattr(type(vault.store), "delete_all", lambda _, keys: dict.fromkeys(keys, True))
    lied = purge(vault.retaining())

    assert lied["not_gone"] == 2
    assert vault.state(video) == "purging"
    assert vault.receipts() == []
    monkeypatch.setattr(type(vault.store), "delete_all", real)
    assert purge(vault.retaining()) == {"purged": 2}
