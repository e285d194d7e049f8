"""What steps from output to viewer need: a site with outputs, the real store, sandbox and SQL index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from resources.database.database import Database
from resources.media import Sandbox
from tests.conftest import Clock
from tests.steps.output_site import OutputSite
from tests.steps.viewer import Viewer


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One warm parent for all: starting it costs more than most tests."""
    with Sandbox() as warm:
        yield warm


@pytest.fixture
def site() -> Iterator[OutputSite]:
    with OutputSite() as open_site:
        yield open_site


@pytest.fixture
def viewer(database: Database, clock: Clock, site: OutputSite, sandbox: Sandbox, tmp_path: Path) -> Viewer:
    return Viewer(database, clock, site, sandbox, tmp_path)
