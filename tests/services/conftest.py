"""The real servers, each started once a session, by whoever asks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.services.opensearch.server import Server as OpenSearchServer
from tests.services.opensearch.server import running_opensearch
from tests.services.s3.servers import S3Server, running_s3

#: A client closes a connection on which an answer was cut, and leaves the answer's file to the collector, so
#: that it shows in whichever test comes next. Sockets that nobody closed are still told.
CUT_ANSWERS = pytest.mark.filterwarnings(r"ignore:unclosed <socket\.socket \[closed\]:ResourceWarning")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(CUT_ANSWERS)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    with running_opensearch() as server:
        yield server
