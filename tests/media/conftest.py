"""One warm parent for the whole room: starting it costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from resources.media import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as warm:
        yield warm
