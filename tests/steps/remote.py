"""A fault renderer of each class with a few queued attempts, for tests of submission and polling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.provider_terms import ModelTerms, PollPace, ProviderTerms, Spend
from pipeline.steps.operate.reconcile_unknown import reconcile_unknown
from pipeline.steps.produce.inputs import Inputs
from pipeline.steps.produce.poll import PollReport, poll
from pipeline.steps.produce.submit import Submitting, submit_lot
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from resources.providers.registry import adapter
from tests.conftest import Clock
from tests.database import rows
from tests.faults.renderer.process import ADAPTERS, RendererProcess


@dataclass
class Remote:
    """One provider of one class, its renderer process, and the database that talks to it."""

    database: Database
    renderer: RendererProcess
    terms: ProviderTerms
    folder: Path
    spool: Path = field(init=False)

    def __post_init__(self) -> None:
        self.spool = self.folder / "spool"
        self.store = LocalStore(self.folder / "objects")
        self.provider = adapter(self.terms)

    @property
    def small(self) -> dict[str, Any]:
        """Columns of a rendition that the renderer makes quickly."""
        return {"width": 320, "height": 180, "duration_seconds": 1, "provider": self.terms.name}

    @property
    def submitting(self) -> Submitting:
        inputs = Inputs(self.database, self.store, self.spool)
        return Submitting(self.database, self.provider, self.terms, inputs, "submitter")

    def queue(self, *names: str, **columns: Any) -> list[str]:
        """Campaign `northwind.spring` (made once) with one due attempt for each name."""
        home = "northwind.spring"
        with self.database.reading() as connection:
            known = connection.scalar(sa.select(schema.campaigns.c.id))
        if known is None:
            rows.campaign(self.database)
        columns = {"provider": self.terms.name, "next_action_at": 0} | columns
        return [
            rows.attempt(
                self.database, home, rows.rendition(self.database, home, name, **self.small), **columns
            )
            for name in names
        ]

    def submit(self) -> dict[str, int]:
        named = {self.terms.name: self.provider}
        return submit_lot(self.database, named, {self.terms.name: self.terms}, self.store, self.spool).counts

    def poll(self) -> PollReport:
        return poll(self.database, {self.terms.name: self.provider}, {self.terms.name: self.terms})

    def poll_until(self, word: str, clock: Clock, times: int = 1) -> None:
        """Poll until *times* attempts came to *word*: the renderer works in its own time."""
        found, end = 0, time.monotonic() + 30
        while found < times:
            assert time.monotonic() < end, f"no {word} in 30 s"
            found += self.poll().counts[word]
            clock.pass_seconds(20)
            time.sleep(0.05)

    def reconcile(self) -> dict[str, int]:
        return dict(reconcile_unknown(self.database, {self.terms.name: self.submitting}))

    def attempt(self, name: str) -> sa.Row[Any]:
        return rows.read(self.database, schema.attempts, name)

    def with_terms(self, **changes: Any) -> Remote:
        return Remote(self.database, self.renderer, replace(self.terms, **changes), self.folder)


def terms_for(mode: str, url: str) -> ProviderTerms:
    return ProviderTerms(
        name="fault",
        adapter=ADAPTERS[mode],
        base_url=url,
        allow_private_origin=True,
        models={"kenburns-1": ModelTerms(price_per_second=1)},  # type: ignore[arg-type]
        spend=Spend.LIVE,
        deadline_seconds=600,
        purge_horizon_seconds=3_600,
        send_tries=3,
        pace=PollPace(first_seconds=1, ceiling_seconds=10, gone_over_seconds=20),
        options={"lag_seconds": 2},
    )


@pytest.fixture(params=["k"])
def remote(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Remote]:
    """Class K unless a test asks for others by indirect parameters."""
    store = tmp_path / "renderer"
    store.mkdir()
    with RendererProcess(store, options=("--mode", request.param)) as renderer:
        yield Remote(database, renderer, terms_for(request.param, renderer.url), tmp_path)
