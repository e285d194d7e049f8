"""G2, G3, G7, G9, G10: intent before the send, one paid job, proof before a second one."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from resources.database import schema
from resources.database.database import Transaction
from resources.database.lane_claims import claim_submissions
from resources.providers.protocol import NotSent
from tests.conftest import Clock
from tests.database import rows
from tests.steps.remote import Remote


def test_an_accepted_attempt_is_generating_with_its_handle_hold_and_one_start(remote: Remote) -> None:
    [name] = remote.queue("r-1", quote=6_000_000)

    assert remote.submit() == {"accepted": 1}

    row = remote.attempt(name)
    assert (row.state, row.submission, row.lane_held) == ("generating", "accepted", 1)
    assert row.handle
    [hold] = rows.rows(remote.database, schema.holds)
    assert (hold.amount, hold.state) == (6_000_000, "open")
    meters = [(fact.meter, fact.quantity) for fact in rows.rows(remote.database, schema.usage_facts)]
    assert meters == [("generation_starts", 1)]
    assert len(remote.renderer.bill()) == 1


def test_the_intent_is_durable_before_the_first_byte_is_sent(remote: Remote) -> None:
    [name] = remote.queue("r-1")
    remote.renderer.arm({"on": "POST /jobs", "reply": {"close": True}})

    remote.submit()

    [sent] = rows.rows(remote.database, schema.sends)
    assert (sent.attempt, sent.n, sent.result) == (name, 1, "unknown")
    assert remote.attempt(name).submission == "unknown"


def test_a_refused_connection_proves_that_nothing_was_sent(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1")
    remote.renderer.kill()

    assert remote.submit() == {"not_sent": 1}

    row = remote.attempt(name)
    assert (row.state, row.submission, row.lane_held) == ("submitting", "not_sent", 0)
    assert row.next_action_at > clock.at


def test_what_was_not_sent_is_sent_again_under_the_same_key(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1")
    remote.renderer.kill()
    remote.submit()
    remote.renderer.start()
    clock.pass_seconds(400)

    assert remote.submit() == {"accepted": 1}

    keys = {sent.idempotency_key for sent in rows.rows(remote.database, schema.sends)}
    assert keys == {remote.attempt(name).idempotency_key}


def test_sending_tries_are_bounded_and_end_in_a_failure_that_frees_the_hold(
    remote: Remote, clock: Clock
) -> None:
    [name] = remote.queue("r-1", quote=1)
    remote.renderer.kill()
    for _ in range(remote.terms.send_tries):
        remote.submit()
        clock.pass_seconds(400)

    row = remote.attempt(name)
    assert (row.state, row.outcome_reason) == ("failed", "sending_tries_used_up")
    [hold] = rows.rows(remote.database, schema.holds)
    assert hold.state == "released"


def test_a_refusal_for_good_fails_without_a_second_send(remote: Remote) -> None:
    [name] = remote.queue("r-1", quote=1)
    refusal = {"status": 400, "json": {"error": {"code": "moderation_blocked", "message": "no"}}}
    remote.renderer.arm({"on": "POST /jobs", "reply": refusal})

    assert remote.submit() == {"failed": 1}

    row = remote.attempt(name)
    assert (row.submission, row.outcome_class) == ("refused", "source_rejected")
    assert (row.lane_held, remote.submit()) == (0, {})


def test_over_the_cap_the_item_is_parked_and_the_budget_is_untouched(remote: Remote) -> None:
    one, two = remote.queue("r-1", "r-2", quote=30_000_000)

    assert remote.submit() == {"accepted": 1, "parked": 1}

    states = {remote.attempt(name).state: remote.attempt(name).parked_reason for name in (one, two)}
    assert states == {"generating": None, "queued": "over_budget"}
    [budget] = rows.rows(remote.database, schema.budgets)
    assert (budget.held, budget.settled) == (30_000_000, 0)


def test_no_more_than_the_caps_are_in_flight_and_tenants_share_them(remote: Remote) -> None:
    narrow = remote.with_terms(in_flight=4, in_flight_per_tenant=3)
    narrow.queue(*(f"r-{n}" for n in range(5)))
    other = rows.campaign(narrow.database, "southwind.spring")
    for n in range(5):
        rendition = rows.rendition(narrow.database, other, f"s-{n}")
        rows.attempt(narrow.database, other, rendition, provider="fault", next_action_at=0)

    narrow.submit()

    with narrow.database.reading() as connection:
        in_flight = dict(
            connection.execute(
                sa.select(schema.attempts.c.tenant, sa.func.count())
                .where(schema.attempts.c.state == "generating")
                .group_by(schema.attempts.c.tenant)
            ).all()
        )
    assert in_flight == {"northwind": 2, "southwind": 2}


def test_a_paused_stage_claims_nothing_and_loses_nothing(remote: Remote) -> None:
    from pipeline.steps.operate.pause import pause, resume

    remote.queue("r-1")
    scope = {"stage": "submit", "provider": "fault", "tenant": "*", "actor": "ada"}
    pause(remote.database, reason="maintenance", **scope)
    assert remote.submit() == {}

    resume(remote.database, **scope)

    assert remote.submit() == {"accepted": 1}


def lose_the_answer(remote: Remote) -> str:
    """One attempt whose POST was taken while its answer was lost."""
    [name] = remote.queue("r-1", quote=5)
    remote.renderer.arm({"on": "POST /jobs", "reply": {"close_after_accept": True}})
    assert remote.submit() == {"unknown": 1}
    return name


def test_class_k_sends_again_under_its_key_and_pays_once(remote: Remote, clock: Clock) -> None:
    name = lose_the_answer(remote)
    clock.pass_seconds(6)

    assert remote.reconcile() == {"accepted": 1}

    assert remote.attempt(name).state == "generating"
    assert len(remote.renderer.bill()) == 1


@pytest.mark.parametrize("remote", ["l"], indirect=True)
def test_class_l_binds_what_the_look_up_finds(remote: Remote, clock: Clock) -> None:
    name = lose_the_answer(remote)
    clock.pass_seconds(6)

    assert remote.reconcile() == {"accepted": 1}

    assert remote.attempt(name).state == "generating"
    assert len(remote.renderer.bill()) == 1


@pytest.mark.parametrize("remote", ["l"], indirect=True)
def test_class_l_sends_again_only_after_two_looks_prove_absence(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1")
    remote.renderer.arm({"on": "POST /jobs", "reply": {"close": True}})
    remote.submit()
    clock.pass_seconds(6)
    assert remote.reconcile() == {"looking": 1}
    assert remote.attempt(name).submission == "unknown"

    clock.pass_seconds(15)
    assert remote.reconcile() == {"not_sent": 1}

    clock.pass_seconds(400)
    assert remote.submit() == {"accepted": 1}
    assert len(remote.renderer.bill()) == 1


@pytest.mark.parametrize("remote", ["w"], indirect=True)
def test_class_w_binds_what_the_listing_names(remote: Remote, clock: Clock) -> None:
    lose_the_answer(remote)
    clock.pass_seconds(6)

    assert remote.reconcile() == {"accepted": 1}
    assert len(remote.renderer.bill()) == 1


@pytest.mark.parametrize("remote", ["w", "n"], indirect=True)
def test_classes_w_and_n_never_send_twice_and_wait_for_a_person(remote: Remote, clock: Clock) -> None:
    [name] = remote.queue("r-1")
    reply = {"close_after_accept": True, "unlisted": True}
    remote.renderer.arm({"on": "POST /jobs", "reply": reply})
    remote.submit()
    for _ in range(5):
        clock.pass_seconds(60)
        remote.reconcile()
        assert remote.submit() == {}

    row = remote.attempt(name)
    assert (row.submission, row.parked_reason) == ("unknown", "awaiting_verdict")
    assert len(remote.renderer.bill()) == 1


@pytest.mark.parametrize("remote", ["n"], indirect=True)
def test_a_verdict_binds_the_lost_job_and_settles_the_unconfirmed_start(remote: Remote, clock: Clock) -> None:
    from pipeline.steps.operate.resolve import accepted

    name = lose_the_answer(remote)
    clock.pass_seconds(6)
    remote.reconcile()

    [line] = remote.renderer.bill()
    accepted(
        remote.database, name, "northwind", remote.terms,
        handle=line.id, actor="ada", reason="seen in their console",
    )  # fmt: skip

    assert remote.attempt(name).state == "generating"
    meters = sum_meters(remote)
    assert meters == {"generation_starts": 1, "starts_unconfirmed": 0}


def sum_meters(remote: Remote) -> dict[str, int]:
    meters: dict[str, int] = {}
    for fact in rows.rows(remote.database, schema.usage_facts):
        meters[fact.meter] = meters.get(fact.meter, 0) + fact.quantity
    return meters


def test_a_write_off_settles_the_hold_in_full_and_frees_the_lane(remote: Remote) -> None:
    from pipeline.steps.operate.resolve import write_off

    name = lose_the_answer(remote)

    write_off(remote.database, name, "northwind", actor="ada", reason="provider closed")

    [hold] = rows.rows(remote.database, schema.holds)
    assert (hold.state, hold.settled_amount) == ("settled", 5)
    row = remote.attempt(name)
    assert (row.state, row.lane_held) == ("failed", 0)


def test_a_worker_that_lost_its_lease_records_evidence_and_moves_nothing(remote: Remote) -> None:
    """L7: the answer arrives after somebody took the attempt over; the remote job stays known."""
    [name] = remote.queue("r-1")
    one = remote.submitting
    one.open_lanes()
    claimed = remote.database.run(lambda tx: claim_submissions(tx, "fault", "slow worker"))
    ready, _ = one._prepare(claimed)
    sending, _ = remote.database.run(lambda tx: one.begin(tx, ready))

    def take_over(tx: Transaction) -> None:
        tx.connection.execute(schema.attempts.update().values(lease_token=99))

    answers = asyncio.run(one.send(sending))
    remote.database.run(take_over)
    [result] = remote.database.run(lambda tx: one.record(tx, sending, answers))

    assert result.word == "lost"
    assert remote.attempt(name).state == "submitting"
    [job] = rows.rows(remote.database, schema.remote_jobs)
    assert (job.attempt, job.bound) == (name, 0)


@pytest.mark.parametrize("change", [{"lease_token": 99}, {"lease_until": 0}])
def test_a_worker_that_lost_its_lease_before_the_post_sends_nothing(
    remote: Remote, change: dict[str, int]
) -> None:
    """L7, G3: whoever has the attempt by now may have proven absence and sent it again."""
    remote.queue("r-1")
    one = remote.submitting
    one.open_lanes()
    claimed = remote.database.run(lambda tx: claim_submissions(tx, "fault", "frozen worker"))
    ready, _ = one._prepare(claimed)
    sending, _ = remote.database.run(lambda tx: one.begin(tx, ready))
    remote.database.run(lambda tx: tx.connection.execute(schema.attempts.update().values(**change)))

    [answer] = asyncio.run(one.send(sending))

    assert answer == NotSent("no_longer_ours")
    assert remote.renderer.bill() == []


def test_a_second_send_that_fails_does_not_unsay_the_first(remote: Remote, clock: Clock) -> None:
    """L1: back to `not_sent` only on proof that nothing was taken; a refused connection is none then."""
    name = lose_the_answer(remote)
    remote.renderer.kill()
    clock.pass_seconds(6)
    remote.reconcile()

    row = remote.attempt(name)
    assert (row.state, row.submission, row.lane_held) == ("submitting", "unknown", 1)
    assert sum_meters(remote) == {"starts_unconfirmed": 1}


def test_a_second_send_that_is_answered_settles_the_possible_start(remote: Remote, clock: Clock) -> None:
    name = lose_the_answer(remote)
    nothing = {"status": 200, "json": {"jobs": [], "cursor": None}}
    remote.renderer.arm({"on": "GET /jobs", "reply": nothing})
    clock.pass_seconds(6)

    assert remote.reconcile() == {"accepted": 1}
    assert remote.attempt(name).send_tries == 2
    assert len(remote.renderer.bill()) == 1
    assert sum_meters(remote) == {"generation_starts": 1, "starts_unconfirmed": 0}


def test_a_lost_send_whose_inputs_are_gone_stays_unknown(remote: Remote, clock: Clock) -> None:
    """Only a person writes off what may have been taken (L1), and its place stays taken (G10)."""
    name = lose_the_answer(remote)
    nothing = {"status": 200, "json": {"jobs": [], "cursor": None}}
    remote.renderer.arm({"on": "GET /jobs", "reply": nothing})
    rendition = schema.renditions.update().values(sources=["f" * 64])
    remote.database.run(lambda tx: tx.connection.execute(rendition))
    clock.pass_seconds(6)
    remote.reconcile()

    row = remote.attempt(name)
    assert (row.state, row.submission, row.lane_held) == ("submitting", "unknown", 1)


@pytest.mark.parametrize("remote", ["n"], indirect=True)
def test_a_start_whose_sender_died_is_booked_as_possible(remote: Remote, clock: Clock) -> None:
    """F1: nobody is left who could say that the answer was lost."""
    remote.queue("r-1")
    one = remote.submitting
    one.open_lanes()
    claimed = remote.database.run(lambda tx: claim_submissions(tx, "fault", "dead worker"))
    ready, _ = one._prepare(claimed)
    remote.database.run(lambda tx: one.begin(tx, ready))
    clock.pass_seconds(70)

    assert remote.reconcile() == {"awaiting_verdict": 1}
    assert sum_meters(remote) == {"starts_unconfirmed": 1}
