"""`python -m benchmarks.services [--sizes N...]`: renditions end to end on PostgreSQL, S3 and OpenSearch.

The product's steps in one process (`bare_loop`) on the three real servers of production, with the null
renderer, one size after another, each on a database, bucket and index of its own. Judged: CPU seconds a
rendition, the servers' included, of the largest size against the smallest (linear; a busy machine bends the
wall clock more), resident memory of the last third against the middle third (flat), one paid job a rendition,
every slot shown, and no invariant broken in database, bucket and index.

Belongs here: measuring the steps on the services. Does not belong here: Dagster's side (`volume`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import rich
from pydantic import SecretStr

from benchmarks.campaigns import drop_briefs, installation, published
from benchmarks.figures import Figure, at_least, at_most, table
from pipeline.cli.processes import environment_of
from pipeline.documents.settings import Settings
from pipeline.steps.operate.check import check
from pipeline.steps.operate.rebuild_index import rebuild_index
from resources.connect import connected, index_rebuild
from resources.database.database import Database
from resources.database.migrate import migrate
from tests.faults.renderer.process import ROOT, RendererProcess
from tests.postgres import Server, running_postgres
from tests.services.opensearch.server import running_opensearch
from tests.services.s3.conftest import bare_client
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, running_versitygw

SIZES = (1_000, 10_000)
LOOK_SECONDS = 2.0
SECONDS_A_RENDITION = 3.0
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: Server
    s3: str  #: endpoint
    opensearch: str  #: URL


@dataclass(frozen=True, slots=True)
class Ran:
    """One size, done."""

    renditions: int
    cpu: float  #: seconds of the process, its media children and the servers
    wall: float  #: seconds
    resident: Sequence[int]  #: bytes of the process, each two seconds
    paid: int  #: jobs that the provider would bill
    shown: int
    broken: Sequence[str]

    @property
    def milliseconds(self) -> float:
        """CPU a rendition."""
        return self.cpu / self.renditions * 1000

    @property
    def growth(self) -> float:
        """Mean memory of the last third over that of the middle third."""
        third = max(len(self.resident) // 3, 1)
        middle, last = self.resident[third : 2 * third] or self.resident, self.resident[-third:]
        return (sum(last) / len(last)) / (sum(middle) / len(middle))


def benchmark(sizes: Sequence[int] = SIZES) -> Iterator[Figure]:
    os.environ["PYTHONPATH"] = str(ROOT)  # the null renderer's adapter is found by its path
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    with (
        running_postgres(is_synced=True) as postgres,
        running_versitygw() as s3,
        running_opensearch(jvm=(), heap="1g") as opensearch,
    ):
        servers = Servers(postgres, s3.endpoint, opensearch.url)
        ran = [_ran(servers, size) for size in sizes]
    for one in ran:
        yield from _figures(one)
    first, last = ran[0], ran[-1]
    yield Figure(
        f"CPU a rendition, {last.renditions:,} against {first.renditions:,}",
        last.milliseconds / first.milliseconds,
        f"{last.milliseconds:.0f} ms", f"{first.milliseconds:.0f} ms", at_most(1.15),
    )  # fmt: skip


def _figures(ran: Ran) -> Iterator[Figure]:
    size = f"{ran.renditions:,}"
    wanted = ran.renditions
    yield Figure(f"{size}: shown", ran.shown / wanted, f"{ran.shown:,}", size, at_least(1))
    yield Figure(f"{size}: paid jobs a rendition", ran.paid / wanted, f"{ran.paid:,}", size, at_most(1))
    yield Figure(f"{size}: invariants broken", len(ran.broken), "; ".join(ran.broken[:3]), "", at_most(0))
    peak, last = max(ran.resident) / MEGABYTE, ran.resident[-1] / MEGABYTE
    yield Figure(
        f"{size}: memory, last third to middle third", ran.growth,
        f"{last:.0f} MB", f"{peak:.0f} MB at the peak", at_most(1.1),
    )  # fmt: skip
    yield Figure(
        f"{size}: renditions a minute", wanted / ran.wall * 60, f"{ran.wall:.0f} s", f"{ran.cpu:.0f} s of CPU"
    )


def _ran(servers: Servers, size: int) -> Ran:
    with tempfile.TemporaryDirectory(prefix="services-") as folder:
        home = Path(folder) / "home"
        with RendererProcess(Path(folder) / "null-renderer") as renderer:
            settings = _installed(servers, installation(home, renderer.url), size)
            drop_briefs(settings, size)
            before = _servers_seconds(servers)
            said, resident = _followed(settings, size)
            cpu = said["cpu"] + _servers_seconds(servers) - before
            with connected(settings) as adapters:
                broken = [str(one) for one in check(adapters)]
                shown = published(adapters.database)
            return Ran(size, cpu, said["wall"], resident, len(renderer.bill()), shown, broken)


def _installed(servers: Servers, settings: Settings, size: int) -> Settings:
    """A database, a bucket and an alias of its own; briefs are dropped in a folder beside the bucket."""
    name = f"bench{size}"
    with Database.at(servers.postgres.url()).engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"CREATE DATABASE {name}")
    bare_client(servers.s3).create_bucket(Bucket=name)
    installed = settings.model_copy(
        update={
            "database_url": SecretStr(servers.postgres.url(name)),
            "store_url": f"s3://{name}?endpoint={servers.s3}&region={REGION}",
            "intake_folder": settings.home / "briefs",
            "index_url": f"{servers.opensearch}/{name}",
        }
    )
    migrate(installed.database)
    database = Database.at(installed.database)
    rebuild_index(database, index_rebuild(installed), pause=lambda _: None)
    database.close()
    return installed


def _followed(settings: Settings, size: int) -> tuple[dict[str, float], list[int]]:
    argv = [sys.executable, "-m", "benchmarks.bare_loop", str(size)]
    resident, until = list[int](), time.monotonic() + SECONDS_A_RENDITION * max(size, 200)
    with subprocess.Popen(
        argv, env=environment_of(settings, ""), cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as loop:
        seen = psutil.Process(loop.pid)
        while loop.poll() is None:
            assert time.monotonic() < until, f"{size} renditions were not shown in time"
            resident.append(seen.memory_info().rss)
            time.sleep(LOOK_SECONDS)
        assert loop.stdout is not None
        said = loop.stdout.read()
    assert loop.returncode == 0, said
    return json.loads(said), resident


def _servers_seconds(servers: Servers) -> float:
    """CPU of the three so far; PostgreSQL has daemonised itself, the others are children of this process."""
    postmaster = int((servers.postgres.data / "postmaster.pid").read_text().split()[0])
    roots = [psutil.Process(postmaster), *psutil.Process().children()]
    families = [
        one for root in roots if not _is_renderer(root) for one in (root, *root.children(recursive=True))
    ]
    return sum(map(_seconds, families))


def _seconds(process: psutil.Process) -> float:
    try:
        spent = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0  # what a reaped child spent stands with its parent
    return float(spent.user + spent.system + spent.children_user + spent.children_system)


def _is_renderer(process: psutil.Process) -> bool:
    return "tests.faults.renderer" in process.cmdline()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.services", description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N")
    figures = list(benchmark(parser.parse_args().sizes))
    rich.print(table(figures))
    return int(any(figure.verdict == "MISSED" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
