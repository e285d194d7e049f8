"""The whole way from reported output to found video, with the invariants after every step."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.steps.answer.search import search
from pipeline.steps.operate.accept import accept, decline
from pipeline.steps.operate.check import seen_entries, seen_objects
from pipeline.steps.operate.roll_back import Target, roll_back
from pipeline.steps.produce.index import sync_index
from pipeline.steps.produce.withdraw import withdraw
from resources.database import schema
from resources.database.index_entries import say_campaign_again
from resources.database.invariants import Snapshot, broken
from resources.database.invariants.owning import OWNING
from resources.database.invariants.showing import SHOWING
from tests.conftest import NOON
from tests.database import rows
from tests.steps.viewer import CAMPAIGN, Viewer, one_picture

SLOT = f"{CAMPAIGN}/en-GB/16x9/r-1"
TENANT = "northwind"


def _what_is_broken(viewer: Viewer) -> list[str]:
    """Of what stands between output and viewer; store and index are looked at as they are."""
    entries = list(seen_entries(viewer.database, viewer.index))
    pictures = [("tiny-1", "tiny")]
    objects = list(seen_objects(viewer.store, reads_bytes=True))
    seen = Snapshot(viewer.clock.at + 1, objects=objects, entries=entries, pictures=pictures)
    with viewer.database.reading() as connection:
        found = broken(
            connection, seen, now=viewer.clock.at, overdue=viewer.clock.at, invariants=[*SHOWING, *OWNING]
        )
        return [f"{one.invariant.id}: {one.subject}: {one.found}" for one in found]


def _select(viewer: Viewer, attempt: str, number: int) -> None:
    selection = {
        "rendition": "r-1", "number": number, "tenant": TENANT, "attempt": attempt, "actor": "ann",
        "reason": "test", "operation_id": f"op-{number}", "at": viewer.clock.at,
    }  # fmt: skip
    rows.insert(viewer.database, schema.selections, selection)
    viewer.change(schema.renditions, "r-1", selected_attempt=attempt)
    if number > 1:
        viewer.change(schema.attempts, f"r-1-a{number - 1}", deselected_at=viewer.clock.at)


def _second_attempt(viewer: Viewer) -> None:
    viewer.attempt_arrives("r-1", 2)
    _select(viewer, "r-1-a2", 2)
    viewer.retrieve()
    viewer.derive(transforms=one_picture())
    viewer.publish()


def _amend(viewer: Viewer) -> None:
    viewer.amend(visibility="internal", tags_version=7)
    viewer.database.run(lambda tx: say_campaign_again(tx, CAMPAIGN))
    sync_index(viewer.database, viewer.index)


def _accept(viewer: Viewer) -> None:
    accept(viewer.database, "r-1", TENANT, actor="ben", reason="fine after all")
    viewer.publish()


STEPS: tuple[tuple[str, Callable[[Viewer], object], list[str]], ...] = (
    ("retrieve", lambda v: v.retrieve(), []),
    ("derive", lambda v: v.derive(transforms=one_picture()), []),
    ("publish", lambda v: v.publish(), ["r-1-a1"]),
    ("amend", _amend, ["r-1-a1"]),
    ("second attempt", _second_attempt, ["r-1-a2"]),
    (
        "roll back",
        lambda v: roll_back(v.database, v.index, SLOT, TENANT, to=Target(1), actor="ann", reason="typo"),
        ["r-1-a1"],
    ),
    ("withdraw", lambda v: withdraw(v.database, v.index, SLOT, TENANT, actor="ann", reason="recall"), []),
    ("accept", _accept, ["r-1-a2"]),
    ("decline", lambda v: decline(v.database, v.index, "r-1", TENANT, actor="ann", reason="no"), []),
)  # fmt: skip


def test_every_step_leaves_the_invariants_whole_and_shows_what_it_should(viewer: Viewer) -> None:
    viewer.arrives()
    _select(viewer, "r-1-a1", 1)

    for name, step, expected in STEPS:
        step(viewer)
        viewer.clock.pass_seconds(5)
        shown = [found.object for found in search(viewer.database, viewer.index, TENANT).found]

        assert _what_is_broken(viewer) == [], name
        assert shown == [viewer.attempt(attempt).object for attempt in expected], name

    assert viewer.usage("retrieved_bytes") == viewer.site.bytes_sent
    assert viewer.site.fetches == {"job-r-1-1": 1, "job-r-1-2": 1}


def test_lots_that_are_repeated_change_nothing_more(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    _select(viewer, attempt, 1)

    for _ in range(3):
        viewer.retrieve()
        viewer.derive(transforms=one_picture())
        viewer.publish()
        viewer.change(schema.attempts, attempt, next_action_at=NOON)

    assert _what_is_broken(viewer) == []
    assert viewer.slot().published_object == viewer.attempt(attempt).object
    assert viewer.site.fetches == {"job-r-1-1": 1}
    assert (len(viewer.rows(schema.publications)), len(viewer.rows(schema.derivatives))) == (1, 1)
