from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.errors import MediaRefused, SandboxFailed
from pipeline.domain.follow_ons import Stage
from pipeline.domain.renditions import derivative_key
from resources.database import schema
from tests.conftest import NOON
from tests.steps.output_site import video
from tests.steps.viewer import Viewer, one_picture


@pytest.fixture
def owned(viewer: Viewer) -> str:
    """An attempt whose video is owned."""
    attempt = viewer.arrives(body=viewer.clip)
    viewer.retrieve()
    return attempt


def test_a_video_gets_its_full_set_once(viewer: Viewer, owned: str) -> None:
    results = viewer.derive()

    row, pictures = viewer.attempt(owned), viewer.rows(schema.derivatives)
    sha256 = next(one.sha256 for one in viewer.rows(schema.objects) if one.kind == "rendition")
    assert viewer.words(results) == ["derived"]
    assert (row.state, row.derived_version, row.lease_until) == ("stored", "pictures-1", 0)
    assert {one.name for one in pictures} == {"w320", "w640", "w960", "poster"}
    assert {(one.width, one.at_source_width) for one in pictures} == {(160, 1)}
    assert viewer.store.exists(derivative_key("northwind", sha256, "pictures-1", "w320", "webp"))
    assert "manifest_complete" in viewer.topics()
    assert not list(viewer.spool.iterdir())


def test_pictures_know_their_parent_and_who_needs_them(viewer: Viewer, owned: str) -> None:
    viewer.derive()

    pictures = [one for one in viewer.rows(schema.objects) if one.kind == "derivative"]
    parents = {row.object: row.parent for row in viewer.rows(schema.object_parents)}
    users = {row.object: row.user_id for row in viewer.rows(schema.object_uses)}
    assert len(pictures) == 4
    assert {parents[one.id] for one in pictures} == {viewer.attempt(owned).object}
    assert {users[one.id] for one in pictures} == {owned}


def test_deriving_again_is_a_no_op(viewer: Viewer, owned: str) -> None:
    viewer.derive()
    before = viewer.rows(schema.objects)
    viewer.change(schema.attempts, owned, derived_version=None, next_action_at=NOON)

    results = viewer.derive(sandbox=None)

    assert viewer.words(results) == ["derived"]
    assert viewer.rows(schema.objects) == before


def test_equal_bytes_of_another_rendition_share_the_manifest(viewer: Viewer, owned: str) -> None:
    viewer.derive()
    other = viewer.arrives("r-2", body=viewer.clip)
    viewer.retrieve()

    results = viewer.derive(sandbox=None)

    assert viewer.words(results) == ["derived"]
    assert len(viewer.rows(schema.derivatives)) == 4
    assert len([use for use in viewer.rows(schema.object_uses) if use.user_id == other]) == 5


def test_a_crash_between_pictures_and_commit_makes_the_same_ones(
    viewer: Viewer, owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.steps.produce.derive.record_manifest", _dies)
        with pytest.raises(Dies):
            viewer.derive()
    viewer.clock.pass_seconds(61)

    results = viewer.derive()

    assert viewer.words(results) == ["derived"]
    assert len(viewer.rows(schema.derivatives)) == 4


class Dies(BaseException):
    """As a killed process: nothing catches it."""


def _dies(*_: Any, **__: Any) -> None:
    raise Dies


def test_a_new_transform_version_stands_beside_the_old_one(viewer: Viewer, owned: str) -> None:
    viewer.derive()
    viewer.change(schema.attempts, owned, derived_version=None, next_action_at=NOON)

    viewer.derive(transforms=one_picture("tiny-2"))

    assert {row.transform_version for row in viewer.rows(schema.derivatives)} == {"pictures-1", "tiny-2"}
    assert viewer.attempt(owned).derived_version == "tiny-2"


def test_what_cannot_be_derived_is_parked_with_its_reason(
    viewer: Viewer, owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.steps.produce.derive.derive", _refused)

    results = viewer.derive()

    row = viewer.attempt(owned)
    assert [(result.word, result.reason) for result in results] == [("parked", "not_media")]
    assert (row.state, row.parked_reason, row.outcome_reason) == ("stored", "underivable", "not_media")
    assert row.next_action_at is None


def _refused(*_: Any, **__: Any) -> None:
    raise MediaRefused("not_media", "nothing to be seen")


def test_crashes_of_the_sandbox_are_tried_thrice_and_then_parked(
    viewer: Viewer, owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.steps.produce.derive.derive", _crashes)

    words = []
    for _ in range(3):
        words += viewer.words(viewer.derive())
        viewer.clock.pass_seconds(1_000)

    assert words == ["postponed", "postponed", "parked"]


def _crashes(*_: Any, **__: Any) -> None:
    raise SandboxFailed("timed_out", "no answer")


def test_other_bytes_than_recorded_are_noticed(viewer: Viewer, owned: str) -> None:
    viewer.change(schema.objects, viewer.attempt(owned).object, sha256="0" * 64)

    results = viewer.derive()

    assert [(result.word, result.reason) for result in results] == [("parked", "owned_bytes_changed")]


def test_an_unselected_attempt_rests_in_stored(viewer: Viewer, owned: str) -> None:
    viewer.change(schema.renditions, "r-1", selected_attempt="r-1-a2")

    results = viewer.derive()

    row = viewer.attempt(owned)
    assert viewer.words(results) == ["rests"]
    assert (row.state, row.derived_version, row.next_action_at) == ("stored", None, None)


def test_a_stale_worker_changes_no_manifest(viewer: Viewer, owned: str) -> None:
    stale = viewer.claim(Stage.DERIVE, "slow")
    viewer.clock.pass_seconds(61)
    viewer.claim(Stage.DERIVE, "fast")

    results = viewer.derive(stale)

    assert viewer.words(results) == ["lost"]
    assert not viewer.rows(schema.derivatives)


def test_a_group_is_derived_side_by_side(viewer: Viewer, owned: str) -> None:
    for number in (2, 3):
        viewer.arrives(f"r-{number}", body=video(viewer.folder, mark=number))
    viewer.retrieve()

    results = viewer.derive(transforms=one_picture())

    assert viewer.words(results) == ["derived"] * 3
    assert len(viewer.rows(schema.derivatives)) == 3
