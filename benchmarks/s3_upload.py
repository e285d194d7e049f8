"""1 GB into S3: our put, which checks the digest and never overwrites, against the bare client's upload.

Belongs here: both sides, each in a process of its own, so that memory is its own too. Does not belong here:
the server (`tests.services.versitygw`). Both sides talk to the same one; the bare side is boto3's
`upload_file` as it comes: parts of 8 MiB, ten threads, no condition, no digest of the whole.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

from benchmarks.figures import Figure, Sides, at_most, interleaved
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, running_versitygw

SIZE = 10**9
ROUNDS = 3
BUCKET = "benchmark"
MIB = 2**20


def benchmark(size: int = SIZE) -> Iterator[Figure]:
    # not in memory: the server's folder lies on the same disk
    with running_versitygw() as server, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        video = Path(folder, "video")
        sha256 = _write(video, size)
        peaks: dict[str, list[int]] = {"ours": [], "bare": []}

        def side(name: str) -> float:
            told = json.dumps({"endpoint": server.endpoint, "path": str(video), "sha256": sha256})
            child = [sys.executable, "-m", "benchmarks.s3_upload", name, told]
            said = subprocess.run(child, check=True, capture_output=True, env=_environment()).stdout
            measured = json.loads(said)
            peaks[name].append(measured["peak_kib"])
            return float(measured["seconds"])

        _make_bucket(server.endpoint)
        sides = interleaved(lambda: side("ours"), lambda: side("bare"), rounds=ROUNDS)
    yield _seconds(sides, size)
    ours, bare = (max(peaks[name]) * 1024 / MIB for name in ("ours", "bare"))
    yield Figure("s3 upload, MiB resident at the peak", ours, f"{ours:.0f}", f"{bare:.0f}", at_most(100))


def _seconds(sides: Sides, size: int) -> Figure:
    ours, bare = sides.medians
    ratio = statistics.median(mine / theirs for mine, theirs in zip(sides.ours, sides.bare, strict=True))
    name = f"s3 upload of {size / 1e9:g} GB, seconds"
    return Figure(name, ratio, f"{ours:.1f} s", f"{bare:.1f} s", at_most(1.15))


def _write(path: Path, size: int) -> str:
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(block)
        file.write(block[: size % MIB])
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _environment() -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    return os.environ | keys | {"AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}


def _make_bucket(endpoint: str) -> None:
    import boto3

    client = boto3.session.Session(ACCESS_KEY, SECRET_KEY).client(
        "s3", endpoint_url=endpoint, region_name=REGION
    )
    client.create_bucket(Bucket=BUCKET)
    client.close()


def ours(endpoint: str, path: str, sha256: str) -> float:
    from pipeline.domain.bucket import Bucket
    from resources.object_store.s3 import S3Store

    store = S3Store.opened(Bucket(BUCKET, endpoint=endpoint, region=REGION))
    size = Path(path).stat().st_size
    began = time.perf_counter()
    store.put_if_absent("a/ours", Path(path), sha256=sha256, size=size, media_type="video/mp4")
    took = time.perf_counter() - began
    store.delete("a/ours")
    return took


def bare(endpoint: str, path: str, sha256: str) -> float:  # noqa: ARG001  it knows no digest
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    began = time.perf_counter()
    client.upload_file(path, BUCKET, "a/bare")
    took = time.perf_counter() - began
    client.delete_object(Bucket=BUCKET, Key="a/bare")
    return took


if __name__ == "__main__":
    seconds = {"ours": ours, "bare": bare}[sys.argv[1]](**json.loads(sys.argv[2]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak_kib": peak}))
