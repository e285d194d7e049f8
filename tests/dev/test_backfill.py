"""A backfill from the window, as its page starts it, beside running lots under the real dev (E3)."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from pipeline.cli.processes import Running, running
from pipeline.documents.settings import Settings
from pipeline.domain.lifecycle import Word
from pipeline.steps.answer.status import Wanted, status
from pipeline.steps.operate.check import check
from resources.connect import connected
from resources.database import schema
from resources.database.database import Database
from resources.database.invariants import Phase
from tests.dev.test_dev import SMALL, wait_until
from tests.steps.author import brief, picture

ONE, MANY = "northwind.one", "northwind.many"
VARIANTS = {"locales": ["en-GB", "de-DE"], "aspect_ratios": ["1:1", "16:9"], "duration_seconds": [1]}

LAUNCH = """mutation ($backfill: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $backfill) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
  }
}"""
BACKFILL = """query ($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status runs(limit: 20) { runId status startTime endTime } }
  }
}"""
LOTS = """query {
  runsOrError(filter: {}, limit: 200) {
    ... on Runs { results { jobName status startTime endTime } }
  }
}"""


def ask(found: Running, query: str, **variables: Any) -> dict[str, Any]:
    """What the window's page would get."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own window on loopback
        f"{found.dagster_url}/graphql", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        told: dict[str, Any] = json.load(answer)
    assert "errors" not in told
    return told["data"]  # type: ignore[no-any-return]


def drop(settings: Settings, campaign: str, **changes: Any) -> None:
    folder = settings.objects / "intake" / "northwind" / campaign.partition(".")[2]
    picture(folder / "depot.jpg", "navy", (320, 240))
    picture(folder / "van.png", "maroon", (320, 240))
    whole = brief(**(SMALL | {"campaign": campaign.partition(".")[2]} | changes))
    (folder / "brief.yaml").write_text(yaml.safe_dump(whole, allow_unicode=True))


def words(database: Database, campaign: str) -> Counter[str]:
    return Counter(str(wish.word) for wish in status(database, Wanted(campaign=campaign)))


def count(database: Database, table: sa.Table) -> int:
    with database.reading() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


def is_working(database: Database) -> bool:
    """A lot of the campaigns' outputs runs."""
    with database.reading() as connection:
        begun = sa.select(schema.lots.c.number).where(
            schema.lots.c.stage.in_(["retrieve", "derive"]),
            schema.lots.c.started_at.is_not(None),
            schema.lots.c.ended_at.is_(None),
        )
        return connection.scalar(begun.limit(1)) is not None


@pytest.mark.timeout(420)
def test_a_backfill_beside_running_lots_makes_nothing_twice(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    with running(settings, dagster_port=0, renderer_port=0, say=lambda _: None) as found:
        database = Database.at(settings.database)
        drop(settings, ONE)
        drop(settings, MANY, variants=VARIANTS, copy={"en-GB": "On time.", "de-DE": "Pünktlich."})
        wait_until(lambda: is_working(database), 150)
        started = ask(
            found,
            LAUNCH,
            backfill={
                "assetSelection": [{"path": ["thumbnails"]}, {"path": ["tag_index"]}],
                "partitionNames": [ONE, MANY],
            },
        )["launchPartitionBackfill"]
        own = started["backfillId"]

        def runs() -> list[dict[str, Any]]:
            return list(ask(found, BACKFILL, id=own)["partitionBackfillOrError"]["runs"])

        wait_until(lambda: len(runs()) == 2 and all(run["endTime"] for run in runs()), 150)
        wait_until(lambda: words(database, ONE) + words(database, MANY) == {Word.READY: 5}, 150)
        every = ask(found, LOTS)["runsOrError"]["results"]
        ended = runs()
        attempts, sends = count(database, schema.attempts), count(database, schema.sends)
        database.close()

    assert {run["status"] for run in ended} == {"SUCCESS"}
    assert not [run for run in every if run["status"] == "FAILURE"]
    assert (attempts, sends) == (5, 5)
    with connected(settings) as adapters:
        assert check(adapters, phases=[Phase.ALWAYS], jobs=[]) == []
        with adapters.database.reading() as connection:
            pictures = connection.execute(
                sa.select(schema.derivatives.c.source_sha256, schema.derivatives.c.name)
            ).all()
    assert len(pictures) == len(set(pictures))
