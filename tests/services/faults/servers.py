"""The three real servers, a relay in front of each, and installations on them.

Belongs here: starting them, killing them, making and removing what one installation needs. Does not belong
here: which trouble comes when (`troubles`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import boto3
import pytest

from resources.database.migrate import migrate
from resources.tag_index.opensearch import client
from tests.faults.places import Places
from tests.faults.scenarios import TEMPLATE, administer
from tests.postgres import Server, running_postgres
from tests.services.opensearch.conftest import quick_alias
from tests.services.opensearch.server import running_opensearch
from tests.services.relay import Relay, relaying, relaying_postgresql
from tests.services.s3.conftest import bare_client
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, running_versitygw

#: A killed server is away this long at least, so that somebody notices.
AWAY_SECONDS = 0.3


class Mortal(Protocol):
    def kill(self) -> None: ...

    def start(self) -> None: ...


@dataclass(frozen=True)
class S3Places(Places):
    endpoint: str = ""
    bucket: str = ""

    def deliver(self, objects: Path) -> None:
        """Upload it, as whoever drops a brief into a bucket does."""
        with closing(bare_client(self.endpoint)) as bare:
            for path in sorted((objects / "intake").rglob("*.*")):
                bare.upload_file(str(path), self.bucket, str(path.relative_to(objects)))


@dataclass(frozen=True)
class Services:
    servers: Mapping[str, Mortal]
    relays: Mapping[str, Relay]
    postgres: Server
    s3: str  #: endpoint
    opensearch: str  #: URL

    def restart(self, name: str) -> None:
        """SIGKILL, and back on the same address with what it had made durable."""
        self.servers[name].kill()
        time.sleep(AWAY_SECONDS)
        self.servers[name].start()

    @contextmanager
    def installed(self, name: str) -> Iterator[tuple[Places, Places]]:
        """A database, a bucket and an index of its own: as they are, and by way of the relays."""
        with ExitStack() as stack:
            administer(self.postgres, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
            stack.callback(administer, self.postgres, f"DROP DATABASE {name} WITH (FORCE)")
            with closing(bare_client(self.s3)) as bare:
                bare.create_bucket(Bucket=name)
            stack.callback(_empty, self.s3, name)
            opened = client(self.opensearch)
            stack.callback(opened.close)
            stack.enter_context(quick_alias(opened, name))
            for relay in self.relays.values():
                relay.heads.clear()
                relay.orders.clear()
            yield self._places(name), self._through(name)

    def _places(self, name: str) -> Places:
        return _at(name, self.postgres.url(name), self.s3, self.opensearch)

    def _through(self, name: str) -> Places:
        socket = self.relays["postgresql"].path
        assert socket is not None
        database = f"postgresql+psycopg2://reelwright@/{name}?host={socket.parent}"
        return _at(name, database, self.relays["s3"].endpoint, self.relays["opensearch"].endpoint)


def _at(name: str, database: str, s3: str, opensearch: str) -> Places:
    store = f"s3://{name}?endpoint={s3}&region={REGION}"
    return S3Places(database, store, f"{opensearch}/{name}", s3, name)


def _empty(endpoint: str, name: str) -> None:
    """Remove a bucket with everything in it."""
    session = boto3.session.Session(ACCESS_KEY, SECRET_KEY)
    bucket = session.resource("s3", endpoint_url=endpoint, region_name=REGION).Bucket(name)
    bucket.objects.all().delete()
    bucket.delete()
    bucket.meta.client.close()


@contextmanager
def running_services() -> Iterator[Services]:
    """PostgreSQL syncs what it commits, so that a kill proves something."""
    with ExitStack() as stack:
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        patched.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        patched.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        postgres = stack.enter_context(running_postgres(is_synced=True))
        administer(postgres, f"CREATE DATABASE {TEMPLATE}")
        migrate(postgres.url(TEMPLATE))
        s3 = stack.enter_context(running_versitygw())
        opensearch = stack.enter_context(running_opensearch())
        relays = {
            "postgresql": stack.enter_context(relaying_postgresql(postgres.root)),
            "s3": stack.enter_context(relaying(s3.port)),
            "opensearch": stack.enter_context(relaying(opensearch.port)),
        }
        servers: dict[str, Mortal] = {"postgresql": postgres, "s3": s3, "opensearch": opensearch}
        yield Services(servers, relays, postgres, s3.endpoint, opensearch.url)
