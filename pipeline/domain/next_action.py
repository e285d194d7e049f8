"""What next, and why: the one answer for recovery plan, reconciler and lots (B2).

Belongs here: item facts in, one action out, in the order in which facts overrule each other. Does not
belong here: doing it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import (
    ENDED_STATES,
    AttemptState,
    Parked,
    SourceSetState,
    Submission,
)


class Action(enum.StrEnum):
    WAIT_FOR_SOURCES = "wait_for_sources"  #: a source is missing, growing or refused
    DECIDE = "decide"  #: moderation waits for a person
    SUBMIT = "submit"  #: nothing was sent; the next submit lot takes it
    RECONCILE_UNKNOWN = "reconcile_unknown"  #: a send may have been taken; look for it
    GIVE_VERDICT = "give_verdict"  #: only a person can say whether a send was taken
    CONTINUE_POLLING = "continue_polling"  #: the remote job runs
    CHECK_DELIVERY = "check_delivery"  #: the provider says there is output; fetch it
    RESUME_PROCESSING = "resume_processing"  #: the bytes are owned; derive, index, publish
    ACCEPT_OR_DECLINE = "accept_or_decline"  #: publication waits for a reviewer
    RAISE_BUDGET = "raise_budget"  #: parked over budget
    RESUME_CLAIMS = "resume_claims"  #: a pause holds it
    REVIEW_REASON = "review_reason"  #: it ended or was refused; a person reads why and decides
    RETRY_BY_ITSELF = "retry_by_itself"  #: an unbilled end within the attempt limit
    NOTHING = "nothing"  #: it is where it should be


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One wish as it stands. `may_try_anew`: its end is proven unbilled and the attempt limit allows."""

    source_set: SourceSetState
    attempt: AttemptState | None = None
    submission: Submission = Submission.NOT_SENT
    parked: Parked | None = None
    is_paused: bool = False
    is_selected: bool = True
    is_wanted: bool = True
    is_published: bool = False
    is_derived: bool = False
    by_approval: bool = False
    is_accepted: bool = False
    is_declined: bool = False
    is_purged: bool = False
    is_withdrawn: bool = False  #: its slot was emptied by a person and nothing was wanted since
    may_try_anew: bool = False
    stays_wrong: bool = False  #: the provider refused what was asked for, and would again


@dataclass(frozen=True, slots=True)
class NextAction:
    action: Action
    why: str
    stage: Stage | None = None  #: the lot that does it by itself; None: a person, the poller, or nobody

    @property
    def needs_person(self) -> bool:
        return self.action in _FOR_PEOPLE


_FOR_PEOPLE = frozenset(
    {
        Action.WAIT_FOR_SOURCES,
        Action.DECIDE,
        Action.GIVE_VERDICT,
        Action.ACCEPT_OR_DECLINE,
        Action.RAISE_BUDGET,
        Action.RESUME_CLAIMS,
        Action.REVIEW_REASON,
    }
)


def next_action(item: ItemFacts) -> NextAction:
    """The one next action of *item*."""
    if item.attempt is None:
        return _OF_SOURCE_SETS[item.source_set]
    if item.is_purged:
        return NextAction(Action.NOTHING, "its object was purged; `--take` makes a new one")
    return _BY_STATE[item.attempt](item)


_OF_SOURCE_SETS: Mapping[SourceSetState, NextAction] = MappingProxyType(
    {
        SourceSetState.UPLOADED: NextAction(
            Action.WAIT_FOR_SOURCES,
            "an image is missing, growing or refused, or it waits for `submit --now`; `status CAMPAIGN` says",
        ),
        SourceSetState.MODERATING: NextAction(Action.DECIDE, "the policy reached no decision", Stage.INGEST),
        SourceSetState.APPROVED: NextAction(Action.NOTHING, "this revision made nothing for the slot"),
        SourceSetState.REJECTED: NextAction(
            Action.REVIEW_REASON, "moderation rejected it; a new revision or a review leads on"
        ),
        SourceSetState.WITHDRAWN: NextAction(Action.NOTHING, "the revision was withdrawn"),
    }
)


def _before_a_handle(item: ItemFacts) -> NextAction:
    if item.parked is Parked.AWAITING_VERDICT:
        return NextAction(Action.GIVE_VERDICT, "a send may have been taken and the provider cannot say")
    if item.submission is Submission.UNKNOWN:
        return NextAction(Action.RECONCILE_UNKNOWN, "the answer to its send was lost")
    if item.is_paused:
        return NextAction(Action.RESUME_CLAIMS, "submission is paused", Stage.SUBMIT)
    if item.parked is Parked.OVER_BUDGET:
        return NextAction(Action.RAISE_BUDGET, "its hold would pass the campaign's cap")
    return NextAction(Action.SUBMIT, "nothing was sent", Stage.SUBMIT)


def _generating(item: ItemFacts) -> NextAction:
    if item.is_paused:
        return NextAction(Action.RESUME_CLAIMS, "polling is paused")
    return NextAction(Action.CONTINUE_POLLING, "the remote job has not ended")


def _retrieving(item: ItemFacts) -> NextAction:
    if item.is_paused:
        return NextAction(Action.RESUME_CLAIMS, "retrieval is paused", Stage.RETRIEVE)
    return NextAction(
        Action.CHECK_DELIVERY, "the provider says there is output; it is not owned yet", Stage.RETRIEVE
    )


def _owned(item: ItemFacts) -> NextAction:
    if item.parked in (Parked.UNDERIVABLE, Parked.UNINDEXABLE):
        return NextAction(Action.REVIEW_REASON, f"its owned media is {item.parked}")
    if item.is_published:
        return NextAction(Action.NOTHING, "published in its slot")
    if not item.is_selected or not item.is_wanted:
        return NextAction(Action.NOTHING, "kept for audit; its slot wants another")
    if item.attempt is AttemptState.STORED:
        stage = Stage.PUBLISH if item.is_derived else Stage.DERIVE
        if item.is_paused:
            return NextAction(Action.RESUME_CLAIMS, f"{stage} is paused", stage)
        return NextAction(Action.RESUME_PROCESSING, "the bytes are owned", stage)
    return _indexed(item)


def _indexed(item: ItemFacts) -> NextAction:
    if item.is_withdrawn:
        return NextAction(Action.NOTHING, "a person took it out of its slot; `accept` shows it again")
    if item.is_declined:
        return NextAction(Action.NOTHING, "a reviewer declined it")
    if item.by_approval and not item.is_accepted:
        return NextAction(Action.ACCEPT_OR_DECLINE, "the campaign publishes on approval")
    if item.is_paused:
        return NextAction(Action.RESUME_CLAIMS, "publication is paused", Stage.PUBLISH)
    return NextAction(Action.RESUME_PROCESSING, "indexed, not yet published", Stage.PUBLISH)


def _ended(item: ItemFacts) -> NextAction:
    if not item.is_selected or not item.is_wanted:
        return NextAction(Action.NOTHING, "ended; its slot wants another")
    if item.may_try_anew:
        return NextAction(Action.RETRY_BY_ITSELF, "an unbilled end within the attempt limit", Stage.SUBMIT)
    if item.stays_wrong:
        return NextAction(
            Action.REVIEW_REASON,
            "what the brief asks for was refused and would be again; a new revision leads on",
        )
    return NextAction(Action.REVIEW_REASON, "it ended; `retry` makes a new attempt")


_BY_STATE: Mapping[AttemptState, Callable[[ItemFacts], NextAction]] = MappingProxyType(
    {
        AttemptState.QUEUED: _before_a_handle,
        AttemptState.SUBMITTING: _before_a_handle,
        AttemptState.GENERATING: _generating,
        AttemptState.RETRIEVING: _retrieving,
        AttemptState.STORED: _owned,
        AttemptState.INDEXED: _owned,
        **dict.fromkeys(ENDED_STATES, _ended),
    }
)
