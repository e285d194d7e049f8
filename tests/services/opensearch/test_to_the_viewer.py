"""With the index in OpenSearch nothing is shown before it can be found, whatever the server does (T1, T5)."""

from __future__ import annotations

import pytest
from opensearchpy import OpenSearch

from pipeline.domain.errors import IndexUnavailable
from pipeline.steps.answer.search import search
from pipeline.steps.operate import rebuild_index as rebuilding
from pipeline.steps.operate.rebuild_index import rebuild_index
from pipeline.steps.operate.reindex import differing
from pipeline.steps.produce.index import sync_index
from pipeline.steps.produce.withdraw import withdraw
from resources.database import schema
from resources.tag_index.opensearch import OpenSearchTagIndex
from resources.tag_index.opensearch_rebuild import IndexRebuild
from resources.tag_index.protocol import Change, WriteResult
from tests.conftest import Clock
from tests.services.opensearch.server import Server
from tests.steps.viewer import CAMPAIGN, Viewer
from tests.steps.viewer_fixtures import sandbox, site, viewer

__all__ = ["sandbox", "site", "viewer"]

SLOT = f"{CAMPAIGN}/en-GB/16x9/r-1"
BLOCK = "index.blocks.read_only_allow_delete"


@pytest.fixture
def house(viewer: Viewer, index: OpenSearchTagIndex) -> Viewer:
    viewer.index = index  # type: ignore[assignment]
    return viewer


def shown(house: Viewer) -> list[str]:
    return sorted(one.object for one in search(house.database, house.index, "northwind", limit=1_000).found)


def catch_up(house: Viewer) -> None:
    house.clock.pass_seconds(301)
    sync_index(house.database, house.index)


def test_a_server_that_is_down_postpones_and_what_waited_is_shown_when_it_is_back(
    house: Viewer, opensearch: Server
) -> None:
    attempt = house.derived()
    opensearch.stop()
    try:
        down = house.publish()
        row, slot = house.attempt(attempt), house.slot()
    finally:
        opensearch.start()
    house.clock.pass_seconds(60)

    assert (house.words(down), row.state, slot.publication) == (["postponed"], "stored", None)
    assert shown(house) == []
    assert house.words(house.publish()) == ["published"]
    assert shown(house) == ["o-r-1-a1"]
    assert house.standings() == {"o-r-1-a1": "current"}


def test_a_full_disk_postpones_too_and_withdraws_at_once_what_is_shown(
    house: Viewer, bare: OpenSearch, alias: str
) -> None:
    house.derived("r-1")
    house.publish()
    house.derived("r-2")
    bare.indices.put_settings(index=alias, body={BLOCK: True})

    full = house.publish()
    withdraw(house.database, house.index, SLOT, "northwind", actor="ann", reason="recall")

    assert house.words(full) == ["postponed"]
    assert house.slot("r-2").publication is None
    assert shown(house) == []
    assert house.standings() == {"o-r-1-a1": "current"}
    bare.indices.put_settings(index=alias, body={BLOCK: None})
    catch_up(house)
    assert house.standings() == {"o-r-2-a1": "candidate"}
    assert house.words(house.publish()) == ["published"]
    assert shown(house) == ["o-r-2-a1"]


def test_the_index_is_rebuilt_from_the_database_alone(
    house: Viewer, bare: OpenSearch, alias: str, index: OpenSearchTagIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "BULK", 3)
    for n in range(1, 11):
        house.derived(f"r-{n}")
    house.publish()
    withdraw(house.database, house.index, SLOT, "northwind", actor="ann", reason="recall")
    before = shown(house)
    bare.indices.delete(index=f"{alias}-000001")

    report = rebuild_index(house.database, IndexRebuild(bare, alias), pause=lambda _: None)

    entries = [row.id for row in house.rows(schema.index_entries)]
    assert (report.filled, report.gone_on_with, dict(report.refused)) == (len(entries), False, {})
    assert shown(house) == before
    assert len(before) == 9
    assert differing(house.database, house.index, entries) == {}


class Dying(IndexRebuild):
    """A rebuild whose process dies in the third bulk."""

    bulks = 0

    def fill(self, changes: list[Change]) -> list[WriteResult]:  # type: ignore[override]
        self.bulks += 1
        if self.bulks > 2:
            raise RuntimeError("killed here")
        return super().fill(changes)


def test_a_rebuild_that_died_is_gone_on_with_and_searches_saw_nothing_of_it(
    house: Viewer, bare: OpenSearch, alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "BULK", 3)
    monkeypatch.setattr(rebuilding, "NOTED_EVERY", 1)
    for n in range(1, 11):
        house.derived(f"r-{n}")
    house.publish()

    with pytest.raises(RuntimeError):
        rebuild_index(house.database, Dying(bare, alias))
    assert len(shown(house)) == 10
    withdraw(house.database, house.index, SLOT, "northwind", actor="ann", reason="recall")
    report = rebuild_index(house.database, IndexRebuild(bare, alias), pause=lambda _: None)

    assert (report.filled, report.gone_on_with) == (4, True)
    assert len(shown(house)) == 9
    entries = [row.id for row in house.rows(schema.index_entries)]
    assert differing(house.database, house.index, entries) == {}


def test_a_rebuild_that_gets_nothing_in_stops_and_can_be_gone_on_with(
    house: Viewer, bare: OpenSearch, alias: str, clock: Clock
) -> None:
    house.derived()
    house.publish()
    rebuild = IndexRebuild(bare, alias)
    rebuild.begin()
    bare.indices.put_settings(index=f"{alias}-000002", body={BLOCK: True})

    with pytest.raises(IndexUnavailable, match="read-only"):
        rebuild_index(house.database, rebuild, pause=lambda _: None)
    bare.indices.put_settings(index=f"{alias}-000002", body={BLOCK: None})
    rebuild_index(house.database, rebuild, pause=lambda _: None)

    assert shown(house) == ["o-r-1-a1"]
