"""A bucket of its own for each test of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from pipeline.domain.bucket import Bucket
from tests.services.s3.servers import S3Server, difference
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY

_names = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "services/s3/" in item.nodeid and (why := difference(item.nodeid)):
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bare(s3_server: S3Server) -> Iterator[Any]:
    """A plain client, as an outsider has it."""
    client = bare_client(s3_server.endpoint)
    yield client
    client.close()


def bare_client(endpoint: str) -> Any:
    return boto3.session.Session(ACCESS_KEY, SECRET_KEY).client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        config=Config(s3={"addressing_style": "path"}),
    )


@pytest.fixture
def bucket(s3_server: S3Server, bare: Any) -> Bucket:
    name = f"test-{next(_names)}"
    bare.create_bucket(Bucket=name)
    return Bucket(name, endpoint=s3_server.endpoint, region=REGION)


@pytest.fixture
def versioned(bucket: Bucket, bare: Any) -> Bucket:
    bare.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
    return bucket
