"""An API over one installation that has a published video, with wishes as an author would have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.desk import Api, adapters_of, served
from tests.steps.viewer import Viewer
from tests.steps.viewer_fixtures import sandbox, site, viewer

__all__ = ["sandbox", "site", "viewer"]


@pytest.fixture
def api(viewer: Viewer) -> Iterator[Api]:
    with served(adapters_of(viewer)) as running:
        yield running
