"""The real servers, each started once a session, by whoever asks first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.opensearch.server import Server as OpenSearchServer
from tests.services.opensearch.server import running_opensearch
from tests.services.versitygw import VersityGw, running_versitygw


@pytest.fixture(scope="session")
def s3_server() -> Iterator[VersityGw]:
    with running_versitygw() as server:
        yield server


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    with running_opensearch() as server:
        yield server
