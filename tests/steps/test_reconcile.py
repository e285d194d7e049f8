"""E6: each thing that may be left behind is found and mended once, by a legal step that the audit names."""

# ruff: noqa: S608 - statements of our own constants
from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.errors import StoreUnavailable
from pipeline.steps.operate.pause import pause
from pipeline.steps.operate.reconcile import reconcile
from pipeline.steps.operate.reconciled import Done, Finding, Item, ReconcileReport
from pipeline.steps.operate.relay_outbox import relay_outbox
from resources.database import schema
from resources.database.counters import counted
from resources.database.database import Database
from resources.database.sampling import HOUR
from resources.object_store.local import LocalStore
from resources.providers.protocol import Found
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows
from tests.database.sound import HOME, QUEUED, RUNNING, SHOWN, SLOT
from tests.steps.house import House
from tests.steps.upkeep import TINY, WIDER, adapters_of, empty_index, selected, shown, what_is_broken
from tests.steps.viewer import Viewer

LONG_AGO = NOON - 3_600 * SECOND
HOUR_AHEAD = NOON + 3_600 * SECOND


@pytest.fixture
def house(database: Database, clock: Clock, tmp_path: Path) -> House:
    return House(database, tmp_path, clock)


def of(report: ReconcileReport, item: Item) -> list[Finding]:
    return [one for one in report.findings if one.item is item]


#: What breaks one item of the sound installation, and what must be said of it: subject, before, after.
BREAKS: dict[str, tuple[str, Item, str]] = {
    "a queued attempt that is due at no time": (
        f"UPDATE attempts SET next_action_at = NULL WHERE id = '{QUEUED}'",
        Item.STATES,
        QUEUED,
    ),
    "an attempt that is due years ahead": (
        f"UPDATE attempts SET next_action_at = {NOON * 2} WHERE id = '{QUEUED}'",
        Item.STATES,
        QUEUED,
    ),
    "a remote job that nobody will look at": (
        f"UPDATE attempts SET next_poll_at = NULL WHERE id = '{RUNNING}'",
        Item.STATES,
        RUNNING,
    ),
    "a lease that ended long ago": (
        f"UPDATE attempts SET lease_until = {LONG_AGO}, lease_owner = 'dead' WHERE id = '{RUNNING}'",
        Item.LEASES,
        RUNNING,
    ),
    "a lease of a worker whose clock was wrong": (
        f"UPDATE attempts SET lease_until = {NOON * 2}, lease_owner = 'mad' WHERE id = '{QUEUED}'",
        Item.LEASES,
        QUEUED,
    ),
    "a source set's lease that ended long ago": (
        f"UPDATE revisions SET lease_until = {LONG_AGO}, lease_owner = 'dead' WHERE id = '{HOME}/r1'",
        Item.LEASES,
        f"{HOME}/r1",
    ),
    "a lane that counts too many": (
        "UPDATE lanes SET in_flight = 7 WHERE tenant = 'northwind'",
        Item.LANES,
        "local northwind",
    ),
    "a job in flight that holds no place": (
        f"UPDATE attempts SET lane_held = 0 WHERE id = '{RUNNING}'",
        Item.LANES,
        RUNNING,
    ),
    "an ended job that holds a place": (
        f"UPDATE attempts SET lane_held = 1 WHERE id = '{SHOWN}'",
        Item.LANES,
        SHOWN,
    ),
    "messages that nobody relayed": (
        f"UPDATE outbox SET delivered_at = NULL, next_try_at = {LONG_AGO} WHERE topic = 'owned'",
        Item.MESSAGES,
        "owned",
    ),
    "a poll that is long overdue": (
        f"UPDATE attempts SET next_poll_at = {LONG_AGO} WHERE id = '{RUNNING}'",
        Item.POLLS,
        RUNNING,
    ),
    "a lot that never began": (
        f"INSERT INTO lots (stage, number, requested_at, items) VALUES ('derive', 1, {LONG_AGO}, 0)",
        Item.LOTS,
        "derive-1",
    ),
    "a lot whose run died": (
        f"""INSERT INTO lots (stage, number, run_id, requested_at, started_at, items)
        VALUES ('derive', 2, 'run', {LONG_AGO}, {LONG_AGO}, 0)""",
        Item.LOTS,
        "derive-2",
    ),
}


def test_a_sound_installation_gives_nothing_to_mend(house: House) -> None:
    before = rows.rows(house.database, schema.attempts)

    report = house.reconcile()

    assert (report.mended, report.those(Done.FAILED)) == ((), ())
    assert rows.rows(house.database, schema.attempts) == before
    assert house.broken() == []


@pytest.mark.parametrize("broken_by", BREAKS)
def test_what_is_broken_is_mended_once_and_the_invariants_hold(house: House, broken_by: str) -> None:
    statement, item, subject = BREAKS[broken_by]
    house.run(statement)

    first = house.reconcile()
    audit = rows.rows(house.database, schema.audit)
    second = house.reconcile()

    assert subject in {one.subject for one in of(first, item)}
    assert {one.done for one in of(first, item)} == {Done.MENDED}
    assert all(one.why and one.before and one.after for one in first.mended)
    assert second.mended == ()
    assert rows.rows(house.database, schema.audit) == audit
    assert house.broken() == []
    with house.database.reading() as connection:
        assert counted(connection, f"reconciled_{item}") == len(of(first, item))


def test_everything_at_once_is_mended_by_two_that_reconcile_at_once(house: House) -> None:
    for statement, _, _ in BREAKS.values():
        house.run(statement)

    with ThreadPoolExecutor(2) as both:
        reports = list(both.map(lambda _: house.reconcile(), range(2)))
    again = house.reconcile()

    assert all(report.those(Done.FAILED) == () for report in reports)
    assert again.mended == ()
    assert house.broken() == []


@pytest.mark.parametrize(("subject", "reason"), [(QUEUED, "made_due"), (RUNNING, "lease_long_over")])
def test_a_repair_names_actor_reason_and_what_was_observed(house: House, subject: str, reason: str) -> None:
    house.run(f"UPDATE attempts SET next_action_at = NULL WHERE id = '{QUEUED}'")
    house.run(f"UPDATE attempts SET lease_until = 1, lease_owner = 'dead' WHERE id = '{RUNNING}'")
    before = house.attempt(subject)

    house.reconcile()

    link = house.audit(subject)
    assert (link.actor, link.reason, link.version) == ("reconciler", reason, None)
    assert link.detail["observed"] == before.entity_version
    assert house.attempt(subject).version == before.version


def test_a_lease_that_is_taken_away_fences_its_worker(house: House) -> None:
    house.run(f"UPDATE attempts SET lease_until = 1, lease_owner = 'dead' WHERE id = '{QUEUED}'")
    before = house.attempt(QUEUED)

    house.reconcile()

    row = house.attempt(QUEUED)
    assert (row.lease_token, row.lease_until, row.lease_owner) == (before.lease_token + 1, 0, None)


def test_a_place_that_was_held_for_a_send_is_free_again(house: House) -> None:
    house.run(
        f"UPDATE attempts SET lease_until = 1, lease_owner = 'dead', lane_held = 1 WHERE id = '{QUEUED}'"
    )
    house.run("UPDATE lanes SET in_flight = 2")

    house.reconcile()

    assert house.attempt(QUEUED).lane_held == 0
    assert {lane.in_flight for lane in rows.rows(house.database, schema.lanes)} == {1}
    assert house.broken() == []


#: What waits on purpose: none of it may be made due.
RESTS: dict[str, tuple[str, ...]] = {
    "parked over budget": (
        "UPDATE attempts SET next_action_at = NULL",
        f"UPDATE attempts SET parked_reason = 'over_budget' WHERE id = '{QUEUED}'",
    ),
    "leased": (
        "UPDATE attempts SET next_action_at = NULL",
        f"UPDATE attempts SET lease_until = {NOON + SECOND}, lease_owner = 'a' WHERE id = '{QUEUED}'",
    ),
    "not wanted any more": (
        "UPDATE attempts SET next_action_at = NULL",
        "UPDATE slots SET wanted_rendition = NULL WHERE wanted_rendition = 'r-3'",
    ),
    "taken out of its slot by a person": (
        """UPDATE slots SET publication = NULL, published_object = NULL, published_rendition = NULL,
        version = 2 WHERE wanted_rendition = 'r-1'""",
        f"""INSERT INTO publications (id, tenant, slot, number, move, tags_version, tags, from_at, actor,
        reason, operation_id) VALUES ('{SLOT}@2', 'northwind', '{SLOT}', 2, 'withdraw', 0, '{{}}', {NOON},
        'anna', 'recall', 'op')""",
    ),
}


@pytest.mark.parametrize("case", RESTS)
def test_what_rests_on_purpose_is_left_alone(house: House, case: str) -> None:
    for statement in RESTS[case]:
        house.run(statement)

    assert of(house.reconcile(), Item.STATES) == []


def test_an_ended_attempt_whose_retry_was_forgotten_is_retried_by_its_rule(house: House) -> None:
    house.run(
        f"UPDATE attempts SET state = 'failed', outcome_class = 'provider_fault', next_action_at = NULL "
        f"WHERE id = '{QUEUED}'"
    )

    [found] = of(house.reconcile(), Item.STATES)

    assert (found.subject, found.why.split(":")[0]) == (QUEUED, "retry_by_itself")
    assert house.attempt(QUEUED).next_action_at == NOON


def test_a_round_that_was_never_judged_is_due(house: House) -> None:
    house.run(f"UPDATE revisions SET state = 'moderating', round = 2 WHERE id = '{HOME}/r1'")

    [found] = of(house.reconcile(), Item.STATES)

    assert (found.subject, found.done) == (f"{HOME}/r1", Done.MENDED)
    assert rows.read(house.database, schema.revisions, f"{HOME}/r1").next_action_at == NOON


def test_paused_polling_is_not_overdue(house: House) -> None:
    house.run(f"UPDATE attempts SET next_poll_at = {LONG_AGO} WHERE id = '{RUNNING}'")
    pause(house.database, stage="poll", provider="*", tenant="*", actor="anna", reason="incident")

    assert of(house.reconcile(), Item.POLLS) == []


def test_a_lot_whose_run_is_known_to_be_over_is_closed_at_once(house: House) -> None:
    house.run(
        f"INSERT INTO lots (stage, number, run_id, requested_at, started_at, items) "
        f"VALUES ('derive', 1, 'dead', {NOON}, {NOON}, 0), ('publish', 1, 'alive', {NOON}, {NOON}, 0)"
    )

    report = reconcile(house.adapters, NOON, lambda run_id: run_id == "dead")

    assert [one.subject for one in of(report, Item.LOTS)] == ["derive-1"]


def test_a_dead_letter_waits_for_a_person(house: House) -> None:
    house.run("UPDATE outbox SET delivered_at = NULL, dead_at = 1, last_error = 'unknown topic'")

    found = of(house.reconcile(), Item.MESSAGES)

    assert {(one.done, one.why) for one in found} == {(Done.LISTED, "unknown topic")}


def test_a_remote_job_that_nobody_knows_is_kept_as_evidence_once(house: House) -> None:
    house.run(f"UPDATE sends SET at = {NOON}")
    house.provider.jobs = [
        Found(f"job-{RUNNING}", RUNNING), Found("job-twice", RUNNING), Found("job-strange", "nobody"),
    ]  # fmt: skip

    first, second = of(house.reconcile(), Item.JOBS), of(house.reconcile(), Item.JOBS)

    assert {(one.subject, one.done) for one in first} == {
        ("local job-twice", Done.MENDED), ("local job-strange", Done.LISTED),
    }  # fmt: skip
    assert [one.subject for one in second] == ["local job-strange"]
    [kept] = [job for job in rows.rows(house.database, schema.remote_jobs) if job.handle == "job-twice"]
    assert (kept.attempt, kept.bound, kept.found_by) == (RUNNING, 0, "listing")


def test_old_temporary_objects_are_deleted_and_young_ones_stay(house: House) -> None:
    for name, hours in (("1-old", 25), ("2-young", 23)):
        house.lay(f".tmp/{name}", b"part", age_seconds=hours * 3_600)

    [found] = of(house.reconcile(), Item.TEMPORARY)

    assert (found.subject, found.done) == (".tmp/1-old", Done.MENDED)
    assert [one.key for one in house.store.list_temporary()] == [".tmp/2-young"]


def test_what_dead_workers_left_in_the_spool_is_removed(house: House) -> None:
    spool = house.folder / "spool"
    (spool / "intake-999999999-x").mkdir(parents=True)
    (spool / f"{QUEUED}.7.video").write_bytes(b"half")

    found = of(house.reconcile(), Item.SPOOL)

    assert {one.subject for one in found} == {"files of attempts", "folders of intakes"}
    assert list(spool.iterdir()) == []


def test_objects_that_nobody_needs_are_listed_and_stay(house: House) -> None:
    house.run(f"UPDATE objects SET created_at = {NOON - 30 * HOUR}")
    house.run("DELETE FROM object_uses WHERE object = 'o-source'")

    [found] = of(house.reconcile(), Item.UNUSED)

    assert (found.subject, found.done) == ("o-source", Done.LISTED)
    assert rows.read(house.database, schema.objects, "o-source").state == "live"


def test_a_look_that_fails_holds_up_no_other(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> Any:
        raise StoreUnavailable("unreachable", "no answer")

    monkeypatch.setattr(LocalStore, "list_temporary", fails)
    (house.folder / "spool").mkdir()
    (house.folder / "spool" / f"{QUEUED}.7.video").write_bytes(b"half")

    report = house.reconcile()

    assert [(one.item, one.why) for one in report.those(Done.FAILED)] == [
        (Item.TEMPORARY, "StoreUnavailable")
    ]
    assert of(report, Item.SPOOL) != []


def test_the_report_names_every_item_also_where_nothing_was_found(house: House) -> None:
    assert set(house.reconcile().counts) == {str(item) for item in Item}


def _forgotten(viewer: Viewer, attempt: str) -> None:
    entry = viewer.entry(attempt)
    viewer.change(schema.index_entries, entry.id, version=entry.version + 1)


def _lost_by_the_index(viewer: Viewer, attempt: str) -> None:
    empty_index(viewer)


def _overdue(viewer: Viewer, attempt: str) -> None:
    entry, long_ago = viewer.entry(attempt), viewer.clock.at - 3_600 * SECOND
    viewer.change(schema.index_entries, entry.id, version=entry.version + 1, next_action_at=long_ago)


@pytest.mark.parametrize("breaks", [_forgotten, _lost_by_the_index, _overdue])
def test_an_entry_that_the_index_does_not_say_is_told_again(
    viewer: Viewer, breaks: Callable[[Viewer, str], None]
) -> None:
    [attempt] = shown(viewer, "r-1")
    breaks(viewer, attempt)

    first = reconcile(adapters_of(viewer), viewer.clock.at)
    second = reconcile(adapters_of(viewer), viewer.clock.at)

    [found] = of(first, Item.ENTRIES)
    assert (found.subject, found.done, found.after) == (attempt, Done.MENDED, "visible")
    assert viewer.standings() == {viewer.attempt(attempt).object: "current"}
    assert second.mended == ()
    assert what_is_broken(viewer, TINY) == []


def test_an_entry_that_the_index_refuses_waits_for_a_person(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    entry = viewer.entry(attempt)
    viewer.change(schema.index_entries, entry.id, version=entry.version + 1, refused_reason="tag x")

    [found] = of(reconcile(adapters_of(viewer), viewer.clock.at), Item.ENTRIES)

    assert (found.done, found.subject) == (Done.LISTED, attempt)


def test_a_set_of_pictures_that_lost_one_is_made_whole(viewer: Viewer) -> None:
    [attempt] = shown(viewer, "r-1")
    [picture] = viewer.rows(schema.derivatives)
    key = rows.read(viewer.database, schema.objects, picture.object).key
    viewer.store.delete(key)
    viewer.change(schema.objects, picture.object, state="purged", purged_at=viewer.clock.at)
    viewer.clock.pass_seconds(1)

    first = reconcile(adapters_of(viewer), viewer.clock.at)
    second = reconcile(adapters_of(viewer), viewer.clock.at)

    [found] = of(first, Item.PICTURES)
    assert (found.subject, found.done) == (attempt, Done.MENDED)
    assert viewer.store.exists(key)
    assert second.mended == ()
    assert what_is_broken(viewer, TINY) == []


def test_an_older_transform_version_is_listed_and_nothing_is_made_or_removed(viewer: Viewer) -> None:
    shown(viewer, "r-1")
    before = viewer.rows(schema.derivatives)

    report = reconcile(adapters_of(viewer, transforms=WIDER), viewer.clock.at)

    [found] = of(report, Item.VERSIONS)
    assert (found.subject, found.done) == ("tiny-1", Done.LISTED)
    assert re.fullmatch(r"1 pictures, \d+ bytes, 1 attempts show it", found.before)
    assert of(report, Item.PICTURES) == []
    assert viewer.rows(schema.derivatives) == before


@pytest.mark.parametrize("state", ["stored", "indexed"])
def test_an_owned_output_that_nobody_shows_is_due_and_the_lot_shows_it(viewer: Viewer, state: str) -> None:
    attempt = viewer.arrives(body=viewer.clip)
    selected(viewer, "r-1")
    viewer.retrieve()
    viewer.derive(transforms=TINY)
    if state == "indexed":
        viewer.amend(publish="on_approval")
        viewer.publish()
        viewer.amend(publish="auto")
    else:
        relay_outbox(viewer.database)
        viewer.change(schema.attempts, attempt, next_action_at=None)

    report = reconcile(adapters_of(viewer), viewer.clock.at)
    viewer.publish()

    assert [one.subject for one in of(report, Item.STATES)] == [attempt]
    assert viewer.slot().published_object == viewer.attempt(attempt).object
    assert reconcile(adapters_of(viewer), viewer.clock.at).mended == ()


def test_what_waits_for_a_reviewer_or_was_declined_is_left_alone(viewer: Viewer) -> None:
    viewer.arrives(body=viewer.clip)
    selected(viewer, "r-1")
    viewer.amend(publish="on_approval")
    viewer.retrieve()
    viewer.derive(transforms=TINY)
    viewer.publish()

    assert of(reconcile(adapters_of(viewer), viewer.clock.at), Item.STATES) == []
