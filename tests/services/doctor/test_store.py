"""A bucket that cannot be used: one clear line from doctor and a command; mended, the same command works."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.services.s3.conftest import bare_client
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, VersityGw, running_versitygw

WRONG_SECRET = "wr0ng-secret-of-nobody"


@dataclass
class Installation:
    desk: Desk
    monkeypatch: pytest.MonkeyPatch

    def points_at(self, endpoint: str, bucket: str = "doctored") -> None:
        url = f"s3://{bucket}?endpoint={endpoint}&region={REGION}"
        self.monkeypatch.setenv("REELWRIGHT_STORE_URL", url)

    def doctor(self) -> dict[str, str]:
        done = self.desk.run("doctor", "--json")
        assert "Traceback" not in done.output
        return next(one for one in json.loads(done.stdout)["checks"] if one["name"] == "object store")


@pytest.fixture
def installation(
    migrated_sqlite: Path, tmp_path: Path, s3_server: VersityGw, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "reelwright.db"
    shutil.copy(migrated_sqlite, path)
    for name, value in (("ID", ACCESS_KEY),):
        monkeypatch.setenv(f"AWS_ACCESS_KEY_{name}", value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    bare = bare_client(s3_server.endpoint)
    bare.create_bucket(Bucket="doctored")
    made = Installation(Desk(tmp_path, f"sqlite:///{path}"), monkeypatch)
    made.points_at(s3_server.endpoint)
    made.desk.picture()
    yield made
    made.points_at(s3_server.endpoint)
    for one in bare.list_objects_v2(Bucket="doctored").get("Contents", ()):
        bare.delete_object(Bucket="doctored", Key=one["Key"])
    bare.delete_bucket(Bucket="doctored")
    bare.close()


def is_told(one: Installation, said: str, remedy: str) -> None:
    """By doctor, and by a command that needs the store; neither shows a secret, and nothing is half done."""
    brief = one.desk.write()
    found, refused = one.doctor(), one.desk.run("submit", brief)

    assert found["level"] == "fail"
    assert said in found["detail"], found
    assert remedy in found["remedy"]
    assert refused.exit_code != 0
    assert len(refused.stderr.strip().splitlines()) == 1
    assert said in refused.stderr
    assert remedy in refused.stderr
    everything = json.dumps(found) + refused.output
    assert not any(secret in everything for secret in (SECRET_KEY, WRONG_SECRET, "Traceback"))
    assert one.desk.json("status")["wishes"] == []


def is_well(one: Installation) -> None:
    assert one.doctor()["level"] == "ok"
    assert one.desk.run("submit", one.desk.write()).exit_code == 0


def test_a_host_that_does_not_answer(installation: Installation, s3_server: VersityGw) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        installation.points_at(f"http://127.0.0.1:{free.getsockname()[1]}")
        is_told(installation, "Could not connect", "endpoint")
    installation.points_at(s3_server.endpoint)

    is_well(installation)


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_credentials_that_are_wrong(installation: Installation, name: str) -> None:
    with pytest.MonkeyPatch.context() as wrong:
        wrong.setenv(name, WRONG_SECRET)
        is_told(installation, "object store s3://doctored", "AWS_SECRET_ACCESS_KEY")

    is_well(installation)


def test_a_bucket_that_is_not_there(installation: Installation, s3_server: VersityGw) -> None:
    installation.points_at(s3_server.endpoint, "nowhere")
    is_told(installation, "NoSuchBucket", "create the bucket")
    installation.points_at(s3_server.endpoint)

    is_well(installation)


def test_tls_asked_of_a_port_that_speaks_none(installation: Installation, s3_server: VersityGw) -> None:
    installation.points_at(s3_server.endpoint.replace("http://", "https://"))
    is_told(installation, "SSL", "http or https")
    installation.points_at(s3_server.endpoint)

    is_well(installation)


def test_a_certificate_that_nobody_signed(installation: Installation, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with running_versitygw(certificate=(certificate, key)) as secure:
        installation.points_at(secure.endpoint)

        is_told(installation, "certificate verify failed", "AWS_CA_BUNDLE")
