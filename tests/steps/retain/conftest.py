"""A vault over a folder, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.conftest import Clock
from tests.steps.retain.vault import Vault


@pytest.fixture
def vault(database: Database, clock: Clock, tmp_path: Path) -> Vault:
    return Vault(database, clock, LocalStore(tmp_path / "objects"), tmp_path)
