"""SPEC §13: a sound installation breaks no invariant, and each one fires on its own poisoned row."""

# ruff: noqa: S608 - statements of our own constants
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from resources.database import invariants as known
from resources.database.database import Database
from resources.database.invariants import (
    INVARIANTS,
    Phase,
    SeenEntry,
    SeenJob,
    SeenObject,
    Snapshot,
    broken,
)
from tests.conftest import NOON, SECOND
from tests.database import sound
from tests.database.sound import HOME, PICTURE, RUNNING, SHOWN, SLOT, VIDEO

OVERDUE = NOON - 10 * SECOND
LONG_AGO = NOON - 4_000 * SECOND
DAYS_AGO = NOON - 100_000 * SECOND

#: For each invariant one change that breaks it, and nothing that the schema itself would refuse.
POISONS: dict[str, str] = {
    "what_is_shown_serves": f"UPDATE objects SET state = 'purging' WHERE id = '{VIDEO}'",
    "slot_shows_its_newest_publication": f"UPDATE slots SET published_object = 'o-other' WHERE id = '{SLOT}'",
    "one_publication_a_slot": f"""INSERT INTO publications (id, tenant, slot, number, move, tags, from_at,
        actor, reason, operation_id) VALUES ('p', 'northwind', '{SLOT}', 2, 'publish',
        '{{}}', 0, 'a', 'r', 'o')""",
    "one_selected_attempt": "UPDATE selections SET attempt = 'r-1-a2' WHERE rendition = 'r-1'",
    "what_is_shown_was_selected": "UPDATE publications SET attempt = 'r-1-a9'",
    "what_was_declined_is_not_shown": f"""INSERT INTO decisions (tenant, kind, subject_kind, subject_id,
        verdict, policy_version, reason, actor, detail, operation_id, at)
        VALUES ('northwind', 'acceptance', 'attempt', '{SHOWN}', 'decline', '', 'r', 'a', '{{}}', 'o', 0)""",
    "wish_and_rendition_share_a_slot": "UPDATE wishes SET rendition = 'r-2'",
    "what_is_shown_counts_as_usable": "UPDATE batch_items SET usable_at = NULL",
    "entry_and_pointer_agree": "UPDATE index_entries SET standing = 'candidate'",
    "stored_has_its_object": f"DELETE FROM object_uses WHERE object = '{VIDEO}'",
    "one_attempt_an_object": f"UPDATE attempts SET object = '{VIDEO}' WHERE id = '{RUNNING}'",
    "indexed_has_its_manifest": f"UPDATE objects SET state = 'purged' WHERE id = '{PICTURE}'",
    "manifest_is_complete": "UPDATE derivatives SET name = 'large'",
    "picture_matches_its_object": "UPDATE derivatives SET size_bytes = 51",
    "source_set_is_owned": "UPDATE revision_sources SET standing = 'growing'",
    "approval_was_decided": "UPDATE decisions SET verdict = 'rejected'",
    "posting_is_its_lines": "UPDATE ledger_lines SET amount_nano = 7 WHERE posting = '2025-11-05#1'",
    "closed_month_is_as_it_was": "UPDATE periods SET amount_nano = 1 WHERE id = '2025-11'",
    "statement_sums_to_its_month": "UPDATE statement_lines SET shown = 2",
    "a_correction_names_a_closed_month": """UPDATE ledger_postings SET corrects = ''
        WHERE id = '2025-11-05#2'""",
    "an_amount_has_its_price": "UPDATE ledger_lines SET amount = NULL WHERE posting = '2025-11-05#1'",
    "moves_are_counted": f"UPDATE attempts SET version = 3 WHERE id = '{RUNNING}'",
    "chain_has_no_gap": f"UPDATE audit SET version = 9 WHERE subject_id = '{SHOWN}' AND version = 5",
    "chain_links_up": f"UPDATE audit SET from_state = 'queued' WHERE subject_id = '{SHOWN}' AND version = 3",
    "state_is_the_last_move": f"UPDATE attempts SET state = 'retrieving' WHERE id = '{RUNNING}'",
    "moves_are_legal": f"""UPDATE audit SET to_state = 'indexed' WHERE subject_id = '{RUNNING}'
        AND version = 1""",
    "token_never_goes_back": f"""UPDATE audit SET lease_token = 2 WHERE subject_id = '{SHOWN}'
        AND version = 2""",
    "token_was_issued": f"UPDATE audit SET lease_token = 3 WHERE subject_id = '{SHOWN}' AND version = 5",
    "changes_name_actor_and_reason": f"UPDATE audit SET reason = '' WHERE subject_id = '{RUNNING}'",
    "visible_changes_are_audited": f"DELETE FROM audit WHERE subject_id = '{SHOWN}' AND version IS NULL",
    "handle_is_durable": f"UPDATE attempts SET handle = NULL WHERE id = '{RUNNING}'",
    "intent_precedes_the_send": f"DELETE FROM sends WHERE attempt = '{RUNNING}'",
    "one_key_an_attempt": f"UPDATE sends SET idempotency_key = 'other' WHERE attempt = '{RUNNING}'",
    "no_second_send_without_proof": f"""INSERT INTO sends (attempt, n, tenant, idempotency_key, at)
        VALUES ('{RUNNING}', 2, 'northwind', 'key-{RUNNING}', 0)""",
    "one_bound_job_an_attempt": f"UPDATE remote_jobs SET bound = 0 WHERE attempt = '{RUNNING}'",
    "one_start_a_handle": f"""DELETE FROM usage_facts WHERE attempt = '{RUNNING}'
        AND meter = 'generation_starts'""",
    "no_unconfirmed_start_of_what_is_known": f"""UPDATE usage_facts SET meter = 'starts_unconfirmed'
        WHERE attempt = '{RUNNING}'""",
    "what_awaits_a_verdict_is_booked": f"""UPDATE attempts SET submission = 'unknown',
        parked_reason = 'awaiting_verdict' WHERE id = '{RUNNING}'""",
    "what_a_provider_names_is_bound": f"""UPDATE attempts SET state = 'submitting',
        submission = 'unknown', handle = NULL WHERE id = '{RUNNING}'""",
    "budget_equals_its_holds": "UPDATE budgets SET held = 6",
    "cap_is_kept": "UPDATE budgets SET settled = 50000000",
    "hold_lasts_as_long_as_the_job": f"UPDATE holds SET state = 'open' WHERE attempt = '{SHOWN}'",
    "settled_amount_fits": f"UPDATE holds SET settled_amount = 6 WHERE attempt = '{SHOWN}'",
    "lane_equals_its_attempts": "UPDATE lanes SET in_flight = 2 WHERE tenant = '*'",
    "in_flight_holds_a_place": f"UPDATE attempts SET lane_held = 0 WHERE id = '{RUNNING}'",
    "polls_are_metered": f"UPDATE attempts SET polls_metered = 2 WHERE id = '{SHOWN}'",
    "bytes_are_metered_as_owned": "UPDATE usage_facts SET quantity = 999 WHERE meter = 'retrieved_bytes'",
    "only_possible_starts_are_taken_back": "UPDATE usage_facts SET quantity = -1",
    "follow_ons_are_posted": "DELETE FROM outbox WHERE topic = 'owned'",
    "no_message_twice": "UPDATE outbox SET dead_at = 0",
    "no_lease_without_end": f"UPDATE attempts SET lease_until = 1 WHERE id = '{RUNNING}'",
    "outbox_drains": "UPDATE outbox SET delivered_at = NULL",
    "no_attempt_is_forgotten": f"UPDATE attempts SET next_poll_at = NULL WHERE id = '{RUNNING}'",
    "no_result_is_waited_for_in_vain": f"UPDATE attempts SET purge_horizon_at = 0 WHERE id = '{RUNNING}'",
    "no_revision_is_forgotten": "UPDATE revisions SET receipt_due_at = 0",
    "what_is_wanted_is_shown": f"""UPDATE slots SET version = 0, published_object = NULL
        WHERE id = '{SLOT}'""",
}


def _without(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, entries=[])


def _object(snapshot: Snapshot, **changes: object) -> Sequence[SeenObject]:
    first, *rest = snapshot.objects or ()
    return [replace(first, **changes), *rest]  # type: ignore[arg-type]


def _entry(snapshot: Snapshot, **changes: object) -> Sequence[SeenEntry]:
    [entry] = snapshot.entries or ()
    return [replace(entry, **changes)]  # type: ignore[arg-type]


#: Those that are broken by what lies outside of the database.
SIGHTS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "what_is_shown_is_found": lambda seen: replace(
        seen, entries=_entry(seen, required_tags=sound.TAGS | {"visibility": "internal"})
    ),
    "index_says_nothing_of_its_own": lambda seen: replace(seen, entries=_entry(seen, version=3)),
    "index_says_what_it_should": lambda seen: replace(seen, entries=_entry(seen, standing="candidate")),
    "owned_bytes_are_there": lambda seen: replace(seen, objects=_object(seen, size_bytes=1)),
    "owned_bytes_are_unchanged": lambda seen: replace(seen, objects=_object(seen, sha256="f" * 64)),
    "no_orphan_objects": lambda seen: replace(
        seen, objects=[*(seen.objects or ()), SeenObject("northwind/renditions/lost", 1, LONG_AGO)]
    ),
    "no_old_temporary_objects": lambda seen: replace(
        seen, objects=[*(seen.objects or ()), SeenObject(".tmp/1-a", 1, DAYS_AGO, is_temporary=True)]
    ),
    "provider_saw_one_key": lambda seen: replace(
        seen, jobs=[*(seen.jobs or ()), SeenJob("local", "job-x", SHOWN, "other")]
    ),
    "one_remote_job_an_attempt": lambda seen: replace(
        seen, jobs=[*(seen.jobs or ()), SeenJob("local", "job-x", SHOWN)]
    ),
    "no_remote_job_is_lost": lambda seen: replace(
        seen, jobs=[*(seen.jobs or ()), SeenJob("local", "job-x", "r-9-a1")]
    ),
}


def _receipt(subject: str) -> str:
    return f"""INSERT INTO retention_receipts
        (number, tenant, plan, item, subject, body, previous, sha256, at)
        VALUES (1, 'northwind', 'p', 1, '{subject}', '{{}}', '', 'h', 0)"""


#: Both at once: an object that was purged, and bytes that are still there.
BOTH = {"purged_is_gone": f"UPDATE objects SET state = 'purged', purged_at = 0 WHERE id = '{VIDEO}'"}
POISONS |= {
    "purged_has_its_receipt": f"UPDATE objects SET state = 'purged', purged_at = 0 WHERE id = '{PICTURE}'",
    "receipt_is_of_what_was_purged": _receipt(VIDEO),
    "receipts_follow_each_other": "UPDATE retention_heads SET number = 4 WHERE name = 'receipts'",
    "marked_by_a_plan": f"UPDATE objects SET state = 'marked' WHERE id = '{VIDEO}'",
}


def fired(connection: sa.Connection, seen: Snapshot) -> set[str]:
    return {one.invariant.id for one in broken(connection, seen, now=NOON, overdue=OVERDUE)}


def test_a_sound_installation_breaks_no_invariant(database: Database) -> None:
    sound.write(database)

    with database.reading() as connection:
        found = [str((one.invariant.id, one.subject, one.found)) for one in broken(
            connection, sound.seen(), now=NOON, overdue=OVERDUE
        )]  # fmt: skip

    assert found == []


def test_every_invariant_fires_on_its_own_poisoned_row(database: Database) -> None:
    sound.write(database)
    silent = []
    for name, statement in (POISONS | BOTH).items():
        with database.engine.connect() as connection:
            connection.exec_driver_sql(statement.replace("%", "%%"))
            if name not in fired(connection, sound.seen()):
                silent.append(name)
            connection.rollback()
    for name, sight in SIGHTS.items():
        with database.reading() as connection:
            if name not in fired(connection, sight(sound.seen())):
                silent.append(name)

    assert silent == []


def test_every_invariant_has_a_poison_and_a_name_of_its_own() -> None:
    names = [one.id for one in INVARIANTS]

    assert sorted(names) == sorted({*POISONS, *SIGHTS, *BOTH})
    assert len(set(names)) == len(names)


def test_what_was_not_looked_at_breaks_nothing(database: Database) -> None:
    sound.write(database)

    with database.reading() as connection:
        found = fired(connection, Snapshot(NOON, pictures=[("web-1", "small")]))

    assert found == set()


def test_what_is_younger_than_the_look_is_not_missed_in_it(database: Database) -> None:
    sound.write(database)
    early = replace(sound.seen(), at=sound.BEFORE, objects=[], entries=[])

    with database.reading() as connection:
        assert fired(connection, early) & {"owned_bytes_are_there", "what_is_shown_is_found"} == set()


@pytest.mark.parametrize("phase", list(Phase))
def test_a_phase_runs_alone(database: Database, phase: Phase) -> None:
    sound.write(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE outbox SET delivered_at = NULL")
        connection.exec_driver_sql("UPDATE budgets SET held = 6")
        found = broken(connection, sound.seen(), now=NOON, overdue=OVERDUE, phases=[phase])

        assert {one.invariant.phase for one in found} == {phase}
        connection.rollback()


def test_campaigns_cap_may_be_lowered_below_what_was_spent(database: Database) -> None:
    sound.write(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql(f"UPDATE budgets SET cap = 7 WHERE campaign = '{HOME}'")

        assert fired(connection, sound.seen()) == set()
        connection.rollback()


def test_all_groups_are_run() -> None:
    groups = [value for name, value in vars(known).items() if isinstance(value, tuple) and name.isupper()]

    assert {one.id for group in groups for one in group} == {one.id for one in INVARIANTS}
