"""The outcome table is whole and hangs together (G5)."""

from __future__ import annotations

import pytest

from pipeline.domain.lifecycle import MOVES, AttemptState
from pipeline.domain.outcomes import CONSEQUENCES, Billed, Consequence, HoldFate, Outcome

ROWS = list(CONSEQUENCES.items())


def test_every_class_has_its_row() -> None:
    assert set(CONSEQUENCES) == set(Outcome)


@pytest.mark.parametrize(("outcome", "row"), ROWS)
def test_a_row_moves_where_an_attempt_may_move(outcome: Outcome, row: Consequence) -> None:
    assert row.state is None or row.state in MOVES[AttemptState.GENERATING]


@pytest.mark.parametrize(("outcome", "row"), ROWS)
def test_only_an_end_that_is_proven_unbilled_makes_a_new_attempt_by_itself(
    outcome: Outcome, row: Consequence
) -> None:
    if row.new_attempt:
        assert row.is_terminal
        assert row.billed is Billed.NO


@pytest.mark.parametrize(("outcome", "row"), ROWS)
def test_the_hold_follows_the_bill(outcome: Outcome, row: Consequence) -> None:
    if row.state is None:
        assert row.hold is HoldFate.KEEP
    else:
        assert (row.hold is HoldFate.SETTLE) == (row.billed is Billed.YES)
        assert (row.hold is HoldFate.RELEASE) == (row.billed is Billed.NO)


@pytest.mark.parametrize(("outcome", "row"), ROWS)
def test_an_end_is_neither_polled_on_nor_sent_again(outcome: Outcome, row: Consequence) -> None:
    if row.is_terminal:
        assert not row.poll_on
        assert not row.resend


def test_what_says_nothing_about_the_job_moves_nothing() -> None:
    silent = {outcome for outcome, row in ROWS if row.state is None}

    assert silent == {Outcome.QUOTA, Outcome.RATE_LIMIT, Outcome.NETWORK, Outcome.UNKNOWN}


def test_cancellation_is_an_end_of_its_own() -> None:
    cancelled = {outcome for outcome, row in ROWS if row.state is AttemptState.CANCELLED}

    assert cancelled == {Outcome.CANCELLED_BY_US, Outcome.CANCELLED_BY_PROVIDER}
