"""What follows on what: one table from outbox topic to the thing that becomes due (L11).

Belongs here: topics and what each makes due. Does not belong here: the statements that do it. A resumed
claim needs no topic: paused work stays due, the claim merely passes it over until the pause ends.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.lifecycle import AttemptState


class Stage(enum.StrEnum):
    """Work that a lot takes on; each has its own pool."""

    INGEST = "ingest"
    SUBMIT = "submit"
    RETRIEVE = "retrieve"
    DERIVE = "derive"
    PUBLISH = "publish"


class Due(enum.StrEnum):
    """The column that a delivered message sets, on the subject that it names."""

    ATTEMPT = "attempt"  #: attempts.next_action_at of that attempt
    CAMPAIGN_ATTEMPTS = "campaign_attempts"  #: the same, of a campaign's parked attempts
    INDEX_ENTRIES = "index_entries"  #: index_entries.next_action_at of that rendition
    RECEIPT = "receipt"  #: revisions.receipt_due_at of that revision
    REVISION = "revision"  #: revisions.next_action_at of that revision
    MARK = "mark"  #: partition_marks.due of that campaign


class Topic(enum.StrEnum):
    SUBMITTED = "submitted"  #: a source set is complete or reviewed; judge it
    APPROVED = "approved"  #: an attempt may be sent
    OUTPUT_REPORTED = "output_reported"  #: fetch it
    OWNED = "owned"  #: derive from it
    MANIFEST_COMPLETE = "manifest_complete"  #: index it
    INDEXED = "indexed"  #: publish it, when publication is automatic
    ACCEPTED = "accepted"  #: publish it, a reviewer said so
    WITHDRAWN_FROM_VIEW = "withdrawn_from_view"  #: declined, deselected or withdrawn: index removal
    ENDED_UNBILLED = "ended_unbilled"  #: the retry rule decides
    OVERDUE = "overdue"  #: past its deadline, and the provider's policy asks for a new attempt
    SELECTED = "selected"  #: another attempt is selected: what it needs next is due
    BUDGET_FREED = "budget_freed"  #: a campaign's parked work
    SET_DECIDED = "set_decided"  #: receipt
    CAMPAIGN_COMPLETE = "campaign_complete"  #: receipt
    WISH_CHANGED = "wish_changed"  #: partition mark


@dataclass(frozen=True, slots=True)
class FollowOn:
    """What becomes due, and the states in which it still makes sense (empty: any)."""

    due: Due
    while_in: frozenset[str] = frozenset()


_A = AttemptState

FOLLOW_ONS: Mapping[Topic, FollowOn] = MappingProxyType(
    {
        Topic.SUBMITTED: FollowOn(Due.REVISION),
        Topic.APPROVED: FollowOn(Due.ATTEMPT, frozenset({_A.QUEUED, _A.SUBMITTING})),
        Topic.OUTPUT_REPORTED: FollowOn(Due.ATTEMPT, frozenset({_A.RETRIEVING})),
        Topic.OWNED: FollowOn(Due.ATTEMPT, frozenset({_A.STORED})),
        Topic.MANIFEST_COMPLETE: FollowOn(Due.ATTEMPT, frozenset({_A.STORED, _A.INDEXED})),
        Topic.INDEXED: FollowOn(Due.ATTEMPT, frozenset({_A.INDEXED})),
        Topic.ACCEPTED: FollowOn(Due.ATTEMPT, frozenset({_A.INDEXED})),
        Topic.WITHDRAWN_FROM_VIEW: FollowOn(Due.INDEX_ENTRIES),
        Topic.ENDED_UNBILLED: FollowOn(Due.ATTEMPT, frozenset({_A.FAILED, _A.CANCELLED})),
        Topic.OVERDUE: FollowOn(Due.ATTEMPT, frozenset({_A.GENERATING})),
        Topic.SELECTED: FollowOn(Due.ATTEMPT),
        Topic.BUDGET_FREED: FollowOn(Due.CAMPAIGN_ATTEMPTS),
        Topic.SET_DECIDED: FollowOn(Due.RECEIPT),
        Topic.CAMPAIGN_COMPLETE: FollowOn(Due.RECEIPT),
        Topic.WISH_CHANGED: FollowOn(Due.MARK),
    }
)
