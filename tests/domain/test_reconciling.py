"""G3, G9: what follows on a submission whose outcome is unknown, by what the provider offers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.outcomes import Reconciliation
from pipeline.domain.reconciling import Conduct, Lost, Next, reconcile

KEY, LOOKUP, LISTING, NONE = (
    Reconciliation.KEY, Reconciliation.LOOKUP, Reconciliation.LISTING, Reconciliation.NONE,
)  # fmt: skip
CONDUCT = Conduct(key_window_seconds=1_000, lookup_lag_seconds=30)

_LOST = st.builds(
    Lost,
    reconciliation=st.sampled_from(Reconciliation),
    seconds_since_first_send=st.floats(0, 5_000),
    seconds_since_send=st.floats(0, 5_000),
    looks=st.integers(0, 6),
    found=st.integers(0, 3),
    answer_is_complete=st.booleans(),
)


@given(_LOST)
def test_a_job_that_carries_our_reference_is_bound_whatever_else_holds(lost: Lost) -> None:
    assert (reconcile(lost, CONDUCT) is Next.BIND) == (lost.found > 0)


@given(_LOST)
def test_only_a_key_within_its_window_is_ever_sent_again_without_proof(lost: Lost) -> None:
    if reconcile(lost, CONDUCT) is Next.RESEND:
        assert lost.reconciliation is KEY
        assert lost.seconds_since_first_send < CONDUCT.key_window_seconds


@given(_LOST)
def test_absence_is_proven_by_two_complete_looks_after_the_lag_alone(lost: Lost) -> None:
    if reconcile(lost, CONDUCT) is Next.NOT_SENT:
        assert lost.reconciliation is LOOKUP
        assert lost.answer_is_complete
        assert lost.looks >= 2
        assert lost.seconds_since_send >= CONDUCT.lookup_lag_seconds


@given(_LOST)
def test_a_listing_or_nothing_never_leads_to_a_second_send(lost: Lost) -> None:
    if lost.reconciliation in (LISTING, NONE):
        assert reconcile(lost, CONDUCT) in (Next.BIND, Next.LOOK_AGAIN, Next.AWAIT_VERDICT)


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (Lost(KEY, 10, 10), Next.RESEND),
        (Lost(KEY, 899, 899), Next.RESEND),
        (Lost(KEY, 900, 900), Next.LOOK_AGAIN),
        (Lost(KEY, 900, 900, looks=1), Next.AWAIT_VERDICT),
        (Lost(LOOKUP, 29, 29, looks=9, answer_is_complete=True), Next.LOOK_AGAIN),
        (Lost(LOOKUP, 30, 30, looks=1, answer_is_complete=True), Next.LOOK_AGAIN),
        (Lost(LOOKUP, 30, 30, looks=2), Next.LOOK_AGAIN),
        (Lost(LOOKUP, 30, 30, looks=2, answer_is_complete=True), Next.NOT_SENT),
        (Lost(LISTING, 29, 29, looks=9, answer_is_complete=True), Next.LOOK_AGAIN),
        (Lost(LISTING, 30, 30, looks=2), Next.AWAIT_VERDICT),
        (Lost(NONE, 0, 0), Next.AWAIT_VERDICT),
    ],
)
def test_each_class_goes_its_own_way(lost: Lost, expected: Next) -> None:
    assert reconcile(lost, CONDUCT) is expected
    assert reconcile(replace(lost, found=1), CONDUCT) is Next.BIND
