"""What tests of Dagster's window stand on: real adapters under the test clock, an instance in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from pydantic import SecretStr

from pipeline.documents.settings import Settings
from pipeline.steps.produce.stages import intake_of
from resources.adapters import Adapters
from resources.connect import connect
from resources.dagster_resources import Operating
from resources.database.database import Database
from resources.media import Sandbox
from resources.notify.log import LogNotifier
from resources.notify.protocol import Outlet, Window
from resources.notify.webhook import WebhookNotifier
from tests.conftest import Clock
from tests.notify.sinks import HttpSink
from tests.steps.author import Author
from tests.steps.viewer_fixtures import sandbox

__all__ = ["OPERATING", "adapters", "dropped", "home", "instance", "sandbox"]

API = "http://127.0.0.1:3001"
WINDOW = "http://127.0.0.1:3000"
#: Dagster's surroundings in tests: alerts go to the log.
OPERATING = Operating(API, Outlet(LogNotifier()), run_log_days=14, delivered_days=30, reports=Path("reports"))


def outlet_to(sink: HttpSink) -> Outlet:
    """Alerts go to a real server, with links into Dagster's window."""
    return Outlet(WebhookNotifier(sink.url), {Window.DAGSTER: WINDOW})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def adapters(database: Database, database_url: str, sandbox: Sandbox, home: Path) -> Iterator[Adapters]:
    opened = connect(Settings(home=home, database_url=SecretStr(database_url), allow_unsafe_database=True))
    try:
        yield replace(opened, database=database, sandbox=sandbox)
    finally:
        opened.close()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def dropped(adapters: Adapters, home: Path, clock: Clock) -> Author:
    """An author whose brief and images lie in the intake and were looked at once, five seconds ago."""
    author = Author(intake_of(adapters), home / "objects", clock)
    author.drop_images(author.folder())
    author.drop()
    return author
