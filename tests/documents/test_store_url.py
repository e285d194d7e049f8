"""The URL of an S3 store: read as a whole, refused by name, never a place for secrets."""

from __future__ import annotations

import pytest

from pipeline.documents.store_url import read_store_url
from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadSettings


def test_a_bucket_alone_is_enough() -> None:
    assert read_store_url("s3://videos") == Bucket("videos")
    assert read_store_url("s3://videos/") == Bucket("videos")


def test_everything_can_be_said() -> None:
    url = (
        "s3://videos.example/our%20place/a+b/?endpoint=http://127.0.0.1:7070/&region=eu-central-1"
        "&sse=aws:kms&kms_key=arn:aws:kms:eu-central-1:111122223333:key/1-2&owner=111122223333"
    )

    assert read_store_url(url) == Bucket(
        "videos.example",
        "our place/a+b",
        "http://127.0.0.1:7070",
        "eu-central-1",
        "aws:kms",
        "arn:aws:kms:eu-central-1:111122223333:key/1-2",
        "111122223333",
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://AKIA:s3cret@videos", "secrets"),
        ("s3://", "s3://BUCKET"),
        ("s3://Videos", "s3://BUCKET"),
        ("s3://videos?secret_key=s3cret", "known are"),
        ("s3://videos?sse=none", "AES256"),
        ("s3://videos?sse=AES256&sse=aws:kms", "once"),
        ("s3://videos?kms_key=1-2", "sse=aws:kms"),
        ("s3://videos?endpoint=https://me:s3cret@host", "no path"),
        ("s3://videos?endpoint=ftp://host", "http"),
        ("s3://videos?region=", "region"),
        ("s3://videos/a/../b", "plain"),
        ("s3://videos/a//b", "plain"),
        ("s3://videos#a", "s3://BUCKET"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy_and_without_secrets(url: str, says: str) -> None:
    with pytest.raises(BadSettings) as caught:
        read_store_url(url)

    assert caught.value.setting == "store_url"
    assert says in caught.value.remedy
    assert "s3cret" not in f"{caught.value} {caught.value.remedy}"
