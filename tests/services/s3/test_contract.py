"""S3, on a real server: the contract of object stores, in every shape a bucket may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pipeline.domain.bucket import Bucket
from resources.object_store.protocol import ObjectStore
from resources.object_store.s3 import S3Store
from tests.contracts.object_store import ObjectStoreContract

MIB = 2**20


class TestWholeBucket(ObjectStoreContract):
    @pytest.fixture
    def store(self, bucket: Bucket) -> Iterator[ObjectStore]:
        yield from opened(bucket)


class TestPrefix(ObjectStoreContract):
    @pytest.fixture
    def store(self, bucket: Bucket) -> Iterator[ObjectStore]:
        yield from opened(replace(bucket, prefix="our place/100%+&"))


class TestVersioned(ObjectStoreContract):
    @pytest.fixture
    def store(self, versioned: Bucket) -> Iterator[ObjectStore]:
        yield from opened(versioned)


class TestInParts(ObjectStoreContract):
    """Everything but the empty object goes in parts; the smallest part but the last is 5 MiB."""

    @pytest.fixture
    def store(self, bucket: Bucket) -> Iterator[ObjectStore]:
        yield from opened(bucket, one_put_bytes=0, part_bytes=5 * MIB)


def opened(bucket: Bucket, **how: Any) -> Iterator[ObjectStore]:
    store = S3Store(bucket, pause_seconds=0.01, **how)
    yield store
    store.close()
