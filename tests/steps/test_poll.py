"""P1-P3, G4-G6: looks become evidence, evidence becomes forward moves, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.domain.observations import Observation
from pipeline.steps.operate.cancel import Cancelled, cancel
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.operate.retry import retry, retry_due
from resources.database import schema
from resources.database.counters import counted
from resources.http.client import HttpClient
from tests.conftest import Clock
from tests.database import rows
from tests.steps.remote import Remote
from tests.steps.test_submit import sum_meters


def generating(remote: Remote, clock: Clock, **columns: object) -> str:
    [name] = remote.queue("r-1", quote=6, **columns)
    remote.submit()
    clock.pass_seconds(2)
    return name


def job_says(remote: Remote, times: int | None = 1, **body: object) -> None:
    remote.renderer.arm({"on": "GET /jobs/*", "reply": {"patch": body}, "times": times})


def test_reported_output_moves_on_settles_and_frees_the_lane(remote: Remote, clock: Clock) -> None:
    name = generating(remote, clock)

    remote.poll_until("retrieving", clock)

    row = remote.attempt(name)
    assert (row.state, row.lane_held, row.next_poll_at) == ("retrieving", 0, None)
    [hold] = rows.rows(remote.database, schema.holds)
    assert (hold.state, hold.settled_amount) == ("settled", 6)
    meters = sum_meters(remote)
    assert (meters["generation_starts"], meters["generated_seconds"]) == (1, 1)
    assert meters["status_requests"] == row.poll_count


def test_a_running_job_stays_and_is_due_again_later(remote: Remote, clock: Clock) -> None:
    name = generating(remote, clock)
    job_says(remote, status="running", output=None)

    report = remote.poll()

    row = remote.attempt(name)
    assert report.counts == {"unchanged": 1}
    assert (row.state, row.poll_count, row.lease_until) == ("generating", 1, 0)
    assert row.next_poll_at > clock.at


def test_the_same_answer_again_is_counted_and_kept_once(remote: Remote, clock: Clock) -> None:
    generating(remote, clock)
    job_says(remote, times=3, status="running", output=None)
    for _ in range(3):
        remote.poll()
        clock.pass_seconds(60)

    assert len(rows.rows(remote.database, schema.observations)) == 1
    with remote.database.reading() as connection:
        assert counted(connection, "observation_unchanged") == 2


def test_an_unknown_word_is_evidence_and_never_done(remote: Remote, clock: Clock) -> None:
    name = generating(remote, clock)
    job_says(remote, status="throttled")

    remote.poll()

    assert remote.attempt(name).state == "generating"
    [seen] = rows.rows(remote.database, schema.observations)
    assert (seen.standing, seen.word) == ("unreadable", "throttled")


def test_past_its_deadline_it_is_overdue_keeps_its_hold_and_is_polled_on(
    remote: Remote, clock: Clock
) -> None:
    name = generating(remote, clock)
    clock.pass_seconds(remote.terms.deadline_seconds)
    job_says(remote, status="running", output=None)

    remote.poll()

    row = remote.attempt(name)
    assert (row.state, row.overdue_at) == ("generating", clock.at)
    [hold] = rows.rows(remote.database, schema.holds)
    assert hold.state == "open"
    clock.pass_seconds(900)
    remote.poll_until("retrieving", clock)


def test_a_provider_fault_is_unbilled_and_makes_one_new_attempt_by_itself(
    remote: Remote, clock: Clock
) -> None:
    name = generating(remote, clock)
    job_says(remote, status="failed", output=None, error={"code": "crashed", "message": "x"})
    remote.poll()
    assert remote.attempt(name).state == "failed"
    relay_outbox(remote.database)

    assert retry_due(remote.database, {"fault": remote.terms}).counts == {"retried": 1}

    rendition = rows.read(remote.database, schema.renditions, "r-1")
    assert (rendition.selected_attempt, rendition.attempts_made) == ("r-1-a2", 2)
    assert remote.attempt(name).deselected_at is not None
    [hold] = rows.rows(remote.database, schema.holds)
    assert hold.state == "released"


def test_a_billed_end_waits_for_a_person_and_retry_makes_the_next_attempt(
    remote: Remote, clock: Clock
) -> None:
    name = generating(remote, clock)
    job_says(remote, times=3, status="succeeded", output=None)
    for _ in range(3):
        remote.poll()
        clock.pass_seconds(60)
    assert remote.attempt(name).outcome_class == "completed_without_output"
    relay_outbox(remote.database)
    assert retry_due(remote.database, {"fault": remote.terms}).counts == {}

    made = retry(remote.database, "r-1", "northwind", actor="ada", reason="worth another try")

    relay_outbox(remote.database)
    assert remote.submit() == {"accepted": 1}
    assert remote.attempt(made).state == "generating"


def test_cancelling_what_was_not_sent_ends_it_at_once(remote: Remote) -> None:
    [name] = remote.queue("r-1")

    assert cancel(remote.database, "r-1", "northwind", actor="ada", reason="typo") is Cancelled.AT_ONCE

    assert remote.attempt(name).state == "cancelled"
    assert remote.submit() == {}


def test_cancelling_what_was_sent_asks_the_provider_and_waits_for_its_report(
    remote: Remote, clock: Clock
) -> None:
    name = generating(remote, clock)
    job_says(remote, status="running", output=None)

    assert cancel(remote.database, "r-1", "northwind", actor="ada", reason="typo") is Cancelled.WANTED
    remote.poll()

    row = remote.attempt(name)
    assert (row.state, row.cancel_sent_at is not None) == ("generating", True)
    assert remote.renderer.seen().get("POST /jobs/{id}/cancel", 0) >= 1


def test_a_slow_provider_gets_lots_that_its_rate_answers_within_a_lease(
    remote: Remote, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.queue("r-1", "r-2", "r-3")
    remote.submit()
    clock.pass_seconds(2)
    slow, lots = remote.with_terms(polls_per_second=0.1), list[int]()
    look_up = slow.provider.look_up

    async def noted(client: HttpClient, handles: Sequence[str]) -> Sequence[Observation]:
        lots.append(len(handles))
        return await look_up(client, handles)

    monkeypatch.setattr(slow.provider, "look_up", noted)
    slow.poll()

    assert lots == [1, 1, 1]


def test_two_pollers_at_once_move_an_attempt_once(remote: Remote, clock: Clock) -> None:
    remote.queue(*(f"r-{n}" for n in range(12)))
    remote.submit()
    clock.pass_seconds(2)

    moved, end = 0, time.monotonic() + 30
    while moved < 12:
        assert time.monotonic() < end, f"{moved} of 12 in 30 s"
        with ThreadPoolExecutor(2) as pool:
            moved += sum(
                report.counts["retrieving"] for report in pool.map(lambda _: remote.poll(), range(2))
            )
        clock.pass_seconds(20)

    moves = [row for row in rows.rows(remote.database, schema.audit) if row.to_state == "retrieving"]
    assert len(moves) == len({row.subject_id for row in moves}) == 12
