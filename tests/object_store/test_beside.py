"""An intake beside the objects: the contract over two stores, and which of them holds what."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.object_store.beside import IntakeBeside
from resources.object_store.local import LocalStore
from resources.object_store.protocol import ObjectStore
from tests.contracts.object_store import KEY, ObjectStoreContract, keys

BRIEF = "intake/northwind/spring/brief.yaml"


@pytest.fixture
def objects(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "objects")


@pytest.fixture
def intake(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "drop")


class TestBeside(ObjectStoreContract):
    @pytest.fixture
    def store(self, objects: LocalStore, intake: LocalStore) -> ObjectStore:
        return IntakeBeside(objects, intake)

    def test_briefs_lie_in_the_one_and_objects_in_the_other(
        self, store: ObjectStore, objects: LocalStore, intake: LocalStore, spool: Path
    ) -> None:
        self.put(store, spool, KEY, b"video")
        self.put(store, spool, BRIEF, b"tenant: northwind")
        self.put(objects, spool, "intake/northwind/nobodys.yaml", b"x")

        assert keys(intake) == [BRIEF]
        assert keys(store) == [BRIEF, KEY]
        assert keys(store, "intake/") == [BRIEF]
        assert keys(store, "in") == [BRIEF]
        assert keys(store, "northwind/") == [KEY]
