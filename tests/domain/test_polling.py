"""Backoff, Retry-After and the poll decision (P1, P2, G4, G6), on tables and on random histories."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.lifecycle import MOVES, AttemptState
from pipeline.domain.observations import Observation, Standing, UrlOutput
from pipeline.domain.outcomes import Billed, HoldFate, Outcome
from pipeline.domain.polling import (
    Decision,
    LastSeen,
    PollFacts,
    backoff_seconds,
    decide,
    retry_after_from,
    retry_after_seconds,
)
from pipeline.domain.provider_terms import PollPace

NOW = datetime(2026, 4, 2, 10, tzinfo=UTC)
HANDLE = "job-1"
OUTPUT = UrlOutput("https://cdn.example.com/1.mp4")
DATA = Path(__file__).parents[1] / "data" / "http"


def facts(**changes: object) -> PollFacts:
    values: dict[str, object] = {
        "state": AttemptState.GENERATING,
        "handle": HANDLE,
        "accepted_at": NOW - timedelta(minutes=5),
        "poll_count": 3,
        "deadline_at": NOW + timedelta(hours=1),
        "purge_horizon_at": NOW + timedelta(hours=24),
        "not_found_window_seconds": 30,
    }
    return PollFacts(**{**values, **changes})  # type: ignore[arg-type]


def saw(standing: Standing, **more: object) -> Observation:
    return Observation(HANDLE, standing, **more)  # type: ignore[arg-type]


def follow(looks: list[Observation], *, every: timedelta, start: PollFacts | None = None) -> list[Decision]:
    """Decide look by look, as the poller does with what it stored last time."""
    at, decisions, current = NOW, [], start or facts()
    for look in looks:
        decision = decide(current, look, now=at, spread=0.5)
        decisions.append(decision)
        current = facts(
            state=decision.move.target if decision.move else current.state,
            last_seen=LastSeen.load(decision.last_seen.dump()),
            overdue_at=at if decision.becomes_overdue else current.overdue_at,
            poll_count=current.poll_count + 1,
        )
        at += every
    return decisions


@pytest.mark.parametrize(("step", "expected"), list(enumerate([5, 30, 600, 60, 60, 600, 60])), ids=str)
def test_retry_after_is_read_in_all_forms_of_the_case_file(step: int, expected: float) -> None:
    script = json.loads((DATA / "http_retry_after.json").read_text())
    header = script["steps"][step]["reply"]["headers"]["Retry-After"]

    assert retry_after_seconds(header, now=NOW, default=60, cap=600) == expected


def test_a_date_is_measured_by_the_servers_own_clock() -> None:
    headers = {"retry-after": "Thu, 02 Apr 2026 10:00:30 GMT", "date": "Thu, 02 Apr 2026 10:00:10 GMT"}

    assert retry_after_from(headers) == 20
    assert retry_after_from({"retry-after": headers["retry-after"]}) is None


@given(st.text(max_size=40), st.floats(0, 1e6), st.floats(0, 1e6))
def test_no_retry_after_breaks_the_bounds(header: str, default: float, cap: float) -> None:
    wait = retry_after_seconds(header, now=NOW, default=default, cap=cap)

    assert wait == default or 0 <= wait <= cap


@given(st.integers(-3, 10_000), st.floats(0, 1, exclude_max=True))
def test_backoff_is_bounded_and_never_below_its_base(tries: int, spread: float) -> None:
    wait = backoff_seconds(tries, first=2, ceiling=60, spread=spread)
    base = min(60.0, 2.0 * 2.0 ** max(0, min(tries, 10)))

    assert base <= wait <= base * 1.25


def test_reported_output_moves_to_retrieving_and_settles() -> None:
    decision = decide(facts(), saw(Standing.OUTPUT, outputs=(OUTPUT,)), now=NOW, spread=0)

    assert decision.move is not None
    assert decision.move.target is AttemptState.RETRIEVING
    assert (decision.billed, decision.hold) == (Billed.YES, HoldFate.SETTLE)
    assert decision.next_poll_at is None
    assert decision.is_new_evidence


def test_done_without_output_gets_three_looks_and_then_fails_with_the_charge() -> None:
    looks = [saw(Standing.OUTPUT, word=word) for word in ("completed", "done", "completed")]
    first, second, third = follow(looks, every=timedelta(seconds=10))

    assert first.move is None
    assert first.is_new_evidence
    assert second.move is None
    assert not second.is_new_evidence
    assert third.move is not None
    assert third.move.target is AttemptState.FAILED
    assert third.outcome is Outcome.COMPLETED_WITHOUT_OUTPUT
    assert third.hold is HoldFate.SETTLE


def test_not_found_just_after_submit_says_nothing() -> None:
    start = facts(accepted_at=NOW - timedelta(seconds=10), not_found_window_seconds=3600)
    decisions = [decide(start, saw(Standing.NOT_FOUND), now=NOW, spread=0) for _ in range(9)]

    assert all(decision.move is None for decision in decisions)
    assert all(decision.next_poll_at is not None for decision in decisions)


def test_flapping_not_found_is_never_believed() -> None:
    looks = [saw(Standing.NOT_FOUND), saw(Standing.RUNNING)] * 6
    decisions = follow(looks, every=timedelta(minutes=4))

    assert all(decision.move is None for decision in decisions)


def test_not_found_is_believed_after_three_looks_over_ten_minutes() -> None:
    quick = follow([saw(Standing.NOT_FOUND)] * 4, every=timedelta(minutes=1))
    slow = follow([saw(Standing.NOT_FOUND)] * 3, every=timedelta(minutes=5))

    assert all(decision.move is None for decision in quick)
    assert [decision.move is None for decision in slow] == [True, True, False]
    assert slow[-1].outcome is Outcome.RESULT_EXPIRED


def test_an_unreachable_provider_neither_makes_nor_breaks_a_line_of_looks() -> None:
    looks = [saw(Standing.NOT_FOUND), saw(Standing.UNREACHABLE), saw(Standing.NOT_FOUND)]
    decisions = follow([*looks, saw(Standing.NOT_FOUND)], every=timedelta(minutes=5))

    assert not decisions[1].is_new_evidence
    assert decisions[-1].move is not None


def test_an_unknown_word_is_new_once_and_polled_on() -> None:
    looks = [saw(Standing.UNREADABLE, word="throttled", outcome=Outcome.UNKNOWN)] * 3
    decisions = follow(looks, every=timedelta(seconds=30))

    assert [decision.is_new_evidence for decision in decisions] == [True, False, False]
    assert all(decision.move is None and decision.next_poll_at for decision in decisions)


def test_the_deadline_makes_overdue_once_and_polls_slowly() -> None:
    late = facts(deadline_at=NOW - timedelta(seconds=1))
    first = decide(late, saw(Standing.RUNNING), now=NOW, spread=0)
    again = decide(facts(overdue_at=NOW), saw(Standing.RUNNING), now=NOW, spread=0)

    assert first.becomes_overdue
    assert first.move is None
    assert first.next_poll_at == NOW + timedelta(seconds=PollPace().overdue_seconds)
    assert not again.becomes_overdue
    assert again.next_poll_at == first.next_poll_at


def test_past_the_purge_horizon_it_is_failed_unless_output_comes() -> None:
    gone = facts(purge_horizon_at=NOW, overdue_at=NOW - timedelta(hours=5))
    failed = decide(gone, saw(Standing.RUNNING), now=NOW, spread=0)
    saved = decide(gone, saw(Standing.OUTPUT, outputs=(OUTPUT,)), now=NOW, spread=0)

    assert failed.outcome is Outcome.RESULT_EXPIRED
    assert failed.hold is HoldFate.SETTLE
    assert saved.move is not None
    assert saved.move.target is AttemptState.RETRIEVING


def test_the_providers_own_word_on_the_bill_wins_over_the_table() -> None:
    fault = {"outcome": Outcome.PROVIDER_FAULT}
    silent, charged = (
        decide(facts(), saw(Standing.ENDED, billed=billed, **fault), now=NOW, spread=0)
        for billed in (None, True)
    )

    assert silent.may_try_anew
    assert silent.hold is HoldFate.RELEASE
    assert not charged.may_try_anew
    assert charged.hold is HoldFate.SETTLE


def test_a_late_failure_does_not_undo_reported_output() -> None:
    retrieving = facts(state=AttemptState.RETRIEVING)
    decision = decide(retrieving, saw(Standing.ENDED, outcome=Outcome.PROVIDER_FAULT), now=NOW, spread=0)

    assert decision.move is None
    assert decision.is_new_evidence


def test_the_case_of_events_out_of_order_ends_where_the_first_end_was() -> None:
    events = json.loads((DATA / "http_out_of_order.json").read_text())["steps"]
    read = {
        "succeeded": saw(Standing.OUTPUT, word="succeeded", outputs=(OUTPUT,)),
        "processing": saw(Standing.RUNNING, word="processing"),
        "failed": saw(Standing.ENDED, word="failed", outcome=Outcome.PROVIDER_FAULT),
    }
    decisions = follow([read[step["event"]] for step in events], every=timedelta(seconds=1))

    assert [decision.move is not None for decision in decisions] == [True, False, False, False]


def test_another_jobs_observation_changes_nothing() -> None:
    foreign = Observation("job-2", Standing.OUTPUT, outputs=(OUTPUT,))

    assert decide(facts(), foreign, now=NOW, spread=0) == Decision(last_seen=LastSeen())


def test_retry_after_is_honoured_up_to_the_cap() -> None:
    asked = saw(Standing.UNREACHABLE, outcome=Outcome.RATE_LIMIT, retry_after_seconds=1e9)
    decision = decide(facts(), asked, now=NOW, spread=0)

    assert decision.next_poll_at == NOW + timedelta(seconds=PollPace().retry_after_cap_seconds)


@pytest.mark.parametrize(
    "text", [None, "", "null", "[]", "{", '{"looks": "x"}', '{"since": 4}', '{"since": "?"}']
)
def test_a_memory_that_cannot_be_read_counts_as_never_seen(text: str | None) -> None:
    assert LastSeen.load(text) == LastSeen()


observations = st.builds(
    Observation,
    handle=st.sampled_from([HANDLE, "other"]),
    standing=st.sampled_from(Standing),
    word=st.sampled_from(["", "running", "weird"]),
    outcome=st.none() | st.sampled_from(Outcome),
    outputs=st.sampled_from([(), (OUTPUT,)]),
    billed=st.none() | st.booleans(),
    retry_after_seconds=st.none() | st.floats(0, 1e9),
)


@given(st.sampled_from(AttemptState), st.lists(st.tuples(observations, st.integers(0, 40_000)), max_size=12))
def test_no_history_moves_back_or_forgets_to_look_again(
    state: AttemptState, history: list[tuple[Observation, int]]
) -> None:
    current, at = facts(state=state), NOW
    for look, seconds in history:
        at += timedelta(seconds=seconds)
        decision = decide(current, look, now=at, spread=0.3)
        if decision.move is not None:
            assert decision.move.source is current.state
            assert decision.move.target in MOVES[current.state]
            assert decision.next_poll_at is None
        elif current.state in (AttemptState.GENERATING, AttemptState.RETRIEVING) and look.handle == HANDLE:
            assert decision.next_poll_at is not None
            assert at < decision.next_poll_at <= at + timedelta(hours=1, minutes=5)
        else:
            assert not decision.is_new_evidence
        current = facts(
            state=decision.move.target if decision.move else current.state, last_seen=decision.last_seen
        )


@given(observations, st.integers(0, 200_000))
def test_the_same_observation_again_is_no_new_evidence(look: Observation, seconds: int) -> None:
    at = NOW + timedelta(seconds=seconds)
    first = decide(facts(), look, now=at, spread=0)
    target = first.move.target if first.move else AttemptState.GENERATING
    again = decide(facts(state=target, last_seen=first.last_seen), look, now=at, spread=0)

    if first.move is not None or not first.is_new_evidence:
        assert again.move is None
    assert not again.is_new_evidence
