"""Decide about submitted source sets: by the policy, or by a person (I3, L6).

Belongs here: judging, recording the decision, and planning in the approval's own transaction. Does not belong
here: the rules (`domain.moderation`), or what an approval makes (`planning`).

An undecided set waits without a claim: nothing is due about it until a person decides. A review opens a new
round. In a review round the policy decides alone only where the policy itself, in another version, had
rejected; what a person rejected, or the same rules would reject again, is decided by a person.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace, NotAllowed, UnknownSubject
from pipeline.domain.follow_ons import Stage, Topic
from pipeline.domain.lifecycle import Move, SourceSetState
from pipeline.domain.media import ImageFacts, MediaKind
from pipeline.domain.moderation import Decision, ModerationPolicy, Verdict, by_hand, judge
from pipeline.steps.produce.lot import ItemResult, LotReport
from pipeline.steps.produce.planning import Plan, PlanningRules, plan_revision
from resources.database.campaigns import lock_campaign
from resources.database.database import Database, Transaction
from resources.database.decisions import Decision as Decided
from resources.database.decisions import newest_decision, record_decision
from resources.database.documents import record_document
from resources.database.revisions import due_revisions, nothing_due, revision_by_id
from resources.database.source_sets import facts_by_name
from resources.database.transitions import Transition, apply_one

POLICY_ACTOR = "moderation_policy"
AWAITS_REVIEWER = "awaits_reviewer"
_KIND = "moderation"

_S = SourceSetState
_MOVES: Mapping[Decision, SourceSetState] = MappingProxyType(
    {Decision.APPROVED: _S.APPROVED, Decision.REJECTED: _S.REJECTED}
)


@dataclass(frozen=True, slots=True)
class Moderated:
    """What one decision came to; `plan` of an approval, None otherwise."""

    revision: str
    campaign: str
    decision: Decision
    reason: str
    plan: Plan | None = None
    is_new: bool = True  #: False: exactly this had been decided before, and nothing changed


def moderate_due(
    database: Database,
    policy: ModerationPolicy,
    rules: PlanningRules,
    *,
    actor: str = POLICY_ACTOR,
    limit: int = 50,
    campaign: str | None = None,
) -> LotReport:
    """Judge what is due, of one campaign or of all. Two at once are safe: the guard lets one decide."""
    began = time.monotonic()
    with database.reading() as connection:
        due = due_revisions(connection, database.clock(connection), limit, campaign)
    results = [_judge_one(database, policy, rules, revision, actor) for revision in due]
    return LotReport(Stage.INGEST, tuple(results), time.monotonic() - began)


def decide(
    database: Database,
    policy: ModerationPolicy,
    rules: PlanningRules,
    revision_id: str,
    decision: Decision,
    *,
    reason: str,
    actor: str,
) -> Moderated:
    """A person's decision about a set in moderation; NotAllowed for any other."""
    verdict = by_hand(policy, decision, reason)

    def work(tx: Transaction) -> Moderated:
        revision = _locked(tx, revision_id)
        if revision.state == _MOVES[decision]:
            return Moderated(revision_id, revision.campaign, decision, reason, is_new=False)
        if revision.state != _S.MODERATING:
            raise NotAllowed(revision_id, f"it is {revision.state}, not in moderation", _remedy(revision))
        return _settle(tx, revision, verdict, policy, rules, actor)

    return database.run(work)


def review(database: Database, revision_id: str, *, reason: str, actor: str) -> None:
    """Reopen a rejection as a new round; only of the newest revision, with a reason (L1)."""
    _require_reason(revision_id, reason)

    def work(tx: Transaction) -> None:
        campaign = lock_campaign(tx, revision_id.split("/")[0])
        revision = _locked(tx, revision_id)
        if revision.state != _S.REJECTED:
            raise NotAllowed(revision_id, f"it is {revision.state}, not rejected", _remedy(revision))
        if campaign is not None and revision.number != campaign.newest_revision:
            newest = campaign.newest_revision
            raise NotAllowed(
                revision_id, f"revision {newest} is newer", f"ask for a review of revision {newest}"
            )
        facts = {"round": revision.round + 1, "next_action_at": None}
        move = Move(_S.REJECTED, _S.MODERATING)
        topics = (Topic.SUBMITTED, Topic.SET_DECIDED)
        apply_one(
            tx, Transition("revision", revision, move, actor, "review", facts, topics=topics, take_over=True)
        )
        one = Decided(
            "review", "revision", revision.id, "reopened", reason.strip(), actor, round=revision.round + 1
        )
        record_decision(tx, revision.tenant, one)

    database.run(work)


def withdraw(database: Database, revision_id: str, *, reason: str, actor: str) -> bool:
    """Its author takes a revision back before it is decided; False when it was taken back before."""
    _require_reason(revision_id, reason)

    def work(tx: Transaction) -> bool:
        revision = _locked(tx, revision_id)
        if revision.state == _S.WITHDRAWN:
            return False
        if revision.state not in (_S.UPLOADED, _S.MODERATING):
            raise NotAllowed(revision_id, f"it is {revision.state} already", _remedy(revision))
        apply_one(tx, withdrawal(revision, actor, "withdrawn_by_author", detail={"reason": reason.strip()}))
        return True

    return database.run(work)


def withdrawal(
    revision: sa.Row[Any], actor: str, reason: str, detail: Mapping[str, Any] | None = None
) -> Transition:
    """The move of an undecided revision that nobody wants any more."""
    return Transition(
        "revision",
        revision,
        Move(_S(revision.state), _S.WITHDRAWN),
        actor,
        reason,
        facts={"next_action_at": None},
        topics=(Topic.SET_DECIDED,),
        detail=detail,
        take_over=True,
    )


def _locked(tx: Transaction, revision_id: str) -> sa.Row[Any]:
    lock_campaign(tx, revision_id.split("/")[0])
    revision = revision_by_id(tx.connection, revision_id)
    if revision is None:
        raise UnknownSubject("revision", revision_id)
    return revision


def _require_reason(revision_id: str, reason: str) -> None:
    if not reason.strip():
        raise NotAllowed(revision_id, "no reason was given", "say why with --reason")


def _remedy(revision: sa.Row[Any]) -> str:
    return "deliver a new revision" if revision.state != _S.UPLOADED else "submit it first"


def _judge_one(
    database: Database, policy: ModerationPolicy, rules: PlanningRules, seen: sa.Row[Any], actor: str
) -> ItemResult:
    if seen.state != _S.MODERATING:
        database.run(lambda tx: nothing_due(tx, seen))
        return ItemResult(seen.id, seen.campaign, "nothing_due")
    verdict = _verdict(database, policy, seen)

    def work(tx: Transaction) -> Moderated | None:
        revision = _locked(tx, seen.id)
        if (revision.state, revision.version) != (seen.state, seen.version):
            return None
        return _settle(tx, revision, verdict, policy, rules, actor)

    try:
        settled = database.run(work)
    except LostRace as lost:
        return ItemResult(seen.id, seen.campaign, "lost", lost.found)
    if settled is None:
        return ItemResult(seen.id, seen.campaign, "lost", "stale")
    return ItemResult(seen.id, seen.campaign, str(settled.decision), settled.reason)


def _verdict(database: Database, policy: ModerationPolicy, revision: sa.Row[Any]) -> Verdict:
    with database.reading() as connection:
        images = {name: image_facts(facts) for name, facts in facts_by_name(connection, revision.id).items()}
        rejection = newest_decision(connection, _KIND, "revision", revision.id, Decision.REJECTED)
    verdict = judge(policy, images, revision.creative["copy"])
    if revision.round == 0 or _policy_may_decide(rejection, policy):
        return verdict
    return replace(verdict, decision=Decision.UNDECIDED, reason=AWAITS_REVIEWER)


def _policy_may_decide(rejection: sa.Row[Any] | None, policy: ModerationPolicy) -> bool:
    if rejection is None or rejection.actor != POLICY_ACTOR:
        return False
    return bool(rejection.policy_version != policy.version)


def _settle(
    tx: Transaction,
    revision: sa.Row[Any],
    verdict: Verdict,
    policy: ModerationPolicy,
    rules: PlanningRules,
    actor: str,
) -> Moderated:
    """Record the decision and what follows from it, in one transaction."""
    record_document(tx, "moderation_policy", policy.version, policy)
    _record(tx, revision, verdict, actor)
    if verdict.decision is Decision.UNDECIDED:
        facts = {"next_action_at": None, "receipt_due_at": tx.now}
        apply_one(tx, Transition("revision", revision, None, actor, "undecided", facts, release=True))
        return Moderated(revision.id, revision.campaign, verdict.decision, verdict.reason)
    move = Move(_S.MODERATING, _MOVES[verdict.decision])
    facts = {"next_action_at": None}
    apply_one(
        tx,
        Transition(
            "revision", revision, move, actor, verdict.reason, facts, topics=(Topic.SET_DECIDED,),
            detail={"rules": list(verdict.rules)}, take_over=True,
        ),
    )  # fmt: skip
    plan = None
    if verdict.decision is Decision.APPROVED:
        plan = plan_revision(tx, revision, rules, actor=actor)
    return Moderated(revision.id, revision.campaign, verdict.decision, verdict.reason, plan)


def _record(tx: Transaction, revision: sa.Row[Any], verdict: Verdict, actor: str) -> None:
    """One row a decision; that a set is undecided is said once a round and policy version."""
    before = newest_decision(tx.connection, _KIND, "revision", revision.id)
    said = (str(verdict.decision), revision.round, verdict.policy_version)
    if before is not None and said == (before.verdict, before.round, before.policy_version):
        return
    findings = [
        {"rule": one.rule, "effect": str(one.effect), "subject": one.subject} for one in verdict.findings
    ]
    record_decision(
        tx,
        revision.tenant,
        Decided(
            _KIND, "revision", revision.id, str(verdict.decision), verdict.reason, actor,
            verdict.policy_version, revision.round, {"findings": findings},
        ),
    )  # fmt: skip


def image_facts(plain: Mapping[str, Any]) -> ImageFacts:
    """Facts as intake recorded them, as a value again."""
    values = dict(plain)
    for name in ("duration_seconds", "frame_rate"):
        values[name] = None if values[name] is None else Fraction(values[name])
    return ImageFacts(**values | {"kind": MediaKind(values["kind"])})
