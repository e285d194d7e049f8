"""The checks that run all the time: what must hold, grouped under the names that Dagster shows (E5).

Belongs here: which look belongs to which check, and naming what was found. Does not belong here: the looks
(`resources.database.invariants`, `check_ages`, `check_outside`), mending (`reconcile`), or the whole look
into store, index and providers (`check`).

The database is looked at as a whole, in one snapshot a check; store and index a window an hour. What turns
red, what yellow and what only counts stands in docs/what-turns-red.md.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import sqlalchemy as sa

from pipeline.steps.operate.check_ages import SETTLED_SECONDS, attempt_ages, unfinished_revisions
from pipeline.steps.operate.check_outside import entries_in_index, objects_in_store
from pipeline.steps.operate.checked import CheckResult, CheckRow, Looked, Offence, Severity
from pipeline.steps.operate.recover import PlannedItem, recovery_plan
from pipeline.steps.retain.check_purged import purged_in_store, receipts_as_written
from resources.adapters import Adapters
from resources.database.invariants import INVARIANTS, MOST_ROWS, Invariant, Phase, Snapshot, lay_beside
from resources.database.invariants import broken_of as rows_that_break
from resources.database.subjects import Place, places
from resources.database.wish_facts import Wanted

SECOND = 1_000_000
#: Rows that a check names; more of them say nothing new.
NAMED = 20


class Name(enum.StrEnum):
    """Also the names of Dagster's asset checks."""

    PUBLISH = "publish_invariant"
    OBJECTS = "no_orphan_or_missing_objects"
    MANIFESTS = "derivative_manifest_complete"
    ATTEMPTS = "attempts_within_their_states"
    REVISIONS = "current_revision_complete"
    MONEY = "budgets_and_lanes_add_up"
    AUDIT = "audit_chain_whole"
    PURGES = "purges_are_proven"


@dataclass(frozen=True, slots=True)
class Check:
    says: str  #: what holds while it passes
    remedy: str
    invariants: frozenset[str] = frozenset()  #: those over the database alone run; the others are `check`'s
    looks: tuple[Callable[[Adapters], Looked], ...] = ()


def _ids(*names: str) -> frozenset[str]:
    return frozenset(names)


CHECKS: Mapping[Name, Check] = MappingProxyType(
    {
        Name.PUBLISH: Check(
            "what a slot shows serves, was selected, and stands in the index under the same required tags",
            "`reelwright reconcile` tells the index again; `reelwright backfill index` tells it all",
            _ids(
                "what_is_shown_serves", "slot_shows_its_newest_publication", "one_publication_a_slot",
                "one_selected_attempt", "what_is_shown_was_selected", "what_was_declined_is_not_shown",
                "wish_and_rendition_share_a_slot", "what_is_shown_counts_as_usable", "what_is_shown_is_found",
                "index_says_nothing_of_its_own", "entry_and_pointer_agree", "index_says_what_it_should",
                "what_is_wanted_is_shown",
            ),
            (entries_in_index,),
        ),
        Name.OBJECTS: Check(
            "owned bytes lie in the store as they were verified, and nothing else lies there",
            "restore missing bytes from the store's versions or a backup; an orphan may be deleted by hand",
            _ids(
                "owned_bytes_are_there", "owned_bytes_are_unchanged", "stored_has_its_object",
                "one_attempt_an_object", "source_set_is_owned", "purged_is_gone", "no_orphan_objects",
                "no_old_temporary_objects",
            ),
            (objects_in_store,),
        ),
        Name.MANIFESTS: Check(
            "every video that is shown has its whole set of pictures",
            "`reelwright reconcile` makes lost pictures again; `backfill thumbnails` older ones",
            _ids("indexed_has_its_manifest", "manifest_is_complete", "picture_matches_its_object"),
        ),
        Name.ATTEMPTS: Check(
            "no attempt is longer in its state than that allows, and each state has its evidence",
            "`reelwright plan` says what is next; `reelwright reconcile` makes due what was forgotten",
            _ids(
                "handle_is_durable", "intent_precedes_the_send", "one_key_an_attempt", "provider_saw_one_key",
                "one_remote_job_an_attempt", "no_second_send_without_proof", "no_remote_job_is_lost",
                "one_bound_job_an_attempt", "what_a_provider_names_is_bound", "follow_ons_are_posted",
                "no_message_twice", "no_lease_without_end", "outbox_drains", "no_attempt_is_forgotten",
                "no_result_is_waited_for_in_vain", "no_revision_is_forgotten",
            ),
            (attempt_ages,),
        ),
        Name.REVISIONS: Check(
            "the newest revision of every campaign is complete by its own policy",
            "`reelwright status CAMPAIGN` and `reelwright plan CAMPAIGN`",
            looks=(unfinished_revisions,),
        ),
        Name.MONEY: Check(
            "budgets, lanes, meters and the ledger are what they count",
            "`reelwright reconcile` recounts lanes; money is never corrected by itself: ask an engineer",
            _ids(
                "budget_equals_its_holds", "cap_is_kept", "hold_lasts_as_long_as_the_job",
                "settled_amount_fits", "lane_equals_its_attempts", "in_flight_holds_a_place",
                "polls_are_metered", "bytes_are_metered_as_owned", "only_possible_starts_are_taken_back",
                "one_start_a_handle", "no_unconfirmed_start_of_what_is_known",
                "what_awaits_a_verdict_is_booked", "posting_is_its_lines", "closed_month_is_as_it_was",
                "statement_sums_to_its_month", "a_correction_names_a_closed_month", "an_amount_has_its_price",
            ),
        ),
        Name.AUDIT: Check(
            "every move has its link in the audit, and every link is legal",
            "stop writers and ask an engineer: rows were changed behind Reelwright's back",
            _ids(
                "moves_are_counted", "chain_has_no_gap", "chain_links_up", "state_is_the_last_move",
                "moves_are_legal", "token_never_goes_back", "token_was_issued",
                "changes_name_actor_and_reason", "visible_changes_are_audited", "approval_was_decided",
            ),
        ),
        Name.PURGES: Check(
            "what was purged was approved, is gone, and has its receipt in a chain without a gap",
            "`reelwright retention prove OBJECT` shows one; rows were changed from outside: ask an engineer",
            _ids(
                "purged_has_its_receipt", "receipt_is_of_what_was_purged", "receipts_follow_each_other",
                "marked_by_a_plan",
            ),
            (purged_in_store, receipts_as_written),
        ),
    }
)  # fmt: skip


def checks(adapters: Adapters, names: Collection[Name] = tuple(Name)) -> list[CheckResult]:
    """Run the named checks; each in one snapshot. A store or index that does not answer is an offence of its
    check. Raises DatabaseUnavailable."""
    return [run_check(adapters, name) for name in Name if name in names]


def run_check(adapters: Adapters, name: Name) -> CheckResult:
    check = CHECKS[name]
    looked = [look(adapters) for look in check.looks]
    if check.invariants:
        looked.append(_broken(adapters, check.invariants))
    offences = [one for each in looked for one in each.offences]
    worst = sorted(offences, key=lambda one: one.severity is not Severity.ERROR)  # stable: errors first
    return CheckResult(
        name=str(name),
        severity=worst[0].severity if worst else Severity.ERROR,
        count=sum(each.number for each in looked),
        rows=_named(adapters, worst[:NAMED], check.remedy),
        says=check.says,
        remedy=check.remedy,
        looked_at=tuple(each.at for each in looked),
    )


def _broken(adapters: Adapters, names: Collection[str]) -> Looked:
    """Rows that break invariants over the database alone; what nobody mended yet is a warning."""
    database, transforms = adapters.database, adapters.transforms
    invariants = [one for one in INVARIANTS if one.id in names and not one.needs]
    found: list[Offence] = []
    number = 0
    with database.reading() as connection:
        now = database.clock(connection)
        pictures = [(transforms.version, one.name) for one in transforms.derivatives]
        classes = {name: str(one.reconciliation) for name, one in adapters.providers.items()}
        lay_beside(connection, Snapshot(now, pictures=pictures, classes=classes))
        times = {"now": now, "overdue": now - SETTLED_SECONDS * SECOND, "seen_at": now}
        for one in invariants:
            severity = Severity.ERROR if one.phase is Phase.ALWAYS else Severity.WARN
            rows = list(rows_that_break(connection, one, times))
            found += [Offence(row.subject, f"{one.id}: {row.found}", severity) for row in rows]
            number += len(rows) if len(rows) < MOST_ROWS else _number_of(connection, one, times)
    return Looked(tuple(found), number)


def _number_of(connection: sa.Connection, invariant: Invariant, times: dict[str, int]) -> int:
    counted = sa.text(f"SELECT COUNT(*) FROM ({invariant.sql}) broken")  # noqa: S608 - constants of ours
    return int(connection.scalar(counted, times) or 0)


def _named(adapters: Adapters, offences: Sequence[Offence], remedy: str) -> tuple[CheckRow, ...]:
    """Each with its campaign, and with what the recovery plan says of its attempt or wish."""
    if not offences:
        return ()
    with adapters.database.reading() as connection:
        where = places(connection, {one.subject for one in offences})
    planned: dict[str, PlannedItem] = {}
    for campaign in sorted({place.campaign for place in where.values()} - {""}):
        for item in recovery_plan(adapters.database, adapters.terms, Wanted(campaign=campaign)):
            planned |= {name: item for name in (item.wish, item.attempt) if name}
    return tuple(_row(one, where.get(one.subject, Place("")), planned, remedy) for one in offences)


def _row(one: Offence, place: Place, planned: Mapping[str, PlannedItem], remedy: str) -> CheckRow:
    item = planned.get(one.subject) or planned.get(place.attempt)
    return CheckRow(
        subject=one.subject,
        campaign=place.campaign,
        reason=one.reason,
        next_action=remedy if item is None else f"{item.next.action}: {item.next.why}",
        cost_at_risk=0 if item is None else item.cost_at_risk,
        currency="" if item is None else item.currency or "",
        severity=one.severity,
    )
