"""What may be thrown away, and why: (policy row, facts, now) -> verdict with its reason (C1, C4).

Belongs here: the facts that a policy judges, the verdict, what a hold reaches. Does not belong here: the
policy itself (`retention_policy`), where facts come from, or deleting anything.

The order of the rules is the order of precedence: a hold stands above a need, a need above every duration.
What no rule knows is kept.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.domain.grants import is_over
from pipeline.domain.retention_policy import (
    ANCHORS,
    CLASSLESS,
    DAY,
    HOUR,
    PLACELESS,
    Action,
    Anchor,
    Limits,
    PolicyRow,
    RetentionPolicy,
    What,
)

__all__ = [
    "ANCHORS",
    "CLASSLESS",
    "DAY",
    "HOUR",
    "PASSING",
    "Action",
    "Anchor",
    "Claim",
    "Facts",
    "Held",
    "Limits",
    "Master",
    "PolicyRow",
    "Reason",
    "RetentionPolicy",
    "Scope",
    "Verdict",
    "What",
    "judge",
]


class Reason(enum.StrEnum):
    """Why something goes, or is kept; stands in plans, items and receipts."""

    DUE = "due"
    WITH_ITS_MASTER = "with_its_master"
    ERASURE = "erasure"  #: asked for by the person whose data it is

    OUTSIDE_ROOTS = "outside_roots"
    HELD = "held"
    EXEMPT = "exempt"  #: undone once under this version of the policy
    NEEDED = "needed"  #: work that is under way reads it
    GRANTED = "granted"  #: somebody may still download it
    SHOWN = "shown"  #: its slot shows it, and its row does not withdraw
    MASTER_STAYS = "master_stays"
    NO_MASTER = "no_master"  #: nobody knows what it was made from
    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_CLASS = "unknown_class"
    FOREVER = "forever"
    UNKNOWN_ANCHOR = "unknown_anchor"
    TOO_YOUNG = "too_young"
    NOT_DUE = "not_due"
    MARKED_BEFORE = "marked_before"  #: an earlier plan is about it


#: A marked object that meets one of these waits, marked; any other reason to keep it returns it to live.
PASSING = frozenset({Reason.GRANTED})


class Claim(NamedTuple):
    """One campaign's say over an object: the class that held when it was made, and when it ends."""

    retention_class: str
    campaign_ends_at: int | None


class Master(NamedTuple):
    id: str
    state: str  #: of its object


class Facts(NamedTuple):
    """What is known of one object. Times in UTC microseconds; None where the event did not happen."""

    id: str
    tenant: str
    campaign: str | None
    what: What | None
    key: str
    size_bytes: int
    state: str
    version: int
    created_at: int
    claims: tuple[Claim, ...]
    declined_at: int | None = None
    superseded_at: int | None = None
    replaced_at: int | None = None
    last_grant_at: int | None = None
    first_seen_at: int | None = None
    is_shown: bool = False
    needed_by: str = ""
    matter: str = ""  #: of the hold that reaches it
    is_exempt: bool = False
    masters: tuple[Master, ...] = ()


class Verdict(NamedTuple):
    goes: bool
    reason: Reason
    row: PolicyRow | None = None
    anchor_at: int | None = None
    due_at: int | None = None


def judge(
    policy: RetentionPolicy,
    facts: Facts,
    now: int,
    *,
    going: Collection[str] = (),
    erasing: bool = False,
) -> Verdict:
    """Whether *facts* may go under *policy* at *now*, and the one reason.

    *going*: ids of masters that go in the same plan. *erasing*: durations and exemptions do not count, as a
    person asked for it; holds, needs, roots and the minimum age do.
    """
    if facts.what not in PLACELESS and not policy.is_within_roots(facts.key):
        return Verdict(False, Reason.OUTSIDE_ROOTS)
    if facts.matter:
        return Verdict(False, Reason.HELD)
    if facts.is_exempt and not erasing:
        return Verdict(False, Reason.EXEMPT)
    if facts.needed_by:
        return Verdict(False, Reason.NEEDED)
    if facts.what is None:
        return Verdict(False, Reason.UNKNOWN_KIND)
    young_until = facts.created_at + policy.minimum_age_hours * HOUR
    if young_until > now:
        return Verdict(False, Reason.TOO_YOUNG, due_at=young_until)
    timed = _by_masters(policy, facts, going) or (
        _erasure(policy, facts) if erasing else _by_time(policy, facts, now)
    )
    if timed.goes and facts.is_shown and timed.row is not None:
        if timed.row.action is not Action.WITHDRAW_AND_PURGE and not erasing:
            return timed._replace(goes=False, reason=Reason.SHOWN)
        return timed
    if timed.goes and facts.last_grant_at is not None and not is_over(facts.last_grant_at, now):
        return timed._replace(goes=False, reason=Reason.GRANTED, due_at=facts.last_grant_at)
    return timed


def _by_masters(policy: RetentionPolicy, facts: Facts, going: Collection[str]) -> Verdict | None:
    """A picture stays as long as one of the objects that it was made from; shared ones need all to go."""
    if facts.what is not What.DERIVATIVE:
        return None
    row = _strictest(policy, facts)
    if row is None:
        return Verdict(False, Reason.UNKNOWN_CLASS)
    if not facts.masters:
        return Verdict(False, Reason.NO_MASTER, row)
    stays = any(one.state == "live" and one.id not in going for one in facts.masters)
    return Verdict(not stays, Reason.MASTER_STAYS if stays else Reason.WITH_ITS_MASTER, row)


def _strictest(policy: RetentionPolicy, facts: Facts) -> PolicyRow | None:
    """A row, when every claim has one."""
    rows = [policy.row(facts.what, claim.retention_class) for claim in facts.claims] if facts.what else []
    return rows[0] if rows and all(rows) else None


def _erasure(policy: RetentionPolicy, facts: Facts) -> Verdict:
    """The policy must know it, so that somebody is named who approves."""
    row = _strictest(policy, facts)
    if row is None:
        return Verdict(False, Reason.UNKNOWN_CLASS)
    return Verdict(True, Reason.ERASURE, row, facts.created_at, facts.created_at)


def _by_time(policy: RetentionPolicy, facts: Facts, now: int) -> Verdict:
    """Every claim must be due; the one that keeps longest decides."""
    if not facts.claims:
        return Verdict(False, Reason.UNKNOWN_CLASS)
    last: Verdict | None = None
    for claim in facts.claims:
        verdict = _of_claim(policy, facts, claim, now)
        if verdict.due_at is None:
            return verdict
        if last is None or last.due_at is None or verdict.due_at > last.due_at:
            last = verdict
    assert last is not None  # noqa: S101 - there is a claim
    return last


def _of_claim(policy: RetentionPolicy, facts: Facts, claim: Claim, now: int) -> Verdict:
    row = policy.row(facts.what, claim.retention_class) if facts.what else None
    if row is None:
        return Verdict(False, Reason.UNKNOWN_CLASS)
    if row.keep_days is None:
        return Verdict(False, Reason.FOREVER, row)
    anchor_at = claim.campaign_ends_at if row.anchor is Anchor.CAMPAIGN_END else _ANCHORED[row.anchor](facts)
    if anchor_at is None:
        return Verdict(False, Reason.UNKNOWN_ANCHOR, row)
    due_at = anchor_at + row.keep_days * DAY
    goes = due_at <= now
    return Verdict(goes, Reason.DUE if goes else Reason.NOT_DUE, row, anchor_at, due_at)


_ANCHORED: Mapping[Anchor, Callable[[Facts], int | None]] = {
    Anchor.UPLOADED: lambda facts: facts.created_at,
    Anchor.STORED: lambda facts: facts.created_at,
    Anchor.DECLINED: lambda facts: facts.declined_at,
    Anchor.SUPERSEDED: lambda facts: facts.superseded_at,
    Anchor.LAST_GRANT: lambda facts: facts.last_grant_at,
    Anchor.REPLACED: lambda facts: facts.replaced_at,
    Anchor.FIRST_SEEN: lambda facts: facts.first_seen_at,
    Anchor.EXPIRED: lambda facts: facts.first_seen_at,
    Anchor.MASTER: lambda facts: None,  # noqa: ARG005 - one signature for all
}


class Scope(enum.StrEnum):
    """What a hold or an erasure may name."""

    TENANT = "tenant"
    CAMPAIGN = "campaign"
    RENDITION = "rendition"
    SOURCE_ASSET = "source_asset"


@dataclass(frozen=True, slots=True)
class Held:
    """Active holds, resolved: by what they reach, the matter. A source asset reaches what was made of it."""

    tenants: Mapping[str, str] = field(default_factory=dict)
    campaigns: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    touched: Mapping[str, str] = field(default_factory=dict)  #: tenants of whom anything at all is held

    def matter(self, tenant: str, campaigns: Collection[str | None], objects: Collection[str]) -> str:
        """The matter that reaches something of *tenant*, of one of *campaigns*, or one of *objects*."""
        if tenant in self.tenants:
            return self.tenants[tenant]
        found = [self.campaigns[name] for name in campaigns if name is not None and name in self.campaigns]
        found += [self.objects[name] for name in objects if name in self.objects]
        return found[0] if found else ""
