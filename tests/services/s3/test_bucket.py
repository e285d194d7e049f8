"""A real bucket: old versions, unfinished uploads, other people's keys, long lists, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipeline.documents.settings import Settings
from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadKey, StoreUnavailable
from resources.connect import object_store
from resources.object_store.protocol import Put
from resources.object_store.s3 import S3Store
from tests.contracts.object_store import KEY, KEYS, keys, sha256, trap_names
from tests.services.s3.conftest import bare_client
from tests.services.s3.servers import S3Server
from tests.services.versitygw import SECRET_KEY, running_versitygw

RECEIPT = "intake/northwind/spring/brief.receipt.json"
AWKWARD = [*KEYS["keys"], *trap_names()]


@pytest.fixture
def store(bucket: Bucket) -> Iterator[S3Store]:
    one = S3Store(bucket, pause_seconds=0.01, attempts=3)
    yield one
    one.close()


def put(store: S3Store, folder: Path, key: str = KEY, content: bytes = b"video") -> Put:
    path = folder / "content"
    path.write_bytes(content)
    return store.put_if_absent(key, path, sha256=sha256(content), size=len(content), media_type="video/mp4")


def test_what_was_written_over_or_covered_up_is_counted_and_purged(
    versioned: Bucket, store: S3Store, bare: Any, tmp_path: Path
) -> None:
    put(store, tmp_path)
    for content in (b"1", b"22", b"333"):
        store.put_receipt(RECEIPT, content)
    bare.delete_object(Bucket=versioned.name, Key=KEY)

    assert [(one.key, one.size) for one in store.old_versions("intake/")] == [(RECEIPT, 2), (RECEIPT, 1)]
    assert sorted((one.key, one.size) for one in store.old_versions("northwind/")) == [(KEY, 0), (KEY, 5)]
    assert store.head(KEY) is None
    assert store.delete(KEY)
    assert store.delete(RECEIPT)
    left = bare.list_object_versions(Bucket=versioned.name)
    assert [one["Key"] for one in left["Versions"]] == [".reelwright/proof"]
    assert "DeleteMarkers" not in left


def test_a_purge_takes_no_key_that_only_begins_alike(
    versioned: Bucket, store: S3Store, tmp_path: Path
) -> None:
    for key in ("a/b", "a/b.c", "a/bc/d"):
        put(store, tmp_path, key)

    assert store.delete("a/b")
    assert keys(store) == ["a/b.c", "a/bc/d"]


def test_an_unfinished_upload_is_listed_with_its_bytes_and_aborted(
    bucket: Bucket, store: S3Store, bare: Any
) -> None:
    for key in (KEY, "intake/northwind/spring/theirs.jpg"):
        begun = bare.create_multipart_upload(Bucket=bucket.name, Key=key)
        for number in (1, 2):
            bare.upload_part(
                Bucket=bucket.name, Key=key, UploadId=begun["UploadId"], PartNumber=number, Body=b"x" * 7
            )

    (left,) = store.list_temporary()
    assert left.size == 14
    assert left.key.endswith(KEY)
    assert keys(store) == []
    assert store.delete_temporary(left.key)
    assert not store.delete_temporary(left.key)
    assert list(store.list_temporary()) == []
    assert len(bare.list_multipart_uploads(Bucket=bucket.name)["Uploads"]) == 1


def test_a_list_of_more_than_a_page_is_whole(store: S3Store, bucket: Bucket, bare: Any) -> None:
    wanted = [f"northwind/renditions/r-{n:04}/1.mp4" for n in range(1_203)]
    for key in wanted:
        bare.put_object(Bucket=bucket.name, Key=key, Body=b"x")

    assert keys(store) == wanted
    assert keys(store, "northwind/", wanted[600]) == wanted[601:]


def test_what_other_tools_leave_is_no_object_of_ours(store: S3Store, bucket: Bucket, bare: Any) -> None:
    bare.put_object(Bucket=bucket.name, Key="intake/northwind/")  # a console's folder
    bare.put_object(Bucket=bucket.name, Key="elsewhere/x", Body=b"x")
    bare.put_object(Bucket=bucket.name, Key="intake/northwind/spring/brief.yaml", Body=b"x")
    below = S3Store(replace(bucket, prefix="intake/northwind"))

    assert keys(store, "intake/") == ["intake/northwind/spring/brief.yaml"]
    assert keys(below) == ["spring/brief.yaml"]
    below.close()


@pytest.mark.parametrize("name", AWKWARD)
def test_every_awkward_name_has_a_url_and_is_what_other_tools_see(
    store: S3Store, bucket: Bucket, bare: Any, tmp_path: Path, name: str
) -> None:
    key = f"intake/northwind/spring/{name}"
    put(store, tmp_path, key, name.encode())
    shown = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    url = store.signed_url(key, seconds=60, media_type="image/jpeg", disposition=shown)

    assert bare.get_object(Bucket=bucket.name, Key=key)["Body"].read() == name.encode()
    assert url is not None
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  our own
        assert answer.read() == name.encode()
        assert answer.headers["Content-Disposition"] == shown


def test_a_signed_url_runs_out_and_cannot_be_changed(store: S3Store, tmp_path: Path) -> None:
    put(store, tmp_path)
    put(store, tmp_path, "northwind/other")
    url = store.signed_url(KEY, seconds=60, media_type="video/mp4", disposition="inline")
    assert url is not None
    assert SECRET_KEY not in url

    for changed in (
        url.replace(KEY, "northwind/other"),
        url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
        url.replace("inline", "attachment"),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(changed, timeout=10)  # noqa: S310  our own
        assert caught.value.code == 403
        caught.value.close()


def test_a_key_below_an_object_is_refused_by_name_on_a_server_of_files(
    store: S3Store, tmp_path: Path
) -> None:
    put(store, tmp_path, "a/b")

    with pytest.raises(BadKey):
        put(store, tmp_path, "a/b/c")


def test_a_missing_bucket_is_named_by_every_road(bucket: Bucket, tmp_path: Path) -> None:
    store = S3Store(replace(bucket, name="nowhere"))

    for use in (lambda: put(store, tmp_path), lambda: store.exists(KEY), lambda: keys(store)):
        with pytest.raises(StoreUnavailable) as caught:
            use()
        assert caught.value.reason == "no_bucket"
    store.close()


@pytest.mark.parametrize(
    ("variable", "value"), [("AWS_SECRET_ACCESS_KEY", "wrong"), ("AWS_ACCESS_KEY_ID", "nobody")]
)
def test_wrong_credentials_are_named(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    store = S3Store(bucket)

    for use in (lambda: put(store, tmp_path), lambda: store.exists(KEY), lambda: keys(store)):
        with pytest.raises(StoreUnavailable) as caught:
            use()
        assert caught.value.reason == "wrong_credentials"
    store.close()


def test_a_wrong_region_is_put_right_where_the_store_says_the_right_one(
    bucket: Bucket, tmp_path: Path
) -> None:
    store = S3Store(replace(bucket, region="eu-central-1"))

    assert put(store, tmp_path) is Put.CREATED
    store.close()


def test_a_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with running_versitygw(certificate=(certificate, key)) as server:
        place = Bucket("videos", endpoint=server.endpoint, region="us-east-1")
        unknown = S3Store(place)
        with pytest.raises(StoreUnavailable) as caught:
            put(unknown, tmp_path)
        assert caught.value.reason == "tls"
        unknown.close()
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        bare = bare_client(server.endpoint)
        bare.create_bucket(Bucket="videos")
        store = S3Store(place)

        assert put(store, tmp_path) is Put.CREATED
        assert "ContentEncoding" not in bare.head_object(Bucket="videos", Key=KEY)
        store.close()
        bare.close()


def test_settings_open_it_and_an_intake_beside_it(
    bucket: Bucket, s3_server: S3Server, tmp_path: Path
) -> None:
    url = f"s3://{bucket.name}/ours?endpoint={s3_server.endpoint}&region={bucket.region}"
    opened = object_store(Settings(store_url=url, intake_folder=tmp_path / "drop"))
    whole = object_store(Settings(store_url=url))

    opened.put_receipt(RECEIPT, json.dumps({}).encode())
    whole.put_receipt("intake/northwind/summer/brief.receipt.json", b"{}")

    assert keys(opened) == [RECEIPT]
    assert (tmp_path / "drop" / RECEIPT).is_file()
    assert keys(whole) == ["intake/northwind/summer/brief.receipt.json"]
    opened.close()
    whole.close()
