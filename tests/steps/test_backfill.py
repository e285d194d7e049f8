"""E3: backfills take what nobody holds, name the rest, mint nothing, safe beside lots and each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from pipeline.domain.errors import IndexUnavailable, MediaRefused, UnknownSubject
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.backfill import BACKFILLS, Backfill, backfill
from pipeline.steps.operate.backfilled import BackfillReport
from pipeline.steps.operate.pause import pause
from pipeline.steps.operate.reindex import reindex
from pipeline.steps.operate.republish import republish
from pipeline.steps.operate.rethumbnail import rethumbnail
from pipeline.steps.produce import index as indexing
from pipeline.steps.produce.derive import Deriving
from resources.database import schema
from resources.database.backfill import lease
from resources.tag_index.protocol import Change, Tombstone, WriteResult
from resources.tag_index.sql import SqlTagIndex
from tests.database import rows
from tests.steps.upkeep import TINY, WIDER, adapters_of, empty_index, selected, shown, what_is_broken
from tests.steps.viewer import CAMPAIGN, Viewer


def test_new_pictures_stand_beside_the_old_ones_and_nothing_else_moves(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    before, publications = viewer.attempt(attempt), viewer.rows(schema.publications)

    report = rethumbnail(adapters_of(viewer, transforms=WIDER))

    row = viewer.attempt(attempt)
    assert (report.counts, report.left, report.version) == ({"renewed": 1}, (), "tiny-2")
    assert {one.transform_version for one in viewer.rows(schema.derivatives)} == {"tiny-1", "tiny-2"}
    assert (row.derived_version, row.state, row.version) == ("tiny-2", "indexed", before.version)
    assert (row.lease_until, row.next_action_at) == (0, None)
    assert viewer.rows(schema.publications) == publications
    assert len(viewer.rows(schema.attempts)) == 1
    assert viewer.site.fetches == {"job-r-1-1": 1}
    assert what_is_broken(viewer) == []


def test_the_fact_is_audited_with_actor_and_both_versions(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")

    rethumbnail(adapters_of(viewer, transforms=WIDER), actor="anna")

    link = max(
        (one for one in viewer.rows(schema.audit) if one.subject_id == attempt), key=lambda one: one.id
    )
    assert (link.actor, link.reason, link.version) == ("anna", "pictures_renewed", None)
    assert link.detail == {"transform_version": "tiny-2", "instead_of": "tiny-1"}


def test_what_is_up_to_date_is_left_alone(viewer: Viewer) -> None:
    shown(viewer, "r-1")
    before = viewer.rows(schema.audit)

    assert rethumbnail(adapters_of(viewer, sandbox=None)).results == ()
    assert viewer.rows(schema.audit) == before


def test_a_leased_item_is_skipped_and_named_and_taken_the_next_time(viewer: Viewer) -> None:
    first, second = shown(viewer, "r-1", "r-2")
    row = viewer.attempt(first)
    viewer.database.run(lambda tx: lease(tx, [row], "elsewhere"))

    report = rethumbnail(adapters_of(viewer, transforms=WIDER))

    [left] = report.left
    assert (left.subject, left.campaign, left.reason) == (first, CAMPAIGN, "leased by elsewhere")
    assert viewer.attempt(second).derived_version == "tiny-2"
    assert viewer.attempt(first).lease_owner == "elsewhere"
    viewer.clock.pass_seconds(61)
    assert rethumbnail(adapters_of(viewer, transforms=WIDER)).counts == {"renewed": 1}


def test_a_pause_of_the_stage_holds_the_backfill_too(viewer: Viewer) -> None:
    shown(viewer, "r-1")
    scope = {"stage": "derive", "provider": "*", "tenant": "*"}
    pause(viewer.database, **scope, actor="anna", reason="disk")

    report = rethumbnail(adapters_of(viewer, transforms=WIDER))

    assert [(one.word, one.reason) for one in report.results] == [("skipped", "paused")]


def test_what_cannot_be_derived_keeps_its_old_pictures_and_serves(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    [attempt] = shown(viewer, "r-1")
    monkeypatch.setattr("pipeline.steps.produce.derive.derive", _refused)

    report = rethumbnail(adapters_of(viewer, transforms=WIDER))

    row = viewer.attempt(attempt)
    assert [(one.word, one.reason) for one in report.left] == [("failed", "not_media")]
    assert (row.derived_version, row.parked_reason, row.lease_until) == ("tiny-1", None, 0)
    assert what_is_broken(viewer, TINY) == []


def _refused(*_: Any, **__: Any) -> None:
    raise MediaRefused("not_media", "nothing to be seen")


def test_only_the_named_campaigns_are_touched(viewer: Viewer) -> None:
    shown(viewer, "r-1")
    rows.campaign(viewer.database, "northwind.autumn")

    assert rethumbnail(adapters_of(viewer, transforms=WIDER), ["northwind.autumn"]).results == ()
    assert rethumbnail(adapters_of(viewer, transforms=WIDER), [CAMPAIGN]).counts == {"renewed": 1}


@pytest.mark.parametrize("kind", Backfill)
def test_a_campaign_that_there_is_not_is_named(viewer: Viewer, kind: Backfill) -> None:
    with pytest.raises(UnknownSubject, match=r"northwind\.nowhere"):
        backfill(adapters_of(viewer), kind, [CAMPAIGN, "northwind.nowhere"])


@pytest.mark.parametrize("kind", BACKFILLS)
def test_twice_at_once_beside_a_lot_makes_nothing_twice(viewer: Viewer, kind: Backfill) -> None:
    names = ("r-1", "r-2", "r-3")
    attempts = shown(viewer, *names)
    viewer.amend(visibility="internal", tags_version=7)
    late = viewer.arrives("r-4", body=viewer.clip)
    selected(viewer, "r-4")
    viewer.retrieve()
    gate = threading.Barrier(3)

    def run() -> BackfillReport:
        gate.wait()
        return backfill(adapters_of(viewer, transforms=WIDER), kind)

    def lot() -> None:
        gate.wait()
        viewer.derive(transforms=WIDER)
        viewer.publish()

    with ThreadPoolExecutor(3) as pool:
        both = [pool.submit(run), pool.submit(run)]
        pool.submit(lot).result()
        reports = [one.result() for one in both]
    left = backfill(adapters_of(viewer, transforms=WIDER), kind)
    backfill(adapters_of(viewer, transforms=WIDER), Backfill.THUMBNAILS)
    backfill(adapters_of(viewer, transforms=WIDER), Backfill.TAGS)
    indexing.sync_index(viewer.database, viewer.index)

    assert all(one.word != "failed" for report in (*reports, left) for one in report.results)
    assert {viewer.attempt(one).derived_version for one in (*attempts, late)} == {"tiny-2"}
    assert len(viewer.rows(schema.derivatives)) == 2  # equal bytes share one set a version
    assert len(viewer.rows(schema.attempts)) == 4
    assert viewer.site.fetches == {f"job-{name}-1": 1 for name in (*names, "r-4")}
    retags = [one for one in viewer.rows(schema.publications) if one.move == "retag"]
    assert len({one.slot for one in retags}) == len(retags) == 3
    assert what_is_broken(viewer) == []


def test_a_lot_does_not_take_what_a_backfill_holds(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    [attempt] = shown(viewer, "r-1")
    viewer.change(schema.attempts, attempt, next_action_at=viewer.clock.at)
    claimed: list[object] = []
    makes = Deriving.pictures

    def looks(self: Deriving, row: Any, source: Any) -> Any:
        claimed.extend(viewer.claim(Stage.PUBLISH))
        return makes(self, row, source)

    monkeypatch.setattr(Deriving, "pictures", looks)

    rethumbnail(adapters_of(viewer, transforms=WIDER))

    assert claimed == []
    assert [row.id for row in viewer.claim(Stage.PUBLISH)] == [attempt]  # due as it was


def test_a_person_who_takes_the_lease_over_wins(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    [attempt] = shown(viewer, "r-1")
    makes = Deriving.pictures

    def taken_over(self: Deriving, row: Any, source: Any) -> Any:
        made = makes(self, row, source)
        viewer.change(schema.attempts, attempt, lease_token=row.lease_token + 1, lease_until=0)
        return made

    monkeypatch.setattr(Deriving, "pictures", taken_over)

    report = rethumbnail(adapters_of(viewer, transforms=WIDER))

    assert [(one.word, one.reason) for one in report.left] == [("skipped", "overtaken")]
    assert viewer.attempt(attempt).derived_version == "tiny-1"


def test_the_index_is_told_everything_again(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    empty_index(viewer)

    report = reindex(adapters_of(viewer), [CAMPAIGN])

    assert report.counts == {"reindexed": 1}
    assert viewer.standings() == {viewer.attempt(attempt).object: "current"}
    assert viewer.entry(attempt).synced_version == viewer.entry(attempt).version
    assert what_is_broken(viewer, TINY) == []


def test_an_index_that_is_ahead_of_the_database_is_passed_by(viewer: Viewer) -> None:
    """As after the database was restored from a backup."""
    [attempt] = shown(viewer, "r-1")
    entry = viewer.entry(attempt)
    [said] = viewer.index.get("northwind", [entry.id]).values()
    viewer.index.put([replace(said, version=entry.version + 9, asset_type="strange")])

    report = reindex(adapters_of(viewer))

    assert report.counts == {"reindexed": 1}
    assert viewer.index.get("northwind", [entry.id])[entry.id].asset_type == "marketing-video"
    assert what_is_broken(viewer, TINY) == []


def test_what_should_be_gone_and_is_shown_is_removed(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    entry = viewer.entry(attempt)
    [said] = viewer.index.get("northwind", [entry.id]).values()
    viewer.change(schema.index_entries, entry.id, standing="tombstone", version=entry.version + 1)
    viewer.index.put([Tombstone(entry.id, "northwind", entry.version + 1)])
    viewer.index.put([replace(said, version=entry.version + 2)])

    report = reindex(adapters_of(viewer))

    assert report.counts == {"removed": 1}
    assert viewer.standings() == {}


class Silent(SqlTagIndex):
    def put(self, *_: Any) -> tuple[WriteResult, ...]:
        raise IndexUnavailable("down")

    def get(self, *_: Any) -> Any:
        raise IndexUnavailable("down")


class Deaf(SqlTagIndex):
    """Says that it took everything, and shows nothing new."""

    def put(self, changes: Any) -> tuple[WriteResult, ...]:
        return super().put([_older(one) for one in changes])


def _older(change: Change) -> Change:
    return replace(change, version=1)


@pytest.mark.parametrize(
    ("kind", "reason"), [(Silent, "index_unavailable"), (Deaf, "shown at version 2 of 3")]
)
def test_an_index_that_does_not_show_it_is_named_and_it_stays_due(
    viewer: Viewer, kind: Callable[..., SqlTagIndex], reason: str
) -> None:
    [attempt] = shown(viewer, "r-1")
    index = kind(viewer.database.engine, viewer.database.engine)

    report = reindex(adapters_of(viewer, index=index))

    assert [(one.subject, one.word, one.reason) for one in report.left] == [(attempt, "failed", reason)]
    viewer.clock.pass_seconds(301)
    assert indexing.sync_index(viewer.database, viewer.index) == {"visible": 1}


def test_changed_tags_are_published_once(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    viewer.amend(visibility="internal", tags_version=7)

    first, second = republish(adapters_of(viewer), actor="anna"), republish(adapters_of(viewer))

    newest = max(viewer.rows(schema.publications), key=lambda one: one.number)
    assert (first.counts, second.counts) == ({"retagged": 1}, {})
    assert (newest.move, newest.actor, newest.object) == ("retag", "anna", viewer.attempt(attempt).object)
    assert newest.tags["visibility"] == "internal"
    [said] = viewer.index.get("northwind", [viewer.entry(attempt).id]).values()
    assert str(said.visibility) == "internal"
    assert what_is_broken(viewer, TINY) == []


def test_a_slot_whose_object_does_not_serve_is_named(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    viewer.amend(visibility="internal", tags_version=7)
    viewer.change(schema.objects, viewer.attempt(attempt).object, state="purging")

    [left] = republish(adapters_of(viewer)).left

    assert (left.word, left.subject) == ("skipped", viewer.slot().id)
    assert attempt in left.reason
