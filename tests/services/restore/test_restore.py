"""The page on back-up and restore, carried out on PostgreSQL, S3 and OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.cli.desk import Desk
from tests.cli.restoring import Installation, goes_through_a_restore
from tests.faults.renderer.process import RendererProcess
from tests.postgres import Server, running_postgres
from tests.services.opensearch.server import Server as OpenSearchServer
from tests.services.s3.conftest import bare_client
from tests.services.versitygw import ACCESS_KEY, REGION, SECRET_KEY, VersityGw

ALIAS = "restored"


@pytest.fixture
def server() -> Iterator[Server]:
    with running_postgres() as running:
        yield running


def _bucket(endpoint: str) -> str:
    with_all: Any = bare_client(endpoint)
    with_all.create_bucket(Bucket=ALIAS)
    with_all.close()
    return f"s3://{ALIAS}?endpoint={endpoint}&region={REGION}"


def test_the_services_are_put_back_and_nothing_is_paid_for_twice(
    server: Server,
    s3_server: VersityGw,
    opensearch: OpenSearchServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    urls = {
        "REELWRIGHT_STORE_URL": _bucket(s3_server.endpoint),
        "REELWRIGHT_INDEX_URL": f"{opensearch.url}/{ALIAS}",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in urls.items():
        monkeypatch.setenv(name, value)
    url = server.url("reelwright").replace("+psycopg2", "")
    other = server.url("postgres").replace("+psycopg2", "")
    with RendererProcess(tmp_path / "renderer", options=("--mode", "k")) as renderer:
        one = Installation(Desk(tmp_path, url), renderer, "k", urls)
        _create(server)
        one.run("migrate")
        one.run("rebuild")

        goes_through_a_restore(one, "PostgreSQL: dump", "PostgreSQL: restore", DATABASE=url, SERVER=other)


def _create(server: Server) -> None:
    engine = sa.create_engine(server.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE reelwright TEMPLATE template0")
