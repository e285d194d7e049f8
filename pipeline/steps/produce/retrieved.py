"""What a retrieval came to, as rows: owned, failed for good, or coming again (L1 `retrieving`, F1).

Belongs here: the transitions of one retrieval try, with their facts and usage. Does not belong here: how
bytes came or were judged (`retrieve`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import sqlalchemy as sa

from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import AttemptState, Move
from pipeline.domain.outcomes import Outcome
from pipeline.domain.polling import backoff_seconds
from pipeline.domain.provider_terms import PollPace, ProviderTerms
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.try_ends import Again, Owned, Refused, Retrieved, Waits
from pipeline.steps.produce.verify import Verified
from resources.database.database import Transaction
from resources.database.objects import NewObject, Use, object_id, own, plain, use
from resources.database.settings import in_force
from resources.database.transitions import Transition, Usage, Verdict, apply

SECOND = 1_000_000
#: Waits between two fetches of an attempt: the first is quick, the fifth comes after some seven minutes.
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5.0, 900.0
#: A full disk or an absent store is looked at again after this long.
OWN_TROUBLE_SECONDS = 60.0

_S = AttemptState
_END = Move(_S.RETRIEVING, _S.FAILED)
#: What a provider without terms (it left the list) is treated like until it comes back.
NO_TERMS = ProviderTerms(name="", adapter="", base_url="")


def record(
    tx: Transaction, ended: Sequence[Retrieved], terms: Mapping[str, ProviderTerms], *, actor: str
) -> list[ItemResult]:
    """Commit how tries ended, in one transaction: moves, objects, uses, usage facts, messages."""
    wanted = [_transition(tx, one, terms.get(one.row.provider, NO_TERMS), actor) for one in ended]
    verdicts = apply(tx, wanted)
    stored = [
        (one, one.end.verified)
        for one, verdict in zip(ended, verdicts, strict=True)
        if verdict is Verdict.APPLIED and isinstance(one.end, Owned)
    ]
    _own(tx, stored)
    return results_of(wanted, verdicts)


def _own(tx: Transaction, stored: Sequence[tuple[Retrieved, Verified]]) -> None:
    campaigns = {one.row.campaign for one, _ in stored}
    settings = {campaign: in_force(tx.connection, campaign, tx.now) for campaign in campaigns}
    ids = own(tx, [_object(one, verified, settings[one.row.campaign]) for one, verified in stored])
    use(tx, [Use(ids[one.key], "attempt", one.row.id, one.row.tenant) for one, _ in stored])


def _object(one: Retrieved, verified: Verified, settings: sa.Row[Any] | None) -> NewObject:
    assert settings is not None, "a campaign has settings from its first brief on"  # noqa: S101
    facts = verified.facts
    return NewObject(
        tenant=one.row.tenant,
        campaign=one.row.campaign,
        kind="rendition",
        retention_class=settings.retention_class,
        key=one.key,
        sha256=facts.sha256,
        size_bytes=facts.size_bytes,
        media_type=facts.content_type,
        facts={
            "video": plain(facts),
            "quality": {verified.report.profile_version: plain(verified.report)},
        },
        purges_before=one.purges_before,
    )


def _transition(tx: Transaction, one: Retrieved, terms: ProviderTerms, actor: str) -> Transition:
    row, end = one.row, one.end
    match end:
        case Owned():
            return _stored(tx, one, end, actor)
        case Refused():
            reason, detail = end.reason, {"problem": end.problem[:500]}
            usage = _retrieved_bytes(row, end.downloaded_bytes)
            return failed(tx, row, Outcome.OUTPUT_REJECTED, reason, actor, usage=usage, detail=detail)
        case Again():
            return _again(tx, one, end, terms, actor)
        case Waits():
            usage = _retrieved_bytes(row, end.downloaded_bytes)
            return postponed(tx, row, end.reason, OWN_TROUBLE_SECONDS, actor, _given_back(one, end), usage)
        case _:
            assert_never(end)


def _stored(tx: Transaction, one: Retrieved, end: Owned, actor: str) -> Transition:
    row, object_ = one.row, object_id(one.key, tx.now)
    return Transition(
        "attempt",
        row,
        Move(_S.RETRIEVING, _S.STORED),
        actor,
        "adopted" if end.downloaded_bytes is None else "verified",
        facts={
            "object": object_,
            "polls_metered": row.poll_count,
            "next_action_at": None,
            "refused_sha256": None,
            "work_tries": 0,
        },
        usage=(*_status_requests(row, row.poll_count), *_retrieved_bytes(row, end.downloaded_bytes, object_)),
        topics=(Topic.OWNED,),
        detail={"object": object_, "sha256": end.verified.facts.sha256},
        release=True,
    )


def _given_back(one: Retrieved, end: Waits) -> dict[str, int]:
    """Our own trouble spends no try; a body that came in spite of it was downloaded all the same."""
    if not one.is_counted:
        return {}
    given_back = {"fetch_tries": one.row.fetch_tries - 1}
    if end.downloaded_bytes is None:
        given_back["downloads"] = one.row.downloads - 1
    return given_back


def _again(tx: Transaction, one: Retrieved, end: Again, terms: ProviderTerms, actor: str) -> Transition:
    row, tries = one.row, one.row.fetch_tries + (not one.is_counted)
    usage = _retrieved_bytes(row, end.downloaded_bytes)
    if end.refused_sha256 is not None and end.refused_sha256 == row.refused_sha256:
        detail = {"problem": "the same bytes were refused twice", "sha256": end.refused_sha256}
        return failed(tx, row, Outcome.OUTPUT_REJECTED, end.reason, actor, usage=usage, detail=detail)
    if tries >= terms.fetch_tries:
        return tries_used_up(tx, row, end.reason, actor, usage=usage)
    facts: dict[str, Any] = {"refused_sha256": end.refused_sha256 or row.refused_sha256, "fetch_tries": tries}
    if end.brought_nothing:
        facts["downloads"] = max(0, row.downloads - 1)
    return postponed(tx, row, end.reason, _wait(tries, end, terms.pace), actor, facts, usage)


def _wait(tries: int, end: Again, pace: PollPace) -> float:
    own_pace = backoff_seconds(
        2 * (tries - 1), first=FIRST_WAIT_SECONDS, ceiling=LONGEST_WAIT_SECONDS, spread=spread()
    )
    return max(own_pace, min(end.wait_seconds or 0.0, pace.retry_after_cap_seconds))


def tries_used_up(
    tx: Transaction,
    row: sa.Row[Any],
    last: str,
    actor: str,
    *,
    polls: int | None = None,
    usage: tuple[Usage, ...] = (),
    facts: Mapping[str, Any] | None = None,
) -> Transition:
    outcome = Outcome.RESULT_EXPIRED if last == "url_expired" else Outcome.OUTPUT_REJECTED
    return failed(
        tx,
        row,
        outcome,
        "fetch_tries_used_up",
        actor,
        polls=polls,
        usage=usage,
        facts=facts,
        detail={"problem": f"the last of {max(1, row.fetch_tries)} tries ended in {last}"},
    )


def failed(
    tx: Transaction,
    row: sa.Row[Any],
    outcome: Outcome,
    reason: str,
    actor: str,
    *,
    polls: int | None = None,
    usage: tuple[Usage, ...] = (),
    facts: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Transition:
    """The end of an attempt whose hold and lane the poller settled when output was reported."""
    polls = row.poll_count if polls is None else polls
    return Transition(
        "attempt",
        row,
        _END,
        actor,
        reason,
        facts={
            **(facts or {}),
            "polls_metered": polls,
            "outcome_class": str(outcome),
            "outcome_reason": reason,
            "ended_at": tx.now,
            "next_action_at": None,
        },
        usage=(*_status_requests(row, polls), *usage),
        detail=detail,
        release=True,
    )


def postponed(
    tx: Transaction,
    row: sa.Row[Any],
    reason: str,
    wait_seconds: float,
    actor: str,
    facts: Mapping[str, Any],
    usage: tuple[Usage, ...] = (),
) -> Transition:
    due = tx.now + int(wait_seconds * SECOND)
    return Transition(
        "attempt",
        row,
        None,
        actor,
        reason,
        facts={**facts, "next_action_at": due},
        usage=usage,
        release=True,
    )


def _status_requests(row: sa.Row[Any], polls: int) -> tuple[Usage, ...]:
    looks = polls - row.polls_metered
    return (Usage("status_requests", looks),) if looks > 0 else ()


def _retrieved_bytes(
    row: sa.Row[Any], downloaded_bytes: int | None, object_: str | None = None
) -> tuple[Usage, ...]:
    """A whole body that came; once more as a repetition when an earlier fetch may have brought bytes."""
    if downloaded_bytes is None:
        return ()
    meters = ("retrieved_bytes", "repeated_download_bytes")[: 2 if row.downloads > 1 else 1]
    return tuple(Usage(meter, downloaded_bytes, object=object_) for meter in meters)


_WORDS = {None: "postponed", _S.STORED: "stored", _S.FAILED: "failed"}


def results_of(wanted: Sequence[Transition], verdicts: Sequence[Verdict]) -> list[ItemResult]:
    results = []
    for one, verdict in zip(wanted, verdicts, strict=True):
        target = None if one.move is None else AttemptState(one.move.target)
        word = _WORDS[target] if verdict is Verdict.APPLIED else "lost"
        results.append(ItemResult(one.row.id, one.row.campaign, word, one.reason))
    return results


def spread() -> float:
    return random.random()  # noqa: S311 - spreads load, guards nothing
