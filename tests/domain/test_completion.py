"""Counts and completion: every wish under one head, nothing undecided turns green (B3, E1)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.completion import (
    STANDINGS,
    CompletionPolicy,
    Counts,
    Standing,
    WishStanding,
    count,
    is_complete,
    standing_of,
)
from pipeline.domain.lifecycle import Word

W = Word
TERMINAL, USABLE = CompletionPolicy.ALL_TERMINAL, CompletionPolicy.ALL_USABLE
wishes = st.lists(st.builds(WishStanding, st.sampled_from(Word), st.booleans()), max_size=12)


def never_ready(*words: Word) -> list[WishStanding]:
    return [WishStanding(word) for word in words]


def test_every_word_has_a_standing() -> None:
    assert set(STANDINGS) == set(Word)


@given(wishes)
def test_every_wish_counts_exactly_once(of: list[WishStanding]) -> None:
    counts = count(of)

    assert counts.total == len(of)
    assert counts.ready == sum(wish.word is W.READY for wish in of)
    assert counts.ready <= counts.usable


@pytest.mark.parametrize(
    ("word", "was_ready", "standing"),
    [
        (W.READY, False, Standing.USABLE),
        (W.SUPERSEDED, True, Standing.USABLE),
        (W.SUPERSEDED, False, Standing.UNSUCCESSFUL),
        (W.EXPIRED, True, Standing.USABLE),
        (W.EXPIRED, False, Standing.UNSUCCESSFUL),
        (W.FAILED, False, Standing.UNSUCCESSFUL),
        (W.QUEUED, True, Standing.ACTIVE),
        (W.AWAITING_ACCEPTANCE, False, Standing.ACTIVE),
        (W.UNRESOLVED, True, Standing.UNRESOLVED),
    ],
)
def test_ready_once_stays_usable_unless_it_works_again(
    word: Word, was_ready: bool, standing: Standing
) -> None:
    assert standing_of(WishStanding(word, was_ready)) is standing


@pytest.mark.parametrize(
    ("words", "terminal", "usable"),
    [
        ([], False, False),
        ([W.READY], True, True),
        ([W.READY, W.FAILED], True, False),
        ([W.READY, W.SUPERSEDED], True, False),
        ([W.READY, W.QUEUED], False, False),
        ([W.READY, W.UNRESOLVED], False, False),
        ([W.READY, W.AWAITING_ACCEPTANCE], False, False),
        ([W.UPLOADED], False, False),
        ([W.REJECTED, W.REJECTED], True, False),
    ],
)
def test_when_a_policy_is_met(words: list[Word], terminal: bool, usable: bool) -> None:
    counts = count(never_ready(*words))

    assert is_complete(TERMINAL, counts) is terminal
    assert is_complete(USABLE, counts) is usable


@given(wishes)
def test_all_usable_is_the_stricter_policy(of: list[WishStanding]) -> None:
    counts = count(of)

    assert is_complete(TERMINAL, counts) or not is_complete(USABLE, counts)


def test_unknowns_count_against_success_and_active_ones_do_not_count() -> None:
    counts = count(never_ready(W.READY, W.UNRESOLVED, W.FAILED, W.QUEUED))

    assert counts.success_rate == Fraction(1, 3)
    assert Counts(active=3).success_rate is None
