"""E5: each check passes on what is sound, and names what broke it: campaign, reason, next action, cost."""

# ruff: noqa: S608 - statements of our own constants
from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from pipeline.domain.errors import IndexUnavailable, StoreUnavailable
from pipeline.steps.operate import check_outside
from pipeline.steps.operate.check_ages import LIMITS
from pipeline.steps.operate.checked import CheckResult, Severity
from pipeline.steps.operate.checks import CHECKS, NAMED, Name, checks, run_check
from pipeline.steps.operate.pause import pause
from pipeline.steps.operate.reconciled import Item
from pipeline.steps.produce.index import sync_index
from pipeline.steps.produce.telling import tell
from resources.database import schema
from resources.database.database import Database
from resources.database.invariants import INVARIANTS
from resources.database.invariants.owning import IMPORT_WINDOW
from resources.database.sampling import HOUR
from resources.object_store.local import LocalStore
from resources.tag_index.sql import SqlTagIndex
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows
from tests.database.sound import HOME, PICTURE, QUEUED, RUNNING, SHOWN, SLOT, VIDEO
from tests.steps.house import House

DAY_AGO = NOON - 86_400 * SECOND


@pytest.fixture
def house(database: Database, clock: Clock, tmp_path: Path) -> House:
    return House(database, tmp_path, clock)


def failed(house: House) -> dict[str, CheckResult]:
    return {one.name: one for one in checks(house.adapters) if not one.passed}


def test_every_invariant_belongs_to_exactly_one_check() -> None:
    named = Counter(name for check in CHECKS.values() for name in check.invariants)

    assert named == Counter(one.id for one in INVARIANTS)


def test_what_is_sound_passes_every_check(house: House) -> None:
    results = checks(house.adapters)

    assert [one.name for one in results] == [str(name) for name in Name]
    assert [(one.name, one.rows) for one in results if not one.passed] == []
    assert all(one.says and one.remedy and one.looked_at for one in results)


#: One poisoned row for each check over the database alone, and the row, campaign and severity it must name.
POISONS: dict[Name, tuple[str, str, Severity]] = {
    Name.PUBLISH: (f"UPDATE slots SET published_object = 'x' WHERE id = '{SLOT}'", SLOT, Severity.ERROR),
    Name.OBJECTS: (f"DELETE FROM object_uses WHERE object = '{VIDEO}'", SHOWN, Severity.ERROR),
    Name.MANIFESTS: ("UPDATE derivatives SET name = 'large'", SHOWN, Severity.ERROR),
    Name.ATTEMPTS: (f"UPDATE attempts SET handle = NULL WHERE id = '{RUNNING}'", RUNNING, Severity.ERROR),
    Name.MONEY: ("UPDATE budgets SET held = 6", HOME, Severity.ERROR),
    Name.AUDIT: (f"UPDATE audit SET reason = '' WHERE subject_id = '{RUNNING}'", RUNNING, Severity.ERROR),
}


@pytest.mark.parametrize("name", POISONS)
def test_a_poisoned_row_fails_its_check_and_is_named(house: House, name: Name) -> None:
    statement, subject, severity = POISONS[name]
    house.run(statement)

    found = failed(house)[name]

    row = next(one for one in found.rows if one.subject == subject)
    assert (found.severity, row.severity, row.campaign) == (severity, severity, HOME)
    assert row.reason.partition(":")[0] in CHECKS[name].invariants
    assert row.next_action


def test_an_overdue_job_is_named_with_what_it_may_cost(house: House) -> None:
    house.run(f"UPDATE attempts SET deadline_at = {NOON - SECOND} WHERE id = '{RUNNING}'")
    _wish(house, "r-2")

    [row] = failed(house)[Name.ATTEMPTS].rows

    assert (row.subject, row.reason) == (RUNNING, "generating: past its deadline")
    assert row.next_action == "continue_polling: the remote job has not ended"
    assert (row.cost_at_risk, row.currency, row.severity) == (5, "EUR", Severity.WARN)


def _wish(house: House, rendition: str) -> None:
    wish = {
        "id": f"{HOME}/r1/{rendition}", "tenant": "northwind", "campaign": HOME, "revision": f"{HOME}/r1",
        "slot": f"{HOME}/en-GB/16x9/{rendition}", "variant": rendition, "rendition": rendition,
        "origin": "made",
    }  # fmt: skip
    rows.insert(house.database, schema.wishes, wish)


def test_an_unfinished_revision_names_its_wishes_the_failed_one_first(house: House) -> None:
    _wish(house, "r-2")
    _wish(house, "r-3")
    house.run(f"UPDATE attempts SET state = 'failed', outcome_reason = 'bad_input' WHERE id = '{QUEUED}'")

    found = failed(house)[Name.REVISIONS]

    first, second = found.rows
    assert (found.count, found.severity) == (2, Severity.WARN)
    assert (first.subject, first.reason) == (f"{HOME}/r1/r-3", "failed (bad_input)")
    assert first.next_action == "review_reason: it ended; `retry` makes a new attempt"
    assert (second.subject, second.reason, second.cost_at_risk) == (f"{HOME}/r1/r-2", "generating", 5)


def test_a_failed_wish_leaves_a_revision_complete_whose_policy_is_all_terminal(house: House) -> None:
    _wish(house, "r-3")
    house.run(f"UPDATE attempts SET state = 'failed' WHERE id = '{QUEUED}'")

    assert Name.REVISIONS not in failed(house)
    house.run("UPDATE campaign_settings SET completion = 'all_usable'")
    assert failed(house)[Name.REVISIONS].count == 1


#: What makes an attempt too old, and how bad that is.
OLD: dict[str, tuple[str, Severity]] = {
    "queued": (f"UPDATE audit SET at = {DAY_AGO} WHERE subject_id = '{QUEUED}'", Severity.WARN),
    "submitting": (
        f"""UPDATE attempts SET state = 'submitting', created_at = {DAY_AGO}, version = 9
        WHERE id = '{QUEUED}'""",
        Severity.WARN,
    ),
    "lost": (
        f"""UPDATE attempts SET state = 'submitting', submission = 'unknown', submitted_at = {DAY_AGO}
        WHERE id = '{RUNNING}'""",
        Severity.WARN,
    ),
    "generating": (
        f"UPDATE attempts SET purge_horizon_at = {DAY_AGO} WHERE id = '{RUNNING}'",
        Severity.ERROR,
    ),
    "retrieving": (
        f"""UPDATE attempts SET state = 'retrieving', result_expires_at = {NOON + 60 * SECOND}
        WHERE id = '{RUNNING}'""",
        Severity.ERROR,
    ),
    "stored": (
        f"UPDATE attempts SET state = 'stored', created_at = {DAY_AGO}, version = 9 WHERE id = '{QUEUED}'",
        Severity.WARN,
    ),
}


def too_old(house: House) -> list[tuple[str, Severity]]:
    found = run_check(house.adapters, Name.ATTEMPTS).rows
    reasons = [limit.reason for limits in LIMITS.values() for limit in limits]
    return [(one.subject, one.severity) for one in found if one.reason.partition(": ")[2] in reasons]


@pytest.mark.parametrize("state", OLD)
def test_an_attempt_that_is_older_than_its_state_allows_is_named(house: House, state: str) -> None:
    statement, severity = OLD[state]
    before = too_old(house)
    house.run(statement)

    [(subject, worst)] = too_old(house)

    assert (before, worst) == ([], severity)
    assert subject in (QUEUED, RUNNING)


def test_every_state_that_can_be_too_old_is_tried() -> None:
    assert set(OLD) == set(LIMITS)


@pytest.mark.parametrize(
    "state", [state for state, (_, severity) in OLD.items() if severity is Severity.WARN]
)
def test_what_is_worked_on_or_paused_is_not_too_old(house: House, state: str) -> None:
    house.run(OLD[state][0])
    pause(house.database, stage="*", provider="*", tenant="*", actor="anna", reason="incident")

    assert too_old(house) == []
    house.run("UPDATE pauses SET resumed_at = 1")
    assert too_old(house) != []
    house.run(f"UPDATE attempts SET lease_until = {NOON + 9 * SECOND}, lease_owner = 'worker'")
    assert too_old(house) == []


@pytest.mark.parametrize("parked", ["awaiting_verdict", "underivable", "unindexable", "over_budget"])
def test_what_waits_for_a_person_is_a_warning_and_a_budget_only_counts(house: House, parked: str) -> None:
    house.run(f"UPDATE attempts SET parked_reason = '{parked}' WHERE id = '{QUEUED}'")

    found = [one for one in run_check(house.adapters, Name.ATTEMPTS).rows if one.subject == QUEUED]

    assert len(found) == (parked != "over_budget")


def test_missing_and_changed_bytes_and_what_nobody_owns_are_told_apart(house: House) -> None:
    house.store.delete(f"northwind/{VIDEO}")
    house.lay(f"northwind/{PICTURE}", b"short")
    house.lay("northwind/stray", b"who", age_seconds=3_600)
    house.lay("northwind/young", b"new")
    house.lay("intake/northwind/brief.yaml", b"x", age_seconds=3_600)
    house.lay(".tmp/1-old", b"part", age_seconds=IMPORT_WINDOW / SECOND + 3 * 3_600)
    house.lay(".tmp/2-late", b"part", age_seconds=IMPORT_WINDOW / SECOND + 3_600)

    found = failed(house)[Name.OBJECTS]

    assert {one.subject: (one.reason.split(" ")[0], one.severity) for one in found.rows} == {
        VIDEO: ("no", Severity.ERROR),
        PICTURE: ("5", Severity.ERROR),
        "northwind/stray": ("3", Severity.WARN),
        ".tmp/1-old": ("4", Severity.WARN),
    }
    assert [one.severity for one in found.rows[:2]] == [Severity.ERROR] * 2


def test_windows_of_the_store_leave_no_gap(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Orphans before, between and after all objects are each met in exactly one turn."""
    monkeypatch.setattr(check_outside, "OBJECTS", 1)
    orphans = {"a", "northwind/o-picture0", "northwind/o-source0", "northwind/o-video0", "zzz"}
    for key in orphans:
        house.lay(key, b"who", age_seconds=3_600)

    met: Counter[str] = Counter()
    for _ in range(3):
        met.update(one.subject for one in run_check(house.adapters, Name.OBJECTS).rows)
        house.clock.at += HOUR

    assert met == Counter(orphans)


def test_a_listing_that_is_cut_asks_for_each_object(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_outside, "KEYS", 1)

    assert run_check(house.adapters, Name.OBJECTS).passed
    house.store.delete(f"northwind/{VIDEO}")
    assert [one.subject for one in run_check(house.adapters, Name.OBJECTS).rows] == [VIDEO]


def test_what_the_index_says_otherwise_is_named_and_nothing_is_changed(house: House) -> None:
    house.run("UPDATE search_entries SET visibility = 'internal'")
    before = rows.rows(house.database, schema.index_entries)

    [row] = failed(house)[Name.PUBLISH].rows

    assert (row.subject, row.campaign, row.severity) == ("e-1", HOME, Severity.ERROR)
    assert "other visibility" in row.reason
    assert rows.rows(house.database, schema.index_entries) == before


def test_an_entry_that_is_about_to_be_told_is_no_offence(house: House) -> None:
    house.run(f"UPDATE index_entries SET version = version + 1, next_action_at = {NOON}")

    assert Name.PUBLISH not in failed(house)
    sync_index(house.database, house.index)
    assert Name.PUBLISH not in failed(house)


def test_a_store_and_an_index_that_do_not_answer_are_offences_of_their_checks(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "list", _no_store)
    monkeypatch.setattr(SqlTagIndex, "get", _no_index)

    found = failed(house)

    assert set(found) == {Name.OBJECTS, Name.PUBLISH}
    assert [one.rows[0].subject for one in found.values()] == ["tag index", "object store"]


def _no_store(*_: object, **__: object) -> None:
    raise StoreUnavailable("unreachable", "no answer")


def _no_index(*_: object) -> None:
    raise IndexUnavailable("no answer")


def test_twenty_rows_are_named_and_all_are_counted(database: Database, clock: Clock, tmp_path: Path) -> None:
    house = House(database, tmp_path, clock, more=150)
    house.run("UPDATE derivatives SET size_bytes = 51")

    found = run_check(house.adapters, Name.MANIFESTS)

    assert (len(found.rows), found.count) == (NAMED, 151)


def test_checks_take_less_than_a_second_of_work_for_ten_thousand_videos(
    migrated_sqlite: Path, tmp_path: Path, clock: Clock
) -> None:
    """A tenth of that here, by the processor's time: other tests run beside it."""
    path = tmp_path / "volume.db"
    path.write_bytes(migrated_sqlite.read_bytes())
    database = Database.at(f"sqlite:///{path}")
    database.clock = clock
    house = House(database, tmp_path, clock, more=1_000, campaigns=30)
    tell(database, house.index, [row.id for row in rows.rows(database, schema.index_entries)])

    taken = {}
    for name in set(Name) - {Name.OBJECTS}:
        began = time.process_time()
        assert run_check(house.adapters, name).rows == ()
        taken[name] = time.process_time() - began
    database.close()

    assert max(taken.values()) < 0.2, taken


def test_the_written_table_names_every_check_every_age_and_every_item() -> None:
    page = (Path(__file__).parents[2] / "docs" / "what-turns-red.md").read_text("utf-8")
    ages = {limit.reason for limits in LIMITS.values() for limit in limits}

    missing = [said for said in (*map(str, Name), *map(str, Item), *ages) if f"{said}`" not in page]
    assert missing == []
