"""B2: one next action for every combination of facts; nothing that may cost is advised on a guess."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import ENDED_STATES, AttemptState, Parked, SourceSetState, Submission
from pipeline.domain.next_action import Action, ItemFacts, next_action

_A = AttemptState
_APPROVED = SourceSetState.APPROVED

_FACTS = st.builds(
    ItemFacts,
    source_set=st.sampled_from(SourceSetState),
    attempt=st.none() | st.sampled_from(_A),
    submission=st.sampled_from(Submission),
    parked=st.none() | st.sampled_from(Parked),
    is_paused=st.booleans(),
    is_selected=st.booleans(),
    is_wanted=st.booleans(),
    is_published=st.booleans(),
    is_derived=st.booleans(),
    by_approval=st.booleans(),
    is_accepted=st.booleans(),
    is_declined=st.booleans(),
    is_purged=st.booleans(),
    may_try_anew=st.booleans(),
)


@given(_FACTS)
def test_every_combination_of_facts_has_one_action_and_says_why(item: ItemFacts) -> None:
    found = next_action(item)

    assert found.action in Action
    assert found.why


@given(_FACTS)
def test_a_send_is_advised_only_where_nothing_was_sent(item: ItemFacts) -> None:
    if next_action(item).action is Action.SUBMIT:
        assert item.attempt in (_A.QUEUED, _A.SUBMITTING)
        assert item.submission is not Submission.UNKNOWN


@given(_FACTS)
def test_another_attempt_is_advised_only_after_an_unbilled_end_that_somebody_wants(item: ItemFacts) -> None:
    if next_action(item).action is Action.RETRY_BY_ITSELF:
        assert item.attempt in ENDED_STATES
        assert item.may_try_anew
        assert item.is_selected
        assert item.is_wanted


@given(_FACTS)
def test_publication_is_advised_only_for_what_its_slot_wants_and_nobody_declined(item: ItemFacts) -> None:
    found = next_action(item)
    if found.action is Action.RESUME_PROCESSING and item.attempt is _A.INDEXED:
        assert item.is_selected
        assert item.is_wanted
        assert not item.is_declined
        assert item.is_accepted or not item.by_approval


@given(_FACTS)
def test_what_is_purged_asks_for_nothing(item: ItemFacts) -> None:
    if item.attempt is not None and item.is_purged:
        assert next_action(item).action is Action.NOTHING


@given(_FACTS)
def test_what_a_person_must_do_is_done_by_no_lot(item: ItemFacts) -> None:
    found = next_action(item)
    if found.action in (Action.GIVE_VERDICT, Action.ACCEPT_OR_DECLINE, Action.REVIEW_REASON):
        assert found.needs_person
        assert found.stage is None


def _item(attempt: AttemptState, **facts: Any) -> ItemFacts:
    return ItemFacts(_APPROVED, attempt, **facts)


@pytest.mark.parametrize(
    ("item", "action", "stage"),
    [
        (ItemFacts(SourceSetState.UPLOADED), Action.WAIT_FOR_SOURCES, None),
        (ItemFacts(SourceSetState.MODERATING), Action.DECIDE, Stage.INGEST),
        (ItemFacts(_APPROVED), Action.NOTHING, None),
        (ItemFacts(SourceSetState.REJECTED), Action.REVIEW_REASON, None),
        (ItemFacts(SourceSetState.WITHDRAWN), Action.NOTHING, None),
        (_item(_A.QUEUED), Action.SUBMIT, Stage.SUBMIT),
        (_item(_A.QUEUED, is_paused=True), Action.RESUME_CLAIMS, Stage.SUBMIT),
        (_item(_A.QUEUED, parked=Parked.OVER_BUDGET), Action.RAISE_BUDGET, None),
        (_item(_A.SUBMITTING), Action.SUBMIT, Stage.SUBMIT),
        (_item(_A.SUBMITTING, submission=Submission.UNKNOWN), Action.RECONCILE_UNKNOWN, None),
        (
            _item(_A.SUBMITTING, submission=Submission.UNKNOWN, parked=Parked.AWAITING_VERDICT),
            Action.GIVE_VERDICT,
            None,
        ),
        (_item(_A.GENERATING), Action.CONTINUE_POLLING, None),
        (_item(_A.GENERATING, is_paused=True), Action.RESUME_CLAIMS, None),
        (_item(_A.RETRIEVING), Action.CHECK_DELIVERY, Stage.RETRIEVE),
        (_item(_A.RETRIEVING, is_paused=True), Action.RESUME_CLAIMS, Stage.RETRIEVE),
        (_item(_A.STORED), Action.RESUME_PROCESSING, Stage.DERIVE),
        (_item(_A.STORED, is_derived=True), Action.RESUME_PROCESSING, Stage.PUBLISH),
        (_item(_A.STORED, is_paused=True), Action.RESUME_CLAIMS, Stage.DERIVE),
        (_item(_A.STORED, parked=Parked.UNDERIVABLE), Action.REVIEW_REASON, None),
        (_item(_A.INDEXED), Action.RESUME_PROCESSING, Stage.PUBLISH),
        (_item(_A.INDEXED, is_published=True), Action.NOTHING, None),
        (_item(_A.INDEXED, is_wanted=False), Action.NOTHING, None),
        (_item(_A.INDEXED, is_declined=True), Action.NOTHING, None),
        (_item(_A.INDEXED, by_approval=True), Action.ACCEPT_OR_DECLINE, None),
        (_item(_A.INDEXED, by_approval=True, is_accepted=True), Action.RESUME_PROCESSING, Stage.PUBLISH),
        (_item(_A.INDEXED, is_paused=True), Action.RESUME_CLAIMS, Stage.PUBLISH),
        (_item(_A.FAILED), Action.REVIEW_REASON, None),
        (_item(_A.FAILED, may_try_anew=True), Action.RETRY_BY_ITSELF, Stage.SUBMIT),
        (_item(_A.CANCELLED, may_try_anew=True, is_wanted=False), Action.NOTHING, None),
    ],
)
def test_each_standing_has_its_action(item: ItemFacts, action: Action, stage: Stage | None) -> None:
    found = next_action(item)

    assert (found.action, found.stage) == (action, stage)
