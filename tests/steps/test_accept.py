from __future__ import annotations

import threading

import pytest

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.accept import Said, accept, decline
from resources.database import schema
from tests.steps.viewer import Viewer

TENANT = "northwind"


@pytest.fixture
def waiting(viewer: Viewer) -> str:
    """An output that is indexed and waits for a reviewer."""
    attempt = viewer.derived()
    viewer.amend(publish="on_approval")
    viewer.publish()
    return attempt


def test_an_accepted_output_is_shown_by_the_next_lot(viewer: Viewer, waiting: str) -> None:
    said = accept(viewer.database, "r-1", TENANT, actor="ann", reason="on brand")

    results = viewer.publish()

    [decision] = viewer.rows(schema.decisions)
    assert said is Said.RECORDED
    assert viewer.words(results) == ["published"]
    assert (decision.kind, decision.subject_id, decision.verdict) == ("acceptance", waiting, "accept")
    assert (decision.actor, decision.reason) == ("ann", "on brand")


def test_a_word_that_was_said_already_is_not_said_twice(viewer: Viewer, waiting: str) -> None:
    accept(viewer.database, "r-1", TENANT, actor="ann", reason="on brand")

    again = accept(viewer.database, "r-1", TENANT, actor="ben", reason="me too")

    assert again is Said.UNCHANGED
    assert len(viewer.rows(schema.decisions)) == 1


def test_a_declined_candidate_leaves_the_index_and_is_not_shown(viewer: Viewer, waiting: str) -> None:
    decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="wrong logo")
    viewer.change(schema.attempts, waiting, next_action_at=viewer.clock.at)

    results = viewer.publish()

    assert [(result.word, result.reason) for result in results] == [("unchanged", "declined")]
    assert viewer.standings() == {}
    assert viewer.slot().publication is None


def test_declining_what_is_shown_withdraws_it(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()

    decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="wrong logo")

    newest = max(viewer.rows(schema.publications), key=lambda row: row.number)
    assert (newest.move, newest.object, newest.actor) == ("withdraw", None, "ann")
    assert viewer.slot().publication is None
    assert viewer.standings() == {}


def test_an_output_that_was_declined_can_be_accepted_later(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="wrong logo")
    viewer.clock.pass_seconds(5)

    accept(viewer.database, "r-1", TENANT, actor="ben", reason="logo is right")
    results = viewer.publish()

    assert viewer.words(results) == ["published"]
    assert viewer.standings() == {"o-r-1-a1": "current"}
    assert [row.verdict for row in viewer.rows(schema.decisions)] == ["decline", "accept"]


def test_an_output_can_be_declined_in_automatic_mode_before_it_is_shown(viewer: Viewer) -> None:
    attempt = viewer.derived()
    decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="no")

    results = viewer.publish()

    assert [(result.word, result.reason) for result in results] == [("indexed", "declined")]
    assert viewer.attempt(attempt).state == "indexed"
    assert viewer.slot().publication is None


def test_a_decline_fences_the_lot_that_is_about_to_publish(viewer: Viewer) -> None:
    viewer.derived()
    claimed = viewer.claim(Stage.PUBLISH)
    decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="no")

    results = viewer.publish(claimed)

    assert viewer.words(results) == ["lost"]
    assert viewer.slot().publication is None


def test_a_decline_and_a_publication_at_once_leave_nothing_shown(viewer: Viewer) -> None:
    viewer.derived()
    claimed = viewer.claim(Stage.PUBLISH)
    declining = threading.Thread(
        target=lambda: decline(viewer.database, viewer.index, "r-1", TENANT, actor="ann", reason="no")
    )

    declining.start()
    viewer.publish(claimed)
    declining.join()

    assert viewer.slot().publication is None
    assert "current" not in viewer.standings().values()


def test_there_is_nothing_to_accept_before_there_is_an_output(viewer: Viewer) -> None:
    viewer.derived(state="generating", object=None)

    with pytest.raises(NotAllowed, match="no output yet"):
        accept(viewer.database, "r-1", TENANT, actor="ann", reason="")


def test_what_was_purged_cannot_be_accepted(viewer: Viewer, waiting: str) -> None:
    viewer.change(schema.objects, "o-r-1-a1", state="purged")

    with pytest.raises(NotAllowed, match="purged"):
        accept(viewer.database, "r-1", TENANT, actor="ann", reason="")


def test_another_tenants_output_is_unknown(viewer: Viewer, waiting: str) -> None:
    with pytest.raises(UnknownSubject):
        accept(viewer.database, "r-1", "southwind", actor="eve", reason="")
