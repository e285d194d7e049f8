"""L11: every outbox topic makes something due, by a statement that exists, in states that exist."""

from __future__ import annotations

from pipeline.domain.follow_ons import FOLLOW_ONS, Due, Stage, Topic
from pipeline.domain.lifecycle import ENDED_STATES, AttemptState
from resources.database.claims import WORK_OF
from resources.database.delivery import _MAKE_DUE


def test_every_topic_makes_something_due() -> None:
    assert set(FOLLOW_ONS) == set(Topic)


def test_every_due_has_its_statement_and_its_topic() -> None:
    assert set(_MAKE_DUE) == set(Due)
    assert {follow_on.due for follow_on in FOLLOW_ONS.values()} == set(Due)


def test_a_follow_on_waits_for_states_of_attempts_only_when_it_makes_attempts_due() -> None:
    narrowed = {topic: one for topic, one in FOLLOW_ONS.items() if one.while_in}

    assert all(one.due is Due.ATTEMPT for one in narrowed.values())
    assert all(one.while_in <= set(AttemptState) for one in narrowed.values())


def test_work_on_an_ended_attempt_is_woken_by_the_retry_rule_and_a_selection_alone() -> None:
    wakes = {
        topic
        for topic, one in FOLLOW_ONS.items()
        if one.due is Due.ATTEMPT and (not one.while_in or one.while_in & ENDED_STATES)
    }

    assert wakes == {Topic.ENDED_UNBILLED, Topic.SELECTED}


def test_every_stage_of_attempts_has_its_work() -> None:
    assert set(WORK_OF) == set(Stage) - {Stage.INGEST}
