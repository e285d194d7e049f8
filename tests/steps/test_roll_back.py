from __future__ import annotations

import threading
from typing import Any

import pytest

from pipeline.domain.errors import IndexUnavailable, NotAllowed, UnknownSubject
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.accept import decline
from pipeline.steps.operate.roll_back import RolledBack, Target, roll_back
from pipeline.steps.produce.withdraw import withdraw
from resources.database import schema
from tests.database import rows
from tests.steps.test_publish import DeadIndex
from tests.steps.viewer import CAMPAIGN, Viewer

SLOT = f"{CAMPAIGN}/en-GB/16x9/r-1"


@pytest.fixture
def replaced(viewer: Viewer) -> Viewer:
    """A slot that showed rendition r-1 and shows r-2 now."""
    viewer.derived("r-1")
    viewer.publish()
    viewer.clock.pass_seconds(5)
    viewer.derived("r-2")
    viewer.change(schema.renditions, "r-2", slot=SLOT)
    viewer.wants(SLOT, "r-2")
    viewer.publish()
    viewer.clock.pass_seconds(5)
    return viewer


def _roll_back(viewer: Viewer, to: Target, **other: Any) -> RolledBack:
    asked: dict[str, Any] = {"to": to, "actor": "ann", "reason": "typo in the new one"}
    return roll_back(viewer.database, viewer.index, SLOT, "northwind", **(asked | other))


@pytest.mark.parametrize("to", [Target(number=1), Target(rendition="r-1")], ids=str)
def test_an_earlier_output_is_shown_and_wanted_again(replaced: Viewer, to: Target) -> None:
    rolled = _roll_back(replaced, to)

    slot, newest = replaced.slot(), max(replaced.rows(schema.publications), key=lambda row: row.number)
    assert rolled is RolledBack.MOVED
    assert (slot.published_object, slot.wanted_rendition) == ("o-r-1-a1", "r-1")
    assert (newest.move, newest.actor, newest.reason) == ("roll_back", "ann", "typo in the new one")
    assert replaced.rows(schema.slot_wants)[-1].rendition == "r-1"
    assert replaced.standings() == {"o-r-1-a1": "current"}


def test_rolling_back_twice_is_once(replaced: Viewer) -> None:
    _roll_back(replaced, Target(number=1))

    again = _roll_back(replaced, Target(number=1))

    assert again is RolledBack.UNCHANGED
    assert len(replaced.rows(schema.publications)) == 3


def test_what_was_rolled_back_from_does_not_come_back_by_itself(replaced: Viewer) -> None:
    _roll_back(replaced, Target(number=1))
    for attempt in ("r-1-a1", "r-2-a1"):
        replaced.change(schema.attempts, attempt, next_action_at=replaced.clock.at)

    words = {result.subject: result.word for result in replaced.publish()}

    assert words == {"r-1-a1": "unchanged", "r-2-a1": "rests"}
    assert replaced.slot().published_object == "o-r-1-a1"


def test_a_later_attempt_of_the_same_rendition_stays_rolled_back_from(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    viewer.derived(number=2)
    viewer.change(schema.renditions, "r-1", selected_attempt="r-1-a2")
    viewer.publish()
    viewer.clock.pass_seconds(5)

    _roll_back(viewer, Target(number=1))
    viewer.change(schema.attempts, "r-1-a2", next_action_at=viewer.clock.at)
    results = viewer.publish()

    assert [(result.word, result.reason) for result in results] == [("unchanged", "held")]
    assert viewer.slot().published_object == "o-r-1-a1"


def test_a_new_revision_ends_the_roll_back(replaced: Viewer) -> None:
    _roll_back(replaced, Target(number=1))
    replaced.clock.pass_seconds(5)
    replaced.wants(SLOT, "r-2")
    replaced.change(schema.attempts, "r-2-a1", next_action_at=replaced.clock.at)

    results = replaced.publish()

    assert replaced.words(results) == ["published"]
    assert replaced.slot().published_object == "o-r-2-a1"


def test_what_is_wanted_no_more_and_not_sent_is_cancelled(replaced: Viewer) -> None:
    rows.rendition(replaced.database, CAMPAIGN, "r-3")
    unsent = rows.attempt(replaced.database, CAMPAIGN, "r-3")
    replaced.wants(SLOT, "r-3")

    _roll_back(replaced, Target(rendition="r-1"))

    assert replaced.attempt(unsent).state == "cancelled"


def test_a_withdrawn_slot_can_be_rolled_back_to_what_it_showed(replaced: Viewer) -> None:
    withdraw(replaced.database, replaced.index, SLOT, "northwind", actor="ann", reason="recall")

    _roll_back(replaced, Target(rendition="r-2"))

    assert replaced.slot().published_object == "o-r-2-a1"
    assert replaced.standings() == {"o-r-2-a1": "current"}


def test_a_declined_output_cannot_be_rolled_back_to(replaced: Viewer) -> None:
    decline(replaced.database, replaced.index, "r-1", "northwind", actor="ann", reason="no")

    with pytest.raises(NotAllowed, match="declined"):
        _roll_back(replaced, Target(number=1))

    assert replaced.slot().published_object == "o-r-2-a1"


def test_a_purged_output_cannot_be_rolled_back_to(replaced: Viewer) -> None:
    replaced.change(schema.objects, "o-r-1-a1", state="purged")

    with pytest.raises(NotAllowed, match="purged"):
        _roll_back(replaced, Target(number=1))


def test_a_publication_that_never_was_is_unknown(replaced: Viewer) -> None:
    with pytest.raises(UnknownSubject):
        _roll_back(replaced, Target(number=9))
    with pytest.raises(UnknownSubject):
        roll_back(
            replaced.database, replaced.index, SLOT, "southwind", to=Target(number=1), actor="eve", reason=""
        )


def test_nothing_moves_while_the_index_cannot_show_it(replaced: Viewer) -> None:
    dead = DeadIndex(replaced.database.engine, replaced.database.engine)

    with pytest.raises(IndexUnavailable):
        roll_back(replaced.database, dead, SLOT, "northwind", to=Target(number=1), actor="ann", reason="typo")

    assert replaced.slot().published_object == "o-r-2-a1"
    assert replaced.slot().wanted_rendition == "r-2"


def test_a_publication_that_was_under_way_does_not_undo_a_roll_back(replaced: Viewer) -> None:
    replaced.derived("r-3")
    replaced.change(schema.renditions, "r-3", slot=SLOT)
    replaced.wants(SLOT, "r-3")
    claimed = replaced.claim(Stage.PUBLISH)

    _roll_back(replaced, Target(number=1))
    results = replaced.publish(claimed)

    assert "published" not in replaced.words(results)
    assert replaced.slot().published_object == "o-r-1-a1"


def test_a_roll_back_and_a_publication_at_once_end_as_rolled_back(replaced: Viewer) -> None:
    replaced.derived("r-3")
    replaced.change(schema.renditions, "r-3", slot=SLOT)
    replaced.wants(SLOT, "r-3")
    claimed = replaced.claim(Stage.PUBLISH)
    rolling = threading.Thread(target=lambda: _roll_back(replaced, Target(number=1)))

    rolling.start()
    replaced.publish(claimed)
    rolling.join()

    chain = sorted(replaced.rows(schema.publications), key=lambda row: row.number)
    assert replaced.slot().published_object == "o-r-1-a1"
    assert [row.number for row in chain] == list(range(1, len(chain) + 1))
    assert [row.until_at is None for row in chain] == [False] * (len(chain) - 1) + [True]
