"""A throw-away SeaweedFS: the second S3 server that the store's tests run on, by `make seaweedfs-test`.

Belongs here: building it and one server. Does not belong here: the tests, which are those of any S3 server.

Twenty minutes of two cores to build, and six gigabytes of Go's caches: by a command of its own, and the
program is kept. Its telemetry, its unauthenticated HTTP port and its making of missing buckets are off.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.services.go import CACHE as PROGRAMS
from tests.services.go import run_go
from tests.services.opensearch.server import free_ports
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY
from tests.survivors import ends_with_us, goes_with_us

VERSION = "4.53"
#: Its module has no release tags that Go takes, and replaces another module: a module around it builds it.
GO_MOD = """\
module s3tools
go 1.26
tool github.com/seaweedfs/seaweedfs/weed
require github.com/seaweedfs/seaweedfs v0.0.0-20261109003541-7506e5f91cd6
replace github.com/tyler-smith/go-bip39 => github.com/cosmos/go-bip39 v1.0.0
"""
CACHE = PROGRAMS / f"seaweedfs-{VERSION}"
START_SECONDS = 60.0
#: Each port of `weed mini` that it does not do without.
PORTS = (
    "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
    "s3.port.grpc", "admin.port", "admin.port.grpc",
)  # fmt: skip
OPTIONS = (
    "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port.iceberg=0", "-s3.port.lance=0", "-admin.ui=false",
    "-admin.port.legacy=0", "-webdav=false", "-disableHttp=true", "-s3.autoCreateBucket=false",
    "-s3.allowBackslashInKey=true", "-master.telemetry=false",
    "-volume.max=10000",  # each bucket takes volumes of its own; by itself it has room for a hundred buckets
)  # fmt: skip


def binary() -> Path:
    """The server's program; built when it is not there yet."""
    program = CACHE / "weed"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            place = Path(folder)
            (place / "go.mod").write_text(GO_MOD)
            run_go(["mod", "tidy"], cwd=place)
            flags = ["-trimpath", "-ldflags", "-s -w", "-o", str(place / "weed")]
            run_go(["build", *flags, "github.com/seaweedfs/seaweedfs/weed"], cwd=place)
            shutil.move(place / "weed", program)
    return program


class SeaweedFs:
    """One server in *root*: start, stop, kill, start again; it keeps its ports."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port, *others = free_ports(1 + len(PORTS))
        self._ports = dict(zip(PORTS, others, strict=True))
        self._process: subprocess.Popen[bytes] | None = None
        (root / "store").mkdir()
        account = {
            "name": "root",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (root / "s3.json").write_text(json.dumps({"identities": [account]}))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        ports = [f"-{name}={port}" for name, port in self._ports.items()]
        own = [f"-dir={self.root}/store", f"-s3.port={self.port}", f"-s3.config={self.root}/s3.json"]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(binary()), "-logtostderr=true", "mini", *OPTIONS, *ports, *own],
                cwd=self.root,
                env=os.environ | {"GOMEMLIMIT": "400MiB"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        ends_with_us(self._process.pid)
        self._wait()

    def _wait(self) -> None:
        """It answers long before it takes anything: ready is who took an object."""
        until = time.monotonic() + START_SECONDS
        while not self._takes():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"SeaweedFS did not start: {(self.root / 'log').read_text()[-2000:]}")
            time.sleep(0.2)

    def _takes(self) -> bool:
        with closing(_impatient_client(self.endpoint)) as client:
            try:
                if not any(one["Name"] == "ready" for one in client.list_buckets()["Buckets"]):
                    client.create_bucket(Bucket="ready")
                client.put_object(Bucket="ready", Key="ready", Body=b"ready")
            except (BotoCoreError, ClientError):
                return False
        return True

    def stop(self) -> None:
        self._end("terminate")

    def kill(self) -> None:
        self._end("kill")

    def _end(self, how: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            getattr(process, how)()
            process.wait(30)


def _impatient_client(endpoint: str) -> Any:
    config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, read_timeout=5)
    session = boto3.session.Session(ACCESS_KEY, SECRET_KEY)
    return session.client("s3", endpoint_url=endpoint, region_name=REGION, config=config)


@contextmanager
def running_seaweedfs() -> Iterator[SeaweedFs]:
    with tempfile.TemporaryDirectory(prefix="rwweed-", dir="/var/tmp") as root:
        goes_with_us(Path(root))
        server = SeaweedFs(Path(root))
        server.start()
        try:
            yield server
        finally:
            server.stop()


if __name__ == "__main__":
    print(binary())
