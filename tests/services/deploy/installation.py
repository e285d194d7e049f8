"""Reelwright as compose.yaml and `deploy/` say, on a PostgreSQL and an S3 of its own, every part a process.

Belongs here: servers, parts, dropping a campaign, waiting. Does not belong here: what must hold (tests).
"""

from __future__ import annotations

import io
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import dagster as dg
import psutil
import sqlalchemy as sa
import yaml
from dagster._grpc.client import DagsterGrpcClient
from PIL import Image

from resources.database.database import Database
from resources.database.schema import slots
from tests.dagster_home import instance_of
from tests.postgres import running_postgres
from tests.services.deploy.composed import ROOT, Moved
from tests.services.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw
from tests.survivors import ends_with_us

START_SECONDS, PUBLISHED_SECONDS = 120.0, 200.0
TENANT = "northwind"
#: What compose.yaml calls them, where they listen there.
PORTS = ("127.0.0.1:8791", "code-server:4266", "127.0.0.1:3000", "127.0.0.1:3001")
FOREIGN = ("REELWRIGHT_", "DAGSTER_", "AWS_", "PG")


@dataclass
class Installation:
    """Its databases and buckets are there; nothing of Reelwright runs yet."""

    folder: Path
    moved: Moved
    environment: Mapping[str, str]
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def dagster_home(self) -> Path:
        return self.folder / "dagster"

    def command(self, service: str) -> Sequence[str]:
        return self.moved.command(service)

    def run(self, service: str) -> None:
        """A service that ends by itself."""
        done = subprocess.run(
            self.command(service), env=self.environment, cwd=self.folder, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def start(self, name: str, argv: Sequence[str] | None = None, **environment: str) -> None:
        """A service of compose.yaml, or *argv* under that name; it says what it says in NAME.log."""
        with self.log(name).open("wb") as output:
            process = subprocess.Popen(
                argv or self.command(name),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env={**self.environment, **environment},
                start_new_session=True,
            )
        ends_with_us(process.pid)
        self.parts[name] = process

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def said(self, *names: str) -> str:
        logs = {name: self.log(name).read_text(errors="replace") for name in names or self.parts}
        return "\n".join(f"--- {name}\n{text[-3000:]}" for name, text in logs.items())

    def stop(self, name: str) -> None:
        """SIGTERM, as a supervisor sends it, and no more after ten seconds."""
        process = self.parts.pop(name)
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        end(family)
        process.wait()

    def end(self) -> None:
        for name in list(self.parts):
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(self.parts[name].pid)
                end([process, *process.children(recursive=True)])
            self.parts.pop(name).wait()

    def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Look twice a second; fail with what everyone said when it does not hold in time, or one ended."""
        until = time.monotonic() + seconds
        while not holds():
            ended = [name for name, part in self.parts.items() if part.poll() is not None]
            assert not ended, f"{ended} ended\n{self.said(*ended)}"
            assert time.monotonic() < until, f"not after {seconds:.0f} s\n{self.said()}"
            time.sleep(0.5)

    def until_serving(self, host: str, port: int) -> None:
        self.until(lambda: serves(host, port), START_SECONDS)

    def drop(self, campaign: str, provider: str, locales: Sequence[str], ratios: Sequence[str]) -> None:
        """A brief and its image into the bucket's intake."""
        picture = io.BytesIO()
        Image.new("RGB", (320, 180), "navy").save(picture, "JPEG")
        brief = _brief(campaign, provider, locales, ratios)
        for name, body in {"still.jpg": picture.getvalue(), "brief.yaml": yaml.safe_dump(brief)}.items():
            key = f"intake/{TENANT}/{campaign}/{name}"
            self.s3.put_object(Bucket="reelwright", Key=key, Body=body)

    @property
    def s3(self) -> Any:
        session = boto3.session.Session(ACCESS_KEY, SECRET_KEY, region_name="us-east-1")
        return session.client("s3", endpoint_url=self.environment["AWS_ENDPOINT_URL_S3"])

    @contextmanager
    def database(self) -> Iterator[Database]:
        opened = Database.at(self.environment["REELWRIGHT_DATABASE_URL"])
        yield opened
        opened.close()

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """Dagster's instance, as every part has it."""
        before = dict(os.environ)
        os.environ.update(self.environment)
        try:
            with instance_of(self.dagster_home) as instance:
                yield instance
        finally:
            os.environ.clear()
            os.environ.update(before)

    def until_published(self, campaign: str, number: int) -> None:
        """The campaign's slots all show a video, and every run has ended."""
        shown = sa.select(sa.func.count()).select_from(slots).where(
            slots.c.campaign == f"{TENANT}.{campaign}", slots.c.publication.is_not(None)
        )  # fmt: skip

        def published() -> bool:
            with database.reading() as connection:
                return connection.scalar(shown) == number

        with self.database() as database:
            self.until(published, PUBLISHED_SECONDS)


def serves(host: str, port: int) -> bool:
    """Whether a code server there has loaded its definitions."""
    with socket.socket() as tried:
        is_there = tried.connect_ex((host, port)) == 0
    return is_there and DagsterGrpcClient(port=port, host=host).health_check_query() == "SERVING"


def end(family: Sequence[psutil.Process]) -> None:
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family, timeout=5)


@contextmanager
def installation(folder: Path, **settings: str) -> Iterator[Installation]:
    """Servers under compose.yaml's names, with tables and buckets; *settings* stand over its environment."""
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_on_tcp())
        s3 = stack.enter_context(running_versitygw())
        places = {"postgres:5432": postgres, "s3:7070": s3.port} | {place: free_port() for place in PORTS}
        moved = Moved(places, {"/data": folder / "data", "/opt/reelwright": folder})
        own = {
            **moved.environment("code-server"),
            "DAGSTER_HOME": str(folder / "dagster"),
            "REELWRIGHT_ALLOW_UNSAFE_DATABASE": "true",
            "REELWRIGHT_INDEX_URL": "sql",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "PYTHONPATH": str(ROOT),
            **settings,
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        made = Installation(folder, moved, kept | own)
        stack.callback(made.end)
        for part in ("data", "dagster"):
            (folder / part).mkdir()
        (made.dagster_home / "dagster.yaml").write_text((ROOT / "deploy/dagster.postgres.yaml").read_text())
        (folder / "workspace.yaml").write_text((ROOT / "deploy/workspace.yaml").read_text())
        for service in ("buckets", "migrate"):
            made.run(service)
        yield made


@contextmanager
def postgres_on_tcp() -> Iterator[int]:
    """Its port, with the databases that compose.yaml makes."""
    port = free_port()
    with running_postgres() as server:
        admin = sa.create_engine(server.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with admin.connect() as connection:
            for name in ("reelwright", "dagster"):
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            connection.exec_driver_sql("ALTER SYSTEM SET listen_addresses = '127.0.0.1'")
            connection.exec_driver_sql(f"ALTER SYSTEM SET port = {port}")
        server.stop()
        server.start()
        yield port


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _brief(name: str, provider: str, locales: Sequence[str], ratios: Sequence[str]) -> dict[str, object]:
    return {
        "tenant": TENANT,
        "campaign": name,
        "revision": 1,
        "cost_center": "MKT-1",
        "sources": ["still.jpg"],
        "copy": {locale: f"Hello {locale}, from {name}." for locale in locales},
        "variants": {"locales": list(locales), "aspect_ratios": list(ratios), "duration_seconds": [1]},
        "generation": {
            "provider": provider, "model": "kenburns-1", "settings": {"fps": 12, "short_side": 180},
        },
        "tags": {"asset_type": "marketing-video", "visibility": "public"},
        "publish": "auto",
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
        "ends_on": "2099-12-31",
    }  # fmt: skip
