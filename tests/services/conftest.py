"""The real servers, each started once a session, by whoever asks first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.opensearch.server import Server as OpenSearchServer
from tests.services.opensearch.server import running_opensearch
from tests.services.s3.servers import S3Server, running_s3


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    with running_opensearch() as server:
        yield server
