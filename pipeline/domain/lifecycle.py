"""The life of source sets, attempts and objects: states, moves, facts, and the word clients see.

Belongs here: which moves exist (L1), what each state is evidence of (L2), the projected word (L8).
Does not belong here: how a move is made to stick (`resources.database.transitions`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.errors import IllegalMove


class SourceSetState(enum.StrEnum):
    UPLOADED = "uploaded"  #: The brief is recorded; sources may still be missing or growing.
    MODERATING = "moderating"  #: All sources checked and stable; a decision is wanted.
    APPROVED = "approved"  #: Its wishes may be submitted.
    REJECTED = "rejected"  #: Only a new revision or a review leads on.
    WITHDRAWN = "withdrawn"  #: Its author or a newer revision took it back.


class AttemptState(enum.StrEnum):
    QUEUED = "queued"  #: The wish is recorded, nothing was sent.
    SUBMITTING = "submitting"  #: Intent and idempotency key are durable; a send may have happened.
    GENERATING = "generating"  #: The remote handle is durable.
    RETRIEVING = "retrieving"  #: The provider says there is output; Reelwright does not own it.
    STORED = "stored"  #: A verified immutable object is committed.
    INDEXED = "indexed"  #: Required tags are visible to search, the derivative manifest is complete.
    FAILED = "failed"  #: Ended without a usable result; the outcome class says why.
    CANCELLED = "cancelled"  #: Ended by cancellation, ours before a send or as the provider reports.


class ObjectState(enum.StrEnum):
    LIVE = "live"  #: Stored and wanted, or not yet chosen for deletion.
    MARKED = "marked"  #: Chosen by an approved retention plan; still serves.
    PURGING = "purging"  #: Grace is over; bytes are being deleted.
    PURGED = "purged"  #: Every version verified gone.


State = SourceSetState | AttemptState | ObjectState

_S, _A, _O = SourceSetState, AttemptState, ObjectState

MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        _S.UPLOADED: frozenset({_S.MODERATING, _S.WITHDRAWN}),
        _S.MODERATING: frozenset({_S.APPROVED, _S.REJECTED, _S.WITHDRAWN}),
        _S.APPROVED: frozenset(),
        _S.REJECTED: frozenset({_S.MODERATING}),
        _S.WITHDRAWN: frozenset(),
        _A.QUEUED: frozenset({_A.SUBMITTING, _A.CANCELLED, _A.FAILED}),
        _A.SUBMITTING: frozenset({_A.GENERATING, _A.FAILED, _A.CANCELLED}),
        _A.GENERATING: frozenset({_A.RETRIEVING, _A.FAILED, _A.CANCELLED}),
        _A.RETRIEVING: frozenset({_A.STORED, _A.FAILED}),
        _A.STORED: frozenset({_A.INDEXED, _A.FAILED}),
        _A.INDEXED: frozenset(),
        _A.FAILED: frozenset(),
        _A.CANCELLED: frozenset(),
        _O.LIVE: frozenset({_O.MARKED}),
        _O.MARKED: frozenset({_O.LIVE, _O.PURGING}),
        _O.PURGING: frozenset({_O.PURGED}),
        _O.PURGED: frozenset(),
    }
)

#: Not yet owned and not ended: the remote side may still cost or bring something.
UNOWNED_STATES = frozenset({_A.QUEUED, _A.SUBMITTING, _A.GENERATING, _A.RETRIEVING})
OWNED_STATES = frozenset({_A.STORED, _A.INDEXED})
ENDED_STATES = frozenset({_A.FAILED, _A.CANCELLED})


@dataclass(frozen=True, slots=True)
class Move:
    """One legal step. An illegal one cannot be built."""

    source: State
    target: State

    def __post_init__(self) -> None:
        if self.target not in MOVES[self.source]:
            raise IllegalMove(kind_of(self.source), self.source, self.target)


def kind_of(state: State) -> str:
    """The subject kind that owns *state*, as it stands in the audit table."""
    return _KINDS[type(state)]


_KINDS: Mapping[type, str] = MappingProxyType(
    {SourceSetState: "revision", AttemptState: "attempt", ObjectState: "object"}
)


class Submission(enum.StrEnum):
    """What is known about the send of an attempt; a fact beside the state, never moved by a guess."""

    NOT_SENT = "not_sent"  #: Nothing was taken; the same attempt may be sent under the same key.
    UNKNOWN = "unknown"  #: A send may have happened; committed before each send.
    ACCEPTED = "accepted"  #: The provider has it and the handle is durable.
    REFUSED = "refused"  #: The provider refused it for good.


SUBMISSION_MOVES: Mapping[Submission, frozenset[Submission]] = MappingProxyType(
    {
        Submission.NOT_SENT: frozenset({Submission.UNKNOWN}),
        Submission.UNKNOWN: frozenset({Submission.ACCEPTED, Submission.REFUSED, Submission.NOT_SENT}),
        Submission.ACCEPTED: frozenset(),
        Submission.REFUSED: frozenset(),
    }
)


def require_submission_move(source: Submission, target: Submission) -> None:
    """Raise `IllegalMove` for a change of the submission fact that no evidence can lead to."""
    if target not in SUBMISSION_MOVES[source]:
        raise IllegalMove("submission", source, target)


class Parked(enum.StrEnum):
    """Why an item waits although nothing is wrong with it."""

    OVER_BUDGET = "over_budget"  #: Its hold would pass the cap.
    PAUSED = "paused"  #: Its stage, provider or tenant is paused.
    AWAITING_VERDICT = "awaiting_verdict"  #: A lost submission that only a person can settle.
    UNDERIVABLE = "underivable"  #: Derivation was refused for good.
    UNINDEXABLE = "unindexable"  #: Indexing was refused for good.


class Word(enum.StrEnum):
    """The one word that clients see for a wish (L8)."""

    UPLOADED = "uploaded"
    MODERATING = "moderating"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    QUEUED = "queued"
    UNRESOLVED = "unresolved"
    GENERATING = "generating"
    DOWNLOADING = "downloading"
    PROCESSING = "processing"
    AWAITING_ACCEPTANCE = "awaiting_acceptance"
    READY = "ready"
    SUPERSEDED = "superseded"
    DECLINED = "declined"
    EXPIRED = "expired"
    FAILED = "failed"
    CANCELLED = "cancelled"


_W = Word
_AFTER_APPROVAL = frozenset(set(Word) - {_W.UPLOADED, _W.MODERATING, _W.REJECTED, _W.WITHDRAWN})
_OWNED_WORDS = frozenset(
    {_W.PROCESSING, _W.AWAITING_ACCEPTANCE, _W.READY, _W.SUPERSEDED, _W.DECLINED, _W.EXPIRED}
)
#: Words that a retry, or an operator's selection of another attempt, can lead to.
_RESELECTED = frozenset({_W.QUEUED, _W.GENERATING, _W.DOWNLOADING, _W.UNRESOLVED}) | _OWNED_WORDS

#: Which word may follow which (L8). An approved revision may carry a rendition in any state forward.
NEXT_WORDS: Mapping[Word, frozenset[Word]] = MappingProxyType(
    {
        _W.UPLOADED: frozenset({_W.MODERATING, _W.WITHDRAWN}),
        _W.MODERATING: frozenset({_W.REJECTED, _W.WITHDRAWN}) | _AFTER_APPROVAL,
        _W.REJECTED: frozenset({_W.MODERATING}),
        _W.WITHDRAWN: frozenset(),
        _W.QUEUED: frozenset({_W.UNRESOLVED, _W.GENERATING, _W.FAILED, _W.CANCELLED}) | _OWNED_WORDS,
        _W.UNRESOLVED: frozenset({_W.GENERATING, _W.FAILED, _W.CANCELLED}) | _RESELECTED,
        _W.GENERATING: frozenset({_W.DOWNLOADING, _W.FAILED, _W.CANCELLED}) | _RESELECTED,
        _W.DOWNLOADING: frozenset({_W.FAILED, _W.GENERATING}) | _RESELECTED,
        _W.PROCESSING: _OWNED_WORDS | _RESELECTED | {_W.FAILED},
        _W.AWAITING_ACCEPTANCE: _OWNED_WORDS | _RESELECTED,
        _W.READY: frozenset({_W.SUPERSEDED, _W.DECLINED, _W.EXPIRED, _W.PROCESSING, _W.AWAITING_ACCEPTANCE})
        | _RESELECTED
        | {_W.FAILED, _W.CANCELLED},
        _W.SUPERSEDED: _OWNED_WORDS | _RESELECTED,
        _W.DECLINED: _OWNED_WORDS | _RESELECTED,
        _W.EXPIRED: _RESELECTED,
        _W.FAILED: _RESELECTED | {_W.CANCELLED},
        _W.CANCELLED: _RESELECTED | {_W.FAILED},
    }
)


@dataclass(frozen=True, slots=True)
class WishFacts:
    """Everything the projected word depends on; times are not read here, only whether facts hold."""

    source_set: SourceSetState
    has_rendition: bool = False
    attempt: AttemptState | None = None  #: the selected attempt
    submission: Submission = Submission.NOT_SENT
    send_is_leased: bool = False  #: somebody holds the lease of the send
    parked: Parked | None = None
    is_overdue: bool = False
    cancel_wanted: bool = False
    another_is_out: bool = False  #: an attempt that is not selected is sent and not ended
    is_published: bool = False  #: its object stands in its slot
    is_purged: bool = False
    is_declined: bool = False  #: newest decision on its output
    is_accepted: bool = False
    is_wanted: bool = True  #: its slot wants this rendition
    is_withdrawn: bool = False  #: its slot was emptied by a person
    by_approval: bool = False  #: the campaign publishes on approval


@dataclass(frozen=True, slots=True)
class Projection:
    """The word, and why: parked reasons, `overdue`, `cancel_wanted`, `not_selected`, `withdrawn`."""

    word: Word
    why: tuple[str, ...] = ()

    @property
    def retry_after_seconds(self) -> int | None:
        """How soon asking again makes sense; None when nothing moves by itself."""
        if "withdrawn" in self.why:
            return None
        return RETRY_HINT_SECONDS.get(self.word)


RETRY_HINT_SECONDS: Mapping[Word, int] = MappingProxyType(
    {
        _W.UPLOADED: 10,
        _W.MODERATING: 30,
        _W.QUEUED: 10,
        _W.GENERATING: 15,
        _W.DOWNLOADING: 5,
        _W.PROCESSING: 5,
    }
)

_SOURCE_SET_WORDS: Mapping[SourceSetState, Word] = MappingProxyType(
    {
        _S.UPLOADED: _W.UPLOADED,
        _S.MODERATING: _W.MODERATING,
        _S.APPROVED: _W.MODERATING,  # approved and not yet planned: one commit apart
        _S.REJECTED: _W.REJECTED,
        _S.WITHDRAWN: _W.WITHDRAWN,
    }
)


def project(wish: WishFacts) -> Projection:
    """The first row of L8's table that holds."""
    if not wish.has_rendition or wish.attempt is None:
        return Projection(_SOURCE_SET_WORDS[wish.source_set])
    if wish.is_published:
        return Projection(_W.READY)
    if wish.attempt in UNOWNED_STATES:
        return _project_unowned(wish, wish.attempt)
    if wish.attempt in ENDED_STATES:
        if wish.another_is_out:
            return Projection(_W.GENERATING, ("not_selected",))
        return Projection(_W.FAILED if wish.attempt is _A.FAILED else _W.CANCELLED)
    return _project_owned(wish, wish.attempt)


def _project_unowned(wish: WishFacts, attempt: AttemptState) -> Projection:
    parked = (str(wish.parked),) if wish.parked else ()
    if attempt is _A.RETRIEVING:
        return Projection(_W.DOWNLOADING, parked)
    if attempt is _A.GENERATING:
        since = [("overdue", wish.is_overdue), ("cancel_wanted", wish.cancel_wanted)]
        return Projection(_W.GENERATING, tuple(why for why, holds in since if holds))
    if wish.submission is Submission.UNKNOWN and not wish.send_is_leased:
        return Projection(_W.UNRESOLVED, parked)
    return Projection(_W.QUEUED, parked)


def _project_owned(wish: WishFacts, attempt: AttemptState) -> Projection:
    if wish.is_purged:
        return Projection(_W.EXPIRED)
    if wish.is_declined:
        return Projection(_W.DECLINED)
    if not wish.is_wanted:
        return Projection(_W.SUPERSEDED)
    if attempt is _A.INDEXED and wish.by_approval and not wish.is_accepted:
        return Projection(_W.AWAITING_ACCEPTANCE)
    since = [("cancel_wanted", wish.cancel_wanted), ("withdrawn", wish.is_withdrawn)]
    why = (*((str(wish.parked),) if wish.parked else ()), *(why for why, holds in since if holds))
    return Projection(_W.PROCESSING, why)
