"""When to look at a remote job again, and what one look means (P1, P2, G4, G6).

Belongs here: backoff, `Retry-After`, and the decision (attempt facts, observation, now) -> move or
stay. Pure: the clock and the random spread are arguments. Does not belong here: asking a provider, or
making a move stick.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from pipeline.domain.lifecycle import AttemptState, Move
from pipeline.domain.observations import Observation, Standing
from pipeline.domain.outcomes import CONSEQUENCES, Billed, HoldFate, Outcome
from pipeline.domain.provider_terms import PollPace

#: Spread over a quarter of the interval, only upwards: a restart storm is taken apart, and the number
#: of looks stays at most 1 + log2(duration / first) + duration / ceiling.
_JITTER = 0.25


def backoff_seconds(tries: int, *, first: float, ceiling: float, spread: float) -> float:
    """Wait after *tries* tries: doubled from *first* up to *ceiling*, plus up to a quarter by *spread*.

    *spread* is a random number in [0, 1).
    """
    doubled = first * 2.0 ** min(max(tries, 0), 40)
    return min(doubled, ceiling) * (1.0 + _JITTER * spread)


def retry_after_seconds(header: str | None, *, now: datetime, default: float, cap: float) -> float:
    """Wait that a `Retry-After` asks for: delta seconds or a date, within [0, *cap*], else *default*."""
    asked = _asked_seconds(header, now)
    return default if asked is None else min(asked, cap)


def retry_after_from(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds that lower-case *headers* ask for, uncapped; None when they ask for none.

    A date is measured against the server's own `Date`, so that our clocks may differ (C51).
    """
    return _asked_seconds(headers.get("retry-after"), _http_date(headers.get("date", "")))


def _asked_seconds(header: str | None, now: datetime | None) -> float | None:
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:20])
    asked = _http_date(text)
    if asked is None or now is None:
        return None
    return max(0.0, (asked - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The last accepted observation and its streak, as an attempt's row remembers it.

    `looks` counts the observations that said the same in an unbroken line since `since`.
    """

    key: str = ""
    looks: int = 0
    since: datetime | None = None

    def dump(self) -> str:
        """Text for the column `last_observation`."""
        since = f'"{self.since.isoformat()}"' if self.since else "null"
        return f'{{"key": {json.dumps(self.key)}, "looks": {self.looks}, "since": {since}}}'

    @staticmethod
    def load(text: str | None) -> LastSeen:
        """What `dump` wrote; anything else counts as never seen, so that an older row cannot stop a poll."""
        if not text:
            return LastSeen()
        try:
            row = json.loads(text)
            since = row.get("since")
            return LastSeen(
                str(row.get("key", "")),
                int(row.get("looks", 0)),
                datetime.fromisoformat(since) if since else None,
            )
        except (ValueError, TypeError, AttributeError):
            return LastSeen()

    def then(self, key: str, now: datetime) -> LastSeen:
        """The streak after one more look at *now* that said *key*."""
        if key != self.key:
            return LastSeen(key, 1, now)
        return replace(self, looks=self.looks + 1, since=self.since or now)


@dataclass(frozen=True, slots=True)
class PollFacts:
    """What the database holds of the attempt when an observation comes in."""

    state: AttemptState
    handle: str
    accepted_at: datetime  #: when the handle became durable
    poll_count: int  #: looks before this one
    deadline_at: datetime
    purge_horizon_at: datetime
    overdue_at: datetime | None = None
    last_seen: LastSeen = field(default_factory=LastSeen)
    not_found_window_seconds: float = 0.0  #: the adapter's: "not found" this soon says nothing
    pace: PollPace = field(default_factory=PollPace)


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from one observation. With `move` None the attempt stays where it is."""

    last_seen: LastSeen
    move: Move | None = None
    outcome: Outcome | None = None  #: class of the move, or of what made it stay
    reason: str = ""  #: reason code for the audit, the provider's own code where it gave one
    next_poll_at: datetime | None = None  #: None: looking again is not the poller's business any more
    is_new_evidence: bool = False  #: worth a row in `observations`; a duplicate is only counted
    becomes_overdue: bool = False  #: set `overdue_at` now (G4)
    billed: Billed = Billed.UNKNOWN
    hold: HoldFate = HoldFate.KEEP
    may_try_anew: bool = False  #: a new attempt may be made without a person


_S = AttemptState
_POLLED = frozenset({_S.GENERATING, _S.RETRIEVING})


def decide(facts: PollFacts, seen: Observation, *, now: datetime, spread: float) -> Decision:
    """Judge one observation of an attempt at *now*. Never moves back; a duplicate changes nothing.

    In `retrieving`, looks are made to refresh an expired URL: there only "gone" can move (to failed),
    and a later "failed" is a contradiction that is kept as evidence (first end wins).
    """
    if facts.state not in _POLLED or seen.handle != facts.handle:
        return Decision(last_seen=facts.last_seen)
    verdict = _verdict(facts, seen, now)
    streak = _streak(facts.last_seen, seen, verdict, now)
    end = _end(facts, verdict, streak, now)
    if end is None:
        return _stay(facts, seen, verdict, streak, now, spread)
    return _moved(facts, seen, end, streak)


def _streak(last: LastSeen, seen: Observation, verdict: _Verdict, now: datetime) -> LastSeen:
    if seen.standing is Standing.UNREACHABLE:
        return last  # says nothing about the job, so it neither makes nor breaks a line of looks
    if verdict.kind in _STREAKS:
        return last.then(verdict.kind, now)
    return last.then("|".join((verdict.kind, seen.word, seen.reason)), now)


#: Kinds of a look whose repetition counts, whatever words came with them.
_GONE, _WITHOUT_OUTPUT = "gone", "without_output"
_STREAKS = frozenset({_GONE, _WITHOUT_OUTPUT})


@dataclass(frozen=True, slots=True)
class _Verdict:
    """One look, read: its kind, and the class it would end the attempt with (None: it ends nothing)."""

    kind: str
    outcome: Outcome | None = None


def _verdict(facts: PollFacts, seen: Observation, now: datetime) -> _Verdict:
    ends = seen.outcome is not None and CONSEQUENCES[seen.outcome].state is not None
    if seen.standing is Standing.NOT_FOUND:
        too_soon = now < facts.accepted_at + timedelta(seconds=facts.not_found_window_seconds)
        return _Verdict("not_found_yet") if too_soon else _Verdict(_GONE, Outcome.RESULT_EXPIRED)
    if seen.standing is Standing.OUTPUT or seen.outcome is Outcome.COMPLETED_WITH_WARNING:
        if seen.outputs:
            return _Verdict("output", seen.outcome)
        return _Verdict(_WITHOUT_OUTPUT, Outcome.COMPLETED_WITHOUT_OUTPUT)
    if seen.standing is Standing.ENDED and seen.outcome is Outcome.RESULT_EXPIRED:
        return _Verdict(_GONE if facts.state is _S.RETRIEVING else "ended", seen.outcome)
    if seen.standing is Standing.ENDED and ends:
        return _Verdict("ended", seen.outcome)
    return _Verdict(str(seen.standing), seen.outcome)


@dataclass(frozen=True, slots=True)
class _End:
    target: AttemptState
    outcome: Outcome | None
    reason: str


def _end(facts: PollFacts, verdict: _Verdict, streak: LastSeen, now: datetime) -> _End | None:
    """The move that this look proves, if any."""
    if verdict.kind == _GONE and _is_believed_gone(facts, streak, now):
        return _End(_S.FAILED, Outcome.RESULT_EXPIRED, "gone_at_provider")
    if facts.state is _S.RETRIEVING:
        return None
    if verdict.kind == "output":
        return _End(_S.RETRIEVING, verdict.outcome, "output_reported")
    if verdict.kind == "ended" and verdict.outcome is not None:
        return _End(CONSEQUENCES[verdict.outcome].state or _S.FAILED, verdict.outcome, str(verdict.outcome))
    if verdict.kind == _WITHOUT_OUTPUT and streak.looks >= facts.pace.looks_without_output:
        return _End(_S.FAILED, verdict.outcome, "completed_without_output")
    if now >= facts.purge_horizon_at:
        return _End(_S.FAILED, Outcome.RESULT_EXPIRED, "purge_horizon_passed")
    return None


def _is_believed_gone(facts: PollFacts, streak: LastSeen, now: datetime) -> bool:
    """Several looks over some time: providers answer 404 for jobs they still have (G6)."""
    spanned = (now - (streak.since or now)).total_seconds()
    return streak.looks >= facts.pace.looks_until_gone and spanned >= facts.pace.gone_over_seconds


def _moved(facts: PollFacts, seen: Observation, end: _End, streak: LastSeen) -> Decision:
    billed, hold, may_try_anew = _bill(end, seen.billed)
    return Decision(
        last_seen=streak,
        move=Move(facts.state, end.target),
        outcome=end.outcome,
        reason=end.reason,
        is_new_evidence=True,
        billed=billed,
        hold=hold,
        may_try_anew=may_try_anew,
    )


def _bill(end: _End, stated: bool | None) -> tuple[Billed, HoldFate, bool]:
    """The table's word on the bill, unless the provider states its own (G5)."""
    if end.outcome is None:
        return Billed.YES, HoldFate.SETTLE, False
    row = CONSEQUENCES[end.outcome]
    if stated is None:
        return row.billed, row.hold, row.new_attempt
    if stated:
        return Billed.YES, HoldFate.SETTLE, False
    return Billed.NO, HoldFate.RELEASE, row.new_attempt


def _stay(
    facts: PollFacts, seen: Observation, verdict: _Verdict, streak: LastSeen, now: datetime, spread: float
) -> Decision:
    is_overdue = now >= facts.deadline_at or facts.overdue_at is not None
    return Decision(
        last_seen=streak,
        outcome=verdict.outcome,
        reason=seen.reason or verdict.kind,
        next_poll_at=now + timedelta(seconds=_wait(facts, seen, is_overdue, spread)),
        is_new_evidence=streak.looks == 1 and streak != facts.last_seen,
        becomes_overdue=is_overdue and facts.overdue_at is None and facts.state is _S.GENERATING,
    )


def _wait(facts: PollFacts, seen: Observation, is_overdue: bool, spread: float) -> float:
    pace = facts.pace
    if is_overdue and facts.state is _S.GENERATING:
        own = backoff_seconds(0, first=pace.overdue_seconds, ceiling=pace.overdue_seconds, spread=spread)
    else:
        own = backoff_seconds(
            facts.poll_count, first=pace.first_seconds, ceiling=pace.ceiling_seconds, spread=spread
        )
    return max(own, min(seen.retry_after_seconds or 0.0, pace.retry_after_cap_seconds))
