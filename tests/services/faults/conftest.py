"""One bench over the three servers a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.faults.scenarios import Bench
from tests.services.faults.servers import Services, running_services
from tests.services.faults.troubles import points


@pytest.fixture(scope="session")
def services() -> Iterator[Services]:
    with running_services() as running:
        yield running


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, services: Services) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("sweep"), services=services.installed) as one:
        yield one


@pytest.fixture(scope="session")
def requests_of(bench: Bench, services: Services) -> Mapping[str, Sequence[str]]:
    """The points of each server."""
    return points(bench, services)
