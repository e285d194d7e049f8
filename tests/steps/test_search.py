from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.tags import Visibility
from pipeline.steps.answer.search import Filters, SearchAnswer, search
from pipeline.steps.produce import publish as publishing
from pipeline.steps.produce import withdraw as withdrawing
from resources.database import schema
from tests.steps.viewer import CAMPAIGN, Viewer

SLOT = f"{CAMPAIGN}/en-GB/16x9/r-1"


def _search(viewer: Viewer, words: str = "", filters: Filters | None = None, **other: Any) -> SearchAnswer:
    return search(viewer.database, viewer.index, "northwind", words, filters, **other)


def _objects(answer: SearchAnswer) -> list[str]:
    return [found.object for found in answer.found]


def test_a_published_video_is_found_by_its_words_and_tags(viewer: Viewer) -> None:
    viewer.amend(tags={"product": ["Parcel Box"]}, title="Spring depot")
    viewer.derived()
    viewer.change(schema.renditions, "r-1", copy="Your parcel, on time.")
    viewer.publish()

    [found] = _search(viewer, "depot PARCEL").found

    assert (found.campaign, found.slot, found.rendition, found.object) == (CAMPAIGN, SLOT, "r-1", "o-r-1-a1")
    assert (found.object_key, found.locale) == ("northwind/renditions/r-1/1.mp4", "en-GB")
    assert found.tags == {"product": ("Parcel Box",)}
    assert _objects(_search(viewer, filters=Filters(tags=("product=parcel box",)))) == ["o-r-1-a1"]
    assert _objects(_search(viewer, filters=Filters(locale="de-DE"))) == []
    assert _objects(_search(viewer, "parcel nowhere")) == []


def test_another_tenant_finds_nothing(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()

    assert search(viewer.database, viewer.index, "southwind").found == ()


def test_waiting_outputs_are_not_found(viewer: Viewer) -> None:
    viewer.amend(publish="on_approval")
    viewer.derived()
    viewer.publish()

    answer = _search(viewer)

    assert (_objects(answer), answer.slots_in_hand_over) == ([], 0)


def _no_answer(*_: Any) -> None:
    raise RuntimeError("killed here")


def test_between_pointer_and_index_the_new_output_is_found_and_the_old_one_is_not(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.derived()
    viewer.publish()
    viewer.derived(number=2)
    viewer.change(schema.renditions, "r-1", selected_attempt="r-1-a2")
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "tell", _no_answer)
        with pytest.raises(RuntimeError):
            viewer.publish()

    answer = _search(viewer, facets=("locale",))

    assert viewer.standings() == {"o-r-1-a1": "current", "o-r-1-a2": "candidate"}
    assert _objects(answer) == ["o-r-1-a2"]
    assert (answer.facets, answer.slots_in_hand_over) == ({"locale": {"en-GB": 1}}, 1)


def test_a_withdrawn_output_is_gone_from_search_at_once(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.derived()
    viewer.publish()
    monkeypatch.setattr(withdrawing, "tell", lambda *_: {})

    withdrawing.withdraw(viewer.database, viewer.index, SLOT, "northwind", actor="ann", reason="recall")

    assert viewer.standings() == {"o-r-1-a1": "current"}
    assert _objects(_search(viewer)) == []


def test_a_narrower_visibility_holds_before_the_index_has_heard_of_it(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    public = Filters(visibility=(Visibility.PUBLIC,))
    before = _objects(_search(viewer, filters=public))

    viewer.amend(visibility="private", tags_version=1)

    assert (before, _objects(_search(viewer, filters=public))) == (["o-r-1-a1"], [])
    assert _search(viewer).found[0].visibility is Visibility.PRIVATE


def test_pages_are_filled_past_outputs_that_are_not_shown(viewer: Viewer) -> None:
    for number in range(1, 7):
        viewer.clock.pass_seconds(1)
        viewer.derived(f"r-{number}")
    viewer.publish()
    hidden = {"publication": None, "published_rendition": None, "published_object": None}
    for number in (5, 6):
        viewer.change(schema.slots, f"{CAMPAIGN}/en-GB/16x9/r-{number}", **hidden)

    first = _search(viewer, limit=2)
    second = _search(viewer, limit=2, cursor=first.cursor)

    assert _objects(first) == ["o-r-4-a1", "o-r-3-a1"]
    assert _objects(second) == ["o-r-2-a1", "o-r-1-a1"]
