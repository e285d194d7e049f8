"""What an answer about a submission leads to, wherever it came from: a POST, a look-up, a verdict.

Belongs here: binding a handle, proving that nothing was sent, ending before a handle. Does not belong
here: getting the answer.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move, Submission
from pipeline.domain.outcomes import HoldFate, Outcome
from pipeline.domain.polling import backoff_seconds
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.steps.produce.lot import ItemResult
from resources.database.database import Transaction
from resources.database.endings import Ending, end
from resources.database.lanes import leave
from resources.database.sends import record_remote_job
from resources.database.transitions import Transition, Usage, Verdict, apply

SECOND = 1_000_000
#: Bounds of the wait between two sends that were proven not taken.
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 2.0, 300.0

_S = AttemptState


def bind(
    tx: Transaction,
    row: sa.Row[Any],
    handle: str,
    terms: ProviderTerms,
    *,
    found_by: str,
    actor: str,
    usage: tuple[Usage, ...] = (),
    take_over: bool = False,
) -> ItemResult:
    """The remote handle is durable: `submitting` becomes `generating`, the start is counted once."""
    transition = Transition(
        "attempt",
        row,
        Move(_S.SUBMITTING, _S.GENERATING),
        actor,
        f"handle_by_{found_by}",
        facts={
            "submission": str(Submission.ACCEPTED),
            "handle": handle,
            "parked_reason": None,
            "next_poll_at": tx.now + int(terms.pace.first_seconds * SECOND),
            "deadline_at": tx.now + terms.deadline_seconds * SECOND,
            "purge_horizon_at": tx.now + terms.purge_horizon_seconds * SECOND,
        },
        usage=(Usage("generation_starts", 1), *usage),
        take_over=take_over,
        release=True,
    )
    result = result_of(tx, transition, "accepted")
    record_remote_job(tx, row, handle, found_by=found_by, bound=result.word == "accepted")
    return result


def not_sent(
    tx: Transaction,
    row: sa.Row[Any],
    terms: ProviderTerms,
    *,
    reason: str,
    actor: str,
    wait_seconds: float | None = None,
    usage: tuple[Usage, ...] = (),
    take_over: bool = False,
) -> ItemResult:
    """Proof that nothing was taken: the attempt is due again under its key, until its tries are used up."""
    if row.send_tries >= terms.send_tries:
        return ended(
            tx,
            row,
            _S.FAILED,
            Outcome.NETWORK,
            "sending_tries_used_up",
            actor=actor,
            hold=HoldFate.RELEASE,
            submission=Submission.NOT_SENT,
            take_over=take_over,
        )
    own = backoff_seconds(
        row.send_tries - 1,
        first=FIRST_WAIT_SECONDS,
        ceiling=LONGEST_WAIT_SECONDS,
        spread=random.random(),  # noqa: S311 - spreads load, guards nothing
    )
    wait = max(own, min(wait_seconds or 0.0, terms.pace.retry_after_cap_seconds))
    transition = Transition(
        "attempt",
        row,
        None,
        actor,
        "not_sent",
        facts={
            "submission": str(Submission.NOT_SENT),
            "parked_reason": None,
            "next_poll_at": None,
            "next_action_at": tx.now + int(wait * SECOND),
        },
        usage=usage,
        detail={"reason": reason},
        take_over=take_over,
        release=True,
    )
    result = result_of(tx, transition, "not_sent", reason)
    if result.word == "not_sent":
        leave(tx, [row])
    return result


def ended(
    tx: Transaction,
    row: sa.Row[Any],
    target: AttemptState,
    outcome: Outcome | None,
    reason: str,
    *,
    actor: str,
    hold: HoldFate,
    submission: Submission | None = None,
    may_try_anew: bool = False,
    take_over: bool = False,
    detail: Mapping[str, Any] | None = None,
    usage: tuple[Usage, ...] = (),
) -> ItemResult:
    """End an attempt: failed or cancelled, its hold closed, its place in the lanes free."""
    facts: dict[str, Any] = {
        "outcome_class": None if outcome is None else str(outcome),
        "outcome_reason": reason,
        "ended_at": tx.now,
        "next_poll_at": None,
        "next_action_at": None,
        "parked_reason": None,
    }
    if submission is not None:
        facts["submission"] = str(submission)
    transition = Transition(
        "attempt",
        row,
        Move(_S(row.state), target),
        actor,
        reason,
        facts=facts,
        usage=usage,
        topics=(Topic.ENDED_UNBILLED,) if may_try_anew else (),
        detail=detail,
        take_over=take_over,
        release=True,
    )
    [verdict] = end(tx, [Ending(transition, hold)])
    word = str(target) if verdict is Verdict.APPLIED else "lost"
    return ItemResult(row.id, row.campaign, word, reason)


def result_of(tx: Transaction, transition: Transition, word: str, reason: str = "") -> ItemResult:
    """Apply one transition and name what came of it; a lost race is an ordinary result."""
    [verdict] = apply(tx, [transition])
    row = transition.row
    return ItemResult(row.id, row.campaign, word if verdict is Verdict.APPLIED else "lost", reason)
