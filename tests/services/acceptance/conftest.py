"""Studios on PostgreSQL, S3 and OpenSearch at once: what the acceptance tests ask for as on one machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.bucket import Bucket
from resources.database.database import Database
from resources.object_store.s3 import S3Store
from resources.tag_index.opensearch import OpenSearchTagIndex, client
from tests.acceptance.studio import Shelf, Studio
from tests.acceptance.studios import Media, Studios, fast_folder, media, studios_database
from tests.postgres import Server
from tests.services.opensearch.conftest import quick_alias
from tests.services.opensearch.server import Server as OpenSearchServer
from tests.services.s3.conftest import bare_client
from tests.services.s3.servers import S3Server
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY

__all__ = ["fast_folder", "media"]

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def services_studios(
    media: Media, postgres: Server, s3_server: S3Server, opensearch: OpenSearchServer, fast_folder: Path
) -> Iterator[Studios]:
    with pytest.MonkeyPatch.context() as patched, ExitStack() as stack:
        patched.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        patched.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        database = Database.at(stack.enter_context(studios_database(postgres, fast_folder)))
        stack.callback(database.close)
        shelves = stack.enter_context(_Shelves(s3_server, opensearch))
        yield Studios(database, media, fast_folder, shelves.open)


@pytest.fixture
def studio(services_studios: Studios) -> Studio:
    return services_studios.open()


class _Shelves:
    """A bucket for all studios of a module, a prefix and an index for each of them; the last one's stands."""

    def __init__(self, s3: S3Server, opensearch: OpenSearchServer) -> None:
        self._bucket = Bucket(f"studios-{next(_numbers)}", endpoint=s3.endpoint, region=REGION)
        self._opensearch = client(opensearch.url)
        self._last = ExitStack()

    def __enter__(self) -> _Shelves:
        with closing(bare_client(self._bucket.endpoint)) as bare:
            bare.create_bucket(Bucket=self._bucket.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._last.close()
        self._opensearch.close()

    def open(self, _: Path) -> Shelf:
        self._last.close()
        name = f"studio{next(_numbers)}"
        store = S3Store(replace(self._bucket, prefix=name))
        self._last.callback(store.close)
        alias = self._last.enter_context(quick_alias(self._opensearch, name))
        return Shelf(store, OpenSearchTagIndex(self._opensearch, alias))
