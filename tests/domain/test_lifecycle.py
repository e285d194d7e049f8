"""L1, L8: the moves that exist, that none goes back, and the word that clients see."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.errors import IllegalMove
from pipeline.domain.lifecycle import (
    ENDED_STATES,
    MOVES,
    NEXT_WORDS,
    OWNED_STATES,
    SUBMISSION_MOVES,
    UNOWNED_STATES,
    AttemptState,
    Move,
    ObjectState,
    Parked,
    SourceSetState,
    State,
    Submission,
    WishFacts,
    Word,
    kind_of,
    project,
    require_submission_move,
)

_S, _A, _O = SourceSetState, AttemptState, ObjectState

#: L1 as it is written, one pair a row of its tables.
WRITTEN = {
    (_S.UPLOADED, _S.MODERATING), (_S.MODERATING, _S.APPROVED), (_S.MODERATING, _S.REJECTED),
    (_S.REJECTED, _S.MODERATING), (_S.UPLOADED, _S.WITHDRAWN), (_S.MODERATING, _S.WITHDRAWN),
    (_A.QUEUED, _A.SUBMITTING), (_A.QUEUED, _A.CANCELLED), (_A.SUBMITTING, _A.CANCELLED),
    (_A.QUEUED, _A.FAILED), (_A.SUBMITTING, _A.FAILED), (_A.SUBMITTING, _A.GENERATING),
    (_A.GENERATING, _A.FAILED), (_A.GENERATING, _A.RETRIEVING), (_A.GENERATING, _A.CANCELLED),
    (_A.RETRIEVING, _A.STORED), (_A.RETRIEVING, _A.FAILED),
    (_A.STORED, _A.INDEXED), (_A.STORED, _A.FAILED),
    (_O.LIVE, _O.MARKED), (_O.MARKED, _O.LIVE), (_O.MARKED, _O.PURGING), (_O.PURGING, _O.PURGED),
}  # fmt: skip
#: The only moves that lead to where a subject has been: a review, and a deletion that is undone.
BACK = {(_S.REJECTED, _S.MODERATING), (_O.MARKED, _O.LIVE)}
STATES: list[State] = [*_S, *_A, *_O]


def test_the_moves_are_those_of_the_written_table() -> None:
    built = {(source, target) for source, targets in MOVES.items() for target in targets}

    assert built == WRITTEN


@pytest.mark.parametrize(("source", "target"), list(itertools.product(STATES, STATES)))
def test_a_move_that_is_not_in_the_table_cannot_be_built(source: State, target: State) -> None:
    if (source, target) in WRITTEN:
        assert Move(source, target).target is target
        return
    with pytest.raises(IllegalMove):
        Move(source, target)


def test_no_move_goes_back_except_a_review_and_an_undone_deletion() -> None:
    def reaches(source: State, goal: State, seen: frozenset[State] = frozenset()) -> bool:
        onward = {target for target in MOVES[source] if (source, target) not in BACK} - seen
        return goal in onward or any(reaches(state, goal, seen | onward) for state in onward)

    assert [state for state in STATES if reaches(state, state)] == []


def test_every_attempt_state_is_unowned_owned_or_ended() -> None:
    groups = (UNOWNED_STATES, OWNED_STATES, ENDED_STATES)

    assert sorted(itertools.chain(*groups)) == sorted(_A)
    assert all(not MOVES[state] for state in ENDED_STATES)


def test_each_kind_of_state_names_its_subject_in_the_audit() -> None:
    assert [kind_of(state) for state in (_S.UPLOADED, _A.QUEUED, _O.LIVE)] == [
        "revision",
        "attempt",
        "object",
    ]


@pytest.mark.parametrize(("source", "target"), list(itertools.product(Submission, Submission)))
def test_a_send_comes_back_to_not_sent_from_unknown_alone(source: Submission, target: Submission) -> None:
    allowed = {
        Submission.NOT_SENT: {Submission.UNKNOWN},
        Submission.UNKNOWN: {Submission.ACCEPTED, Submission.REFUSED, Submission.NOT_SENT},
    }
    if target in allowed.get(source, set()):
        require_submission_move(source, target)
        assert target in SUBMISSION_MOVES[source]
        return
    with pytest.raises(IllegalMove):
        require_submission_move(source, target)


def _wish(**facts: Any) -> WishFacts:
    return WishFacts(_S.APPROVED, has_rendition=True, **facts)


_INDEXED = _wish(attempt=_A.INDEXED)

#: L8's table from the top: facts, word, why. Each row is the first that holds for its facts.
ROWS: list[tuple[WishFacts, Word, tuple[str, ...]]] = [
    (WishFacts(_S.UPLOADED), Word.UPLOADED, ()),
    (WishFacts(_S.MODERATING), Word.MODERATING, ()),
    (WishFacts(_S.APPROVED), Word.MODERATING, ()),
    (WishFacts(_S.REJECTED), Word.REJECTED, ()),
    (WishFacts(_S.WITHDRAWN), Word.WITHDRAWN, ()),
    (replace(_INDEXED, is_published=True), Word.READY, ()),
    (_wish(attempt=_A.FAILED, is_published=True), Word.READY, ()),
    (_wish(attempt=_A.SUBMITTING, submission=Submission.UNKNOWN), Word.UNRESOLVED, ()),
    (
        _wish(attempt=_A.SUBMITTING, submission=Submission.UNKNOWN, parked=Parked.AWAITING_VERDICT),
        Word.UNRESOLVED,
        ("awaiting_verdict",),
    ),
    (_wish(attempt=_A.SUBMITTING, submission=Submission.UNKNOWN, send_is_leased=True), Word.QUEUED, ()),
    (_wish(attempt=_A.SUBMITTING), Word.QUEUED, ()),
    (_wish(attempt=_A.QUEUED, parked=Parked.OVER_BUDGET), Word.QUEUED, ("over_budget",)),
    (_wish(attempt=_A.GENERATING), Word.GENERATING, ()),
    (
        _wish(attempt=_A.GENERATING, is_overdue=True, cancel_wanted=True),
        Word.GENERATING,
        ("overdue", "cancel_wanted"),
    ),
    (_wish(attempt=_A.FAILED, another_is_out=True), Word.GENERATING, ("not_selected",)),
    (_wish(attempt=_A.CANCELLED, another_is_out=True), Word.GENERATING, ("not_selected",)),
    (_wish(attempt=_A.RETRIEVING), Word.DOWNLOADING, ()),
    (_wish(attempt=_A.FAILED), Word.FAILED, ()),
    (_wish(attempt=_A.CANCELLED), Word.CANCELLED, ()),
    (replace(_INDEXED, is_purged=True, is_declined=True, is_wanted=False), Word.EXPIRED, ()),
    (replace(_INDEXED, is_declined=True, is_wanted=False), Word.DECLINED, ()),
    (replace(_INDEXED, is_wanted=False, by_approval=True), Word.SUPERSEDED, ()),
    (_wish(attempt=_A.STORED, is_wanted=False), Word.SUPERSEDED, ()),
    (replace(_INDEXED, by_approval=True), Word.AWAITING_ACCEPTANCE, ()),
    (_wish(attempt=_A.STORED, by_approval=True), Word.PROCESSING, ()),
    (replace(_INDEXED, by_approval=True, is_accepted=True), Word.PROCESSING, ()),
    (_INDEXED, Word.PROCESSING, ()),
    (_wish(attempt=_A.STORED, parked=Parked.UNDERIVABLE), Word.PROCESSING, ("underivable",)),
]


@pytest.mark.parametrize(("wish", "word", "why"), ROWS)
def test_the_word_is_the_first_row_that_holds(wish: WishFacts, word: Word, why: tuple[str, ...]) -> None:
    found = project(wish)

    assert (found.word, found.why) == (word, why)


def test_every_word_is_shown_by_some_row() -> None:
    assert {word for _, word, _ in ROWS} == set(Word)


_FACTS = st.builds(
    WishFacts,
    source_set=st.sampled_from(_S),
    has_rendition=st.booleans(),
    attempt=st.none() | st.sampled_from(_A),
    submission=st.sampled_from(Submission),
    send_is_leased=st.booleans(),
    parked=st.none() | st.sampled_from(Parked),
    is_overdue=st.booleans(),
    cancel_wanted=st.booleans(),
    another_is_out=st.booleans(),
    is_published=st.booleans(),
    is_purged=st.booleans(),
    is_declined=st.booleans(),
    is_accepted=st.booleans(),
    is_wanted=st.booleans(),
    by_approval=st.booleans(),
)


@given(_FACTS)
def test_every_combination_of_facts_has_a_word(wish: WishFacts) -> None:
    found = project(wish)

    assert found.word in Word
    assert (found.retry_after_seconds is None) == (
        found.word
        not in {
            Word.UPLOADED,
            Word.MODERATING,
            Word.QUEUED,
            Word.GENERATING,
            Word.DOWNLOADING,
            Word.PROCESSING,
        }
    )


@given(_FACTS)
def test_nothing_is_ready_but_what_its_slot_shows(wish: WishFacts) -> None:
    shown = wish.has_rendition and wish.attempt is not None and wish.is_published

    assert (project(wish).word is Word.READY) == shown


def test_the_table_of_words_names_every_word_and_leads_back_to_none_before_approval() -> None:
    before = {Word.UPLOADED, Word.MODERATING, Word.REJECTED, Word.WITHDRAWN}
    after = set(Word) - before

    assert set(NEXT_WORDS) == set(Word)
    assert NEXT_WORDS[Word.WITHDRAWN] == frozenset()
    assert all(not NEXT_WORDS[word] & before for word in after)


def test_a_roll_back_and_a_retry_are_in_the_table_of_words() -> None:
    assert Word.SUPERSEDED in NEXT_WORDS[Word.READY]
    assert Word.READY in NEXT_WORDS[Word.SUPERSEDED]
    assert Word.QUEUED in NEXT_WORDS[Word.FAILED]
