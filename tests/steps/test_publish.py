from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.domain.errors import IndexUnavailable
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.accept import accept
from pipeline.steps.produce import publish as publishing
from pipeline.steps.produce.index import sync_index
from pipeline.steps.produce.withdraw import withdraw
from resources.database import schema
from resources.database.index_entries import say_campaign_again
from resources.database.outputs import outputs
from resources.database.publications import PointerMove, PublicationMove, Shown, move_pointer
from resources.tag_index.protocol import Change, Outcome, WriteResult
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import NOON
from tests.database import rows
from tests.steps.viewer import CAMPAIGN, Viewer

SLOT = f"{CAMPAIGN}/en-GB/16x9/r-1"


def test_a_derived_output_is_indexed_and_shown(viewer: Viewer) -> None:
    attempt = viewer.derived()

    results = viewer.publish()

    row, slot, [shown] = viewer.attempt(attempt), viewer.slot(), viewer.rows(schema.publications)
    assert viewer.words(results) == ["published"]
    assert (row.state, row.version, row.next_action_at, row.lease_until) == ("indexed", 1, None, 0)
    assert (slot.publication, slot.published_rendition, slot.published_object) == (
        shown.id,
        "r-1",
        "o-r-1-a1",
    )
    assert (shown.number, shown.move, shown.attempt, shown.until_at) == (1, "publish", attempt, None)
    assert shown.tags == {
        "tenant": "northwind", "campaign": CAMPAIGN, "locale": "en-GB",
        "asset_type": "marketing-video", "visibility": "public", "retention_class": "standard",
    }  # fmt: skip
    assert viewer.standings() == {"o-r-1-a1": "current"}
    assert viewer.entry(attempt).synced_version == viewer.entry(attempt).version == 2


def test_a_pointer_move_is_a_link_of_the_slots_audit_chain(viewer: Viewer) -> None:
    viewer.derived()

    viewer.publish()

    [link] = [row for row in viewer.rows(schema.audit) if row.subject_kind == "slot"]
    assert (link.from_state, link.to_state, link.version) == (None, f"{SLOT}@1", 1)
    assert "wish_changed" in viewer.topics()


def test_publishing_again_is_a_no_op(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.publish()
    viewer.change(schema.attempts, attempt, next_action_at=NOON)

    results = viewer.publish()

    assert viewer.words(results) == ["unchanged"]
    assert len(viewer.rows(schema.publications)) == 1


def test_an_output_that_waits_for_approval_is_a_candidate(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.amend(publish="on_approval")

    results = viewer.publish()

    assert [(result.word, result.reason) for result in results] == [("indexed", "awaits_acceptance")]
    assert viewer.attempt(attempt).state == "indexed"
    assert viewer.slot().publication is None
    assert viewer.standings() == {"o-r-1-a1": "candidate"}


def test_an_output_that_came_in_spite_of_a_cancellation_is_not_shown(viewer: Viewer) -> None:
    attempt = viewer.derived(cancel_wanted_at=NOON)

    results = viewer.publish()

    assert [(result.word, result.reason) for result in results] == [("indexed", "cancel_wanted")]
    assert viewer.slot().publication is None
    accept(viewer.database, "r-1", "northwind", actor="ann", reason="good after all")
    assert viewer.words(viewer.publish()) == ["published"]
    assert viewer.slot().published_object == viewer.attempt(attempt).object


def test_a_newer_output_replaces_the_old_one_and_its_entry(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    viewer.derived(number=2)
    viewer.change(schema.renditions, "r-1", selected_attempt="r-1-a2")

    viewer.publish()

    first, second = sorted(viewer.rows(schema.publications), key=lambda row: row.number)
    assert (first.until_at, second.object) == (NOON, "o-r-1-a2")
    assert viewer.standings() == {"o-r-1-a2": "current"}
    assert viewer.entry("r-1-a1").standing == "tombstone"


def test_a_late_attempt_never_publishes(viewer: Viewer) -> None:
    late = viewer.derived()
    viewer.derived(number=2)
    viewer.change(schema.renditions, "r-1", selected_attempt="r-1-a2")

    results = {result.subject: result.word for result in viewer.publish()}

    assert results == {late: "rests", "r-1-a2": "published"}
    assert viewer.attempt(late).state == "stored"
    assert viewer.slot().published_object == "o-r-1-a2"
    assert viewer.standings() == {"o-r-1-a2": "current"}


def test_an_output_that_its_slot_does_not_want_rests(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.change(schema.slots, SLOT, wanted_rendition="r-9")

    results = viewer.publish()

    assert viewer.words(results) == ["rests"]
    assert viewer.attempt(attempt).next_action_at is None
    assert viewer.slot().publication is None


@pytest.mark.parametrize(
    ("table", "subject", "change"),
    [
        (schema.slots, SLOT, {"version": 7}),
        (schema.slots, SLOT, {"wanted_rendition": "r-9"}),
        (schema.renditions, "r-1", {"selected_attempt": "r-1-a9"}),
        (schema.objects, "o-r-1-a1", {"state": "purging"}),
    ],
    ids=["moved", "not_wanted", "not_selected", "purging"],
)
def test_the_pointers_guard_holds_by_itself(
    viewer: Viewer, table: Any, subject: str, change: dict[str, Any]
) -> None:
    move = _publish_move(viewer)
    viewer.change(table, subject, **change)

    moved = viewer.database.run(lambda tx: move_pointer(tx, move))

    assert not moved
    assert viewer.slot().publication is None
    assert not viewer.rows(schema.publications)
    assert [row.value for row in viewer.rows(schema.counters) if row.name == "slot_stale"] == [1]


def test_the_pointers_guard_holds_against_a_decline(viewer: Viewer) -> None:
    move = _publish_move(viewer)
    rows.insert(viewer.database, schema.decisions, _verdict("accept"), _verdict("decline"))

    assert not viewer.database.run(lambda tx: move_pointer(tx, move))


def _verdict(verdict: str) -> dict[str, Any]:
    return {
        "tenant": "northwind", "kind": "acceptance", "subject_kind": "attempt", "subject_id": "r-1-a1",
        "verdict": verdict, "policy_version": "", "reason": "", "actor": "", "detail": {},
        "operation_id": "", "at": NOON,
    }  # fmt: skip


def _publish_move(viewer: Viewer) -> PointerMove:
    attempt = viewer.derived()
    with viewer.database.reading() as connection:
        output = outputs(connection, [attempt])[attempt]
    to = Shown("r-1", attempt, output.object, "e-1", 0)
    return PointerMove(output, PublicationMove.PUBLISH, to, "publisher", "test")


def test_of_two_equal_moves_one_wins(viewer: Viewer) -> None:
    move = _publish_move(viewer)

    first = viewer.database.run(lambda tx: move_pointer(tx, move))
    second = viewer.database.run(lambda tx: move_pointer(tx, move))

    assert (first, second) == (True, False)
    assert len(viewer.rows(schema.publications)) == 1


def test_a_stale_worker_publishes_nothing(viewer: Viewer) -> None:
    viewer.derived()
    stale = viewer.claim(Stage.PUBLISH, "slow")
    viewer.clock.pass_seconds(61)
    viewer.claim(Stage.PUBLISH, "fast")

    results = viewer.publish(stale)

    assert viewer.words(results) == ["lost"]
    assert viewer.slot().publication is None
    assert viewer.standings() == {"o-r-1-a1": "candidate"}


class DeadIndex(SqlTagIndex):
    """An index that does not answer."""

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        raise IndexUnavailable(f"no answer to {len(changes)} changes")


class RefusingIndex(SqlTagIndex):
    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        return tuple(
            WriteResult(change.entry_id, Outcome.REFUSED, "tag product is blank") for change in changes
        )


class ForgetfulIndex(SqlTagIndex):
    """Says written, and shows nothing."""

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        return tuple(WriteResult(change.entry_id, Outcome.WRITTEN) for change in changes)


def _with(viewer: Viewer, kind: type[SqlTagIndex]) -> SqlTagIndex:
    return kind(viewer.database.engine, viewer.database.engine)


@pytest.mark.parametrize("kind", [DeadIndex, ForgetfulIndex])
def test_nothing_is_shown_before_the_index_shows_it(viewer: Viewer, kind: type[SqlTagIndex]) -> None:
    attempt = viewer.derived()

    results = viewer.publish(index=_with(viewer, kind))

    row = viewer.attempt(attempt)
    assert viewer.words(results) == ["postponed"]
    assert (row.state, viewer.slot().publication) == ("stored", None)
    assert row.next_action_at > NOON
    viewer.clock.pass_seconds(60)
    assert viewer.words(viewer.publish()) == ["published"]


def test_what_the_index_refuses_for_good_is_parked_with_the_reason(viewer: Viewer) -> None:
    attempt = viewer.derived()

    results = viewer.publish(index=_with(viewer, RefusingIndex))

    row = viewer.attempt(attempt)
    assert viewer.words(results) == ["parked"]
    assert (row.parked_reason, row.outcome_reason) == ("unindexable", "tag product is blank")
    assert viewer.entry(attempt).refused_reason == "tag product is blank"
    assert viewer.slot().publication is None


def test_a_crash_between_pointer_and_index_is_caught_up_with(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.derived()
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "tell", _dies)
        with pytest.raises(RuntimeError):
            viewer.publish()
    before = viewer.standings()

    told = sync_index(viewer.database, viewer.index)

    assert viewer.slot().published_object == "o-r-1-a1"
    assert before == {"o-r-1-a1": "candidate"}
    assert (dict(told), viewer.standings()) == ({"visible": 1}, {"o-r-1-a1": "current"})
    assert not sync_index(viewer.database, viewer.index)


def _dies(*_: Any) -> None:
    raise RuntimeError("killed here")


def test_a_crash_between_candidate_and_pointer_begins_again(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = viewer.derived()
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "note", _dies)
        with pytest.raises(RuntimeError):
            viewer.publish()
    viewer.clock.pass_seconds(61)

    results = viewer.publish()

    assert viewer.words(results) == ["published"]
    assert viewer.entry(attempt).version == 2


def test_an_index_that_is_down_after_the_pointer_moved_hears_of_it_later(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()

    withdraw(viewer.database, _with(viewer, DeadIndex), SLOT, "northwind", actor="ann", reason="recall")
    waiting = viewer.standings()
    viewer.clock.pass_seconds(60)
    sync_index(viewer.database, viewer.index)

    assert (waiting, viewer.standings()) == ({"o-r-1-a1": "current"}, {})


def test_a_withdrawn_output_is_not_shown_again_by_itself(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.publish()
    viewer.clock.pass_seconds(5)

    withdrawn = withdraw(viewer.database, viewer.index, SLOT, "northwind", actor="ann", reason="recall")
    viewer.change(schema.attempts, attempt, next_action_at=NOON)
    results = viewer.publish()

    assert withdrawn
    assert [(result.word, result.reason) for result in results] == [("unchanged", "held")]
    assert viewer.slot().publication is None
    assert [row.move for row in viewer.rows(schema.publications)] == ["publish", "withdraw"]
    assert not withdraw(viewer.database, viewer.index, SLOT, "northwind", actor="ann", reason="again")


def test_a_withdrawn_output_is_shown_when_its_slot_wants_it_anew(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.publish()
    withdraw(viewer.database, viewer.index, SLOT, "northwind", actor="ann", reason="recall")
    viewer.clock.pass_seconds(5)
    viewer.wants(SLOT, "r-1")
    viewer.change(schema.attempts, attempt, next_action_at=NOON)

    results = viewer.publish()

    assert viewer.words(results) == ["published"]
    assert viewer.standings() == {"o-r-1-a1": "current"}


def test_changed_required_tags_reach_what_is_shown_as_a_retag(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    viewer.amend(visibility="internal", tags_version=1)
    viewer.database.run(lambda tx: say_campaign_again(tx, CAMPAIGN))

    told = sync_index(viewer.database, viewer.index)

    newest = max(viewer.rows(schema.publications), key=lambda row: row.number)
    [entry] = viewer.index.get("northwind", [viewer.entry("r-1-a1").id]).values()
    assert (newest.move, newest.object, newest.tags_version) == ("retag", "o-r-1-a1", 1)
    assert newest.tags["visibility"] == entry.visibility == "internal"
    assert viewer.standings() == {"o-r-1-a1": "current"}
    assert (dict(told), sync_index(viewer.database, viewer.index)) == ({"visible": 1}, {})


def test_a_lot_that_meets_changed_required_tags_makes_the_retag_due(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.publish()
    viewer.amend(retention_class="short", tags_version=1)
    viewer.change(schema.attempts, attempt, next_action_at=NOON)

    results = viewer.publish()
    sync_index(viewer.database, viewer.index)

    assert viewer.words(results) == ["unchanged"]
    assert [row.move for row in viewer.rows(schema.publications)] == ["publish", "retag"]


def test_changed_free_tags_are_told_without_a_publication(viewer: Viewer) -> None:
    attempt = viewer.derived()
    viewer.publish()
    viewer.amend(tags={"product": ["parcel"]})
    viewer.database.run(lambda tx: say_campaign_again(tx, CAMPAIGN))

    sync_index(viewer.database, viewer.index)

    entry = viewer.index.get("northwind", [viewer.entry(attempt).id])[viewer.entry(attempt).id]
    assert entry.tags == {"product": ("parcel",)}
    assert len(viewer.rows(schema.publications)) == 1


def test_the_campaigns_receipt_is_due_once_every_wish_is_ready(viewer: Viewer) -> None:
    viewer.derived("r-1")
    viewer.derived("r-2")
    _revision_with_wishes(viewer, "r-1", "r-2")
    both = viewer.claim(Stage.PUBLISH)

    viewer.publish(both[:1])
    before = viewer.topics()
    viewer.publish(both[1:])

    assert "campaign_complete" not in before
    assert "campaign_complete" in viewer.topics()


def _revision_with_wishes(viewer: Viewer, *renditions: str) -> None:
    revision = {
        "id": f"{CAMPAIGN}/r1", "tenant": "northwind", "campaign": CAMPAIGN, "number": 1, "creative": {},
        "creative_sha256": "c", "state": "approved", "submit_mode": "manual", "actor": "ann", "created_at": 0,
    }  # fmt: skip
    rows.insert(viewer.database, schema.revisions, revision)
    for name in renditions:
        wish = {
            "id": f"{CAMPAIGN}/r1/{name}", "tenant": "northwind", "campaign": CAMPAIGN,
            "revision": revision["id"], "slot": f"{CAMPAIGN}/en-GB/16x9/{name}", "variant": name,
            "rendition": name, "origin": "made",
        }  # fmt: skip
        rows.insert(viewer.database, schema.wishes, wish)
