"""Guards, how to take each of them out, and the tests that must notice (one guard, one mutant).

Belongs here: the list. Does not belong here: running it (`mutants`).

Guards overlap: the audit's UNIQUE alone would hide a missing version guard in most outcomes (measured), so
the named test is the one that proves its guard alone. Texts must occur exactly once in their file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TRANSITIONS = "resources/database/transitions.py"
CLAIMS = "resources/database/claims.py"
LANE_CLAIMS = "resources/database/lane_claims.py"
PUBLICATIONS = "resources/database/publications.py"
BUDGETS = "resources/database/budgets.py"
LANES = "resources/database/lanes.py"
STORE = "resources/object_store/local.py"
DOWNLOAD = "resources/http/download.py"


@dataclass(frozen=True, slots=True)
class Edit:
    file: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard that is taken out by *edits*; every one of *tests* (pytest ids) must then fail."""

    guard: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def _one(guard: str, file: str, before: str, after: str, *tests: str) -> Mutant:
    return Mutant(guard, (Edit(file, before, after),), tests)


def _database(module: str, test: str, on: str = "sqlite") -> str:
    return f"tests/database/test_{module}.py::test_{test}[{on}]"


def _steps(module: str, test: str) -> str:
    return f"tests/steps/test_{module}.py::test_{test}"


def _retain(module: str, test: str) -> str:
    return f"tests/steps/retain/test_{module}.py::test_{test}"


_LIFECYCLE = (
    _one(
        "version guard", TRANSITIONS, '["id", "version"] if shape', '["id"] if shape',
        _database("transitions", "an_old_version_changes_nothing_though_state_and_token_match"),
    ),
    _one(
        "state guard", TRANSITIONS, "    if shape.move is not None:\n        guards.append(",
        "    if False:\n        guards.append(",
        _database("transitions", "another_state_changes_nothing_though_version_and_token_match"),
    ),
    _one(
        "lease-token fence", TRANSITIONS, 'for name in (*names, *(["lease_token"] if leased else []))]',
        "for name in names]",
        _database("transitions", "an_old_lease_token_changes_nothing_though_state_and_version_match"),
    ),
    _one(
        "entity-version guard", TRANSITIONS, 'else ["id", "entity_version"]', 'else ["id"]',
        _database("transitions", "two_facts_from_one_reading_cannot_both_stick"),
    ),
    _one(
        "entity version rises from what stands there", TRANSITIONS,
        '[f"entity_version = {table}.entity_version + 1"]', '["entity_version = wanted.entity_version + 1"]',
        _database("transitions", "a_move_over_newer_facts_still_raises_the_entity_version"),
    ),
    _one(
        "audit in the move's own transaction", TRANSITIONS,
        "    tx.connection.execute(\n        sa.insert(audit), [_audit_row(tx, one.transition, "
        "one.entity_version) for one in applied]\n    )",
        "    with tx.connection.engine.begin() as other:\n        other.execute(\n            "
        "sa.insert(audit), "
        "[_audit_row(tx, one.transition, one.entity_version) for one in applied]\n        )",
        _database("transitions", "what_fails_behind_a_move_takes_its_audit_usage_and_messages_along",
                  "postgresql"),
    ),
    _one(
        "audit chain takes one link a version", "resources/database/migrations/versions/0001_spine.py",
        '        sa.UniqueConstraint(\n            "subject_kind", "subject_id", "version", '
        'name="uq_audit_subject_kind_subject_id_version"\n        ),\n', "",
        _database("transitions", "the_audit_chain_itself_takes_no_second_link_of_one_version"),
    ),
    _one(
        "operation id is looked up", "resources/database/database.py",
        "if results and self._happened(operation_id):", "if False:",
        _database("database", "a_move_whose_commit_was_applied_and_unanswered_is_made_once"),
    ),
    _one(
        "a lost COMMIT proves nothing by itself", "resources/database/database.py",
        "if results and self._happened(operation_id):", "if results:",
        _database("database", "a_move_whose_commit_never_came_is_made_again"),
    ),
    _one(
        "a message wakes only what waits for it", "resources/database/delivery.py",
        "        attempts.c.next_action_at.is_(None),\n", "",
        _database("delivery", "work_that_is_due_later_already_is_not_pulled_forward"),
    ),
)  # fmt: skip

_CLAIMS = (
    _one(
        "live leases are not claimed", CLAIMS,
        "sa.or_(attempts.c.lease_until < tx.now, ", "sa.or_(sa.true(), ",
        _database("claims", "a_live_lease_is_not_claimed"),
    ),
    _one(
        "absurd leases are not honoured", CLAIMS, ", attempts.c.lease_until > longest)", ")",
        "tests/database/test_claims.py::"
        "test_a_lease_longer_than_the_longest_is_an_accident_of_clocks[sqlite-1-False]",
    ),
    _one(
        "a claim raises the token", CLAIMS, "lease_token=attempts.c.lease_token + 1,", "",
        _database("claims", "an_expired_lease_is_claimed_under_a_higher_token"),
    ),
    _one(
        "a claim is chosen once", CLAIMS,
        "attempts.c.id.in_(sa.select(once.c.id))", "attempts.c.id.in_(chosen)",
        _database("claims", "a_claim_takes_no_more_than_its_limit_however_it_is_planned", "postgresql"),
    ),
    _one(
        "lane cap of the provider", LANE_CLAIMS, "room = min(limit, open_now.free) - len(taken)",
        "room = limit - len(taken)",
        _database("lanes", "a_claim_takes_no_more_than_the_caps_and_counts_what_it_took"),
    ),
    _one(
        "lane cap of a tenant", LANE_CLAIMS, "{lane.tenant: lane.free for lane in tenants}",
        "{lane.tenant: limit for lane in tenants}",
        _database("lanes", "the_cap_of_a_tenant_holds_though_the_provider_has_room"),
    ),
    _one(
        "a place is left once", LANES, ", attempts.c.lane_held == 1)", ")",
        _database("lanes", "a_place_is_left_once_however_often_it_is_said"),
    ),
)  # fmt: skip

_MONEY = (
    _one(
        "budget hold condition", BUDGETS,
        "            budgets.c.held + budgets.c.settled + attempt.quote <= budgets.c.cap,\n", "",
        _database("budgets", "a_hold_up_to_the_cap_is_taken_and_one_beyond_it_is_not"),
        _database("budgets", "concurrent_holds_never_pass_the_cap"),
    ),
    _one(
        "a hold closes once", BUDGETS, ', holds.c.state == "open")', ")",
        "tests/database/test_budgets.py::"
        "test_a_hold_is_closed_once_and_stays_as_it_was_closed[sqlite-settle-expected0-settled]",
    ),
    _one(
        "idempotency key is the attempt's for ever", "pipeline/steps/produce/sending.py",
        "idempotency_key=row.idempotency_key,", 'idempotency_key=f"{row.idempotency_key}-{row.send_tries}",',
        "tests/acceptance/test_sends.py::"
        "test_a_send_that_is_repeated_by_key_is_the_same_request_and_one_job",
    ),
    _one(
        "idempotency key of a rendition's attempt", "pipeline/domain/renditions.py",
        "_digest('attempt/1', tenant=tenant, rendition=rendition, number=number)",
        "_digest('attempt/1', tenant=tenant, rendition=rendition)",
        "tests/domain/test_renditions.py::test_idempotency_keys_differ_by_attempt_and_are_stable",
    ),
    _one(
        "only a key within its window is sent again", "pipeline/domain/reconciling.py",
        "    if lost.seconds_since_first_send < conduct.key_window_seconds * KEY_MARGIN:\n", "    if True:\n",
        "tests/domain/test_reconciling.py::"
        "test_only_a_key_within_its_window_is_ever_sent_again_without_proof",
    ),
)  # fmt: skip

_VIEW = (
    _one(
        "selected-attempt condition of the pointer", PUBLICATIONS,
        "move.to.rendition, selected]", "move.to.rendition]",
        _steps("publish", "the_pointers_guard_holds_by_itself[sqlite-not_selected]"),
    ),
    _one(
        "wanted-rendition condition of the pointer", PUBLICATIONS,
        "guards += [slots.c.wanted_rendition == move.to.rendition, selected]", "guards += [selected]",
        _steps("publish", "the_pointers_guard_holds_by_itself[sqlite-not_wanted]"),
    ),
    _one(
        "slot's compare-and-set", PUBLICATIONS, "        slots.c.version == move.slot.version,\n", "",
        _steps("publish", "of_two_equal_moves_one_wins[sqlite]"),
    ),
    _one(
        "a declined output is not shown", PUBLICATIONS,
        'guards += [serves, sa.func.coalesce(verdict, "") != DECLINE]', "guards += [serves]",
        _steps("publish", "the_pointers_guard_holds_against_a_decline[sqlite]"),
    ),
    _one(
        "a selection is compared with what was read", "resources/database/selecting.py",
        "            renditions.c.entity_version == rendition.entity_version,\n", "",
        _database("selecting", "the_entity_version_alone_keeps_a_stale_selection_out"),
    ),
)  # fmt: skip

_LOCAL = "tests/object_store/test_local.py::TestLocal::test_"

_BYTES = (
    _one(
        "checksum at the store", STORE, "if wanted is not None and copied != wanted:", "if False:",
        f"{_LOCAL}a_file_that_is_not_what_was_said_is_never_stored",
    ),
    _one(
        "a taken key is compared", STORE, "            if digest(held) != wanted:\n",
        "            if False:\n",
        f"{_LOCAL}other_bytes_under_a_taken_key_are_refused_and_change_nothing",
    ),
    Mutant(
        "put-if-absent",
        (
            Edit(STORE, "            result = self._found(folder, name, key, wanted)\n            if result",
                 "            result = None\n            if result"),
            Edit(STORE, "os.link(temporary, name, dst_dir_fd=folder)",
                 "os.replace(temporary, name, dst_dir_fd=folder)"),
        ),
        (f"{_LOCAL}other_bytes_under_a_taken_key_are_refused_and_change_nothing",
         f"{_LOCAL}of_many_writers_at_once_exactly_one_creates"),
    ),
    _one(
        "checksum at retrieval", DOWNLOAD,
        "output.sha256 is not None and output.sha256.lower() != written.digest.hexdigest()", "False",
        "tests/http/test_download.py::test_what_the_provider_states_must_hold[stated1-wrong_hash]",
    ),
    _one(
        "checksum of owned bytes", "pipeline/steps/produce/derive.py", "if read.sha256 != source.sha256:",
        "if False:", _steps("derive", "other_bytes_than_recorded_are_noticed[sqlite]"),
    ),
    _one(
        "credentials stay with their host", DOWNLOAD, "headers if stays else {}", "headers",
        "tests/http/test_download.py::test_the_key_is_not_sent_to_another_host",
    ),
    _one(
        "every frame is decoded", "resources/media/videos.py", "        for frame in reader.decoded(packet):",
        "        for frame in reader.decoded(packet) if shown is None else ():",
        "tests/acceptance/test_bytes.py::test_they_are_found_by_decoding_alone",
    ),
)  # fmt: skip

_RETENTION = (
    _one(
        "a hold meets a purge at one row", "pipeline/steps/retain/begin.py", "    meet_holds(tx)\n", "",
        _retain("races", "a_hold_that_is_not_committed_yet_is_waited_for[postgresql]"),
    ),
    _one(
        "who needs an object waits for its purge", "resources/database/retention_plans.py",
        ".order_by(objects.c.id).with_for_update()", ".order_by(objects.c.id)",
        _retain("races", "a_use_that_is_not_committed_yet_is_waited_for[postgresql]"),
    ),
    _one(
        "bytes put before a purge are not owned", "resources/database/objects.py",
        "if purges.get(one.key, 0) != one.purges_before:", "if False:",
        _database(
            "objects", "bytes_that_were_put_before_a_purge_of_their_key_are_not_owned", "sqlite-purged"
        ),
    ),
    _one(
        "a plan is bound to its policy", "pipeline/steps/retain/approve.py",
        "if found.policy_sha256 != policy.sha256:", "if False:",
        _retain("guards", "a_plan_of_another_policy_roots_or_limits_is_refused_as_a_whole[sqlite-changed0]"),
    ),
    _one(
        "the index hears of it first", "pipeline/steps/retain/begin.py",
        "elif item.subject in self.entries:", "elif False:",
        _retain("retain", "nothing_goes_before_the_index_heard_of_it[sqlite]"),
    ),
    _one(
        "a store is not believed", "pipeline/steps/retain/verify.py",
        "    left = store.left_of(sorted(keys))\n", "    left: dict[str, str] = {}\n",
        _retain("retain", "a_store_that_keeps_what_it_said_is_gone_gets_no_receipt[sqlite]"),
    ),
)  # fmt: skip

MUTANTS: Sequence[Mutant] = (*_LIFECYCLE, *_CLAIMS, *_MONEY, *_VIEW, *_BYTES, *_RETENTION)

#: Those that the test suite itself runs: one each of fence, look-up, pointer and bytes.
QUICK = (
    "lease-token fence",
    "operation id is looked up",
    "selected-attempt condition of the pointer",
    "put-if-absent",
)
