"""An alias of its own for each test of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opensearchpy import OpenSearch

from resources.tag_index.opensearch import OpenSearchTagIndex, client
from resources.tag_index.opensearch_layout import new_index
from tests.services.opensearch.server import Server

_numbers = itertools.count(1)


@pytest.fixture
def bare(opensearch: Server) -> Iterator[OpenSearch]:
    """The client, without anything of ours around it."""
    opened = client(opensearch.url)
    yield opened
    opened.close()


@contextmanager
def quick_alias(bare: OpenSearch, name: str) -> Iterator[str]:
    """An alias of an empty index that shows what is written twenty times sooner than by default."""
    made = new_index({})
    made["settings"]["index"]["refresh_interval"] = "50ms"
    bare.indices.create(index=f"{name}-000001", body={**made, "aliases": {name: {}}})
    yield name
    bare.indices.delete(index=f"{name}-*", expand_wildcards="all")


@pytest.fixture
def alias(bare: OpenSearch) -> Iterator[str]:
    with quick_alias(bare, f"tags{next(_numbers)}") as name:
        yield name


@pytest.fixture
def index(bare: OpenSearch, alias: str) -> OpenSearchTagIndex:
    return OpenSearchTagIndex(bare, alias)
