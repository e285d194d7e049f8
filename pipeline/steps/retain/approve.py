"""Approve a plan, as one who has the role: bound to its hash, refused as a whole when anything changed (C2).

Belongs here: that decision. Does not belong here: making plans, or running one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed
from pipeline.domain.retention import HOUR, RetentionPolicy
from pipeline.steps.retain.retaining import Retaining
from resources.database.database import Transaction
from resources.database.retention_plans import (
    approvals_of,
    approve_plan,
    approvers_wanted,
    locked_plan,
    plan_named,
)

NEW_PLAN = "make a new plan: `reelwright retention plan`"


@dataclass(frozen=True, slots=True)
class Approved:
    plan: str
    roles: tuple[str, ...]  #: in which it was approved now
    missing: tuple[str, ...]  #: whose approval it still needs


def approve(retaining: Retaining, name: str, *, reason: str = "") -> Approved:
    """Approve the plan whose hash begins with *name*, in every role of the actor that it needs.

    Raises NotAllowed when the plan is refused, out of date, or asks for roles that the actor does not have.
    """

    def work(tx: Transaction) -> Approved:
        found = locked_plan(tx, plan_named(tx.connection, name).id)
        retaining.refuse_wrong_clock(tx.connection, tx.now)
        require_valid(retaining.policy, found, tx.now)
        wanted = approvers_wanted(tx.connection, found.id)
        mine = wanted & retaining.policy.roles_of(retaining.actor)
        if not mine and wanted:
            problem = f"{retaining.actor} has none of the roles {', '.join(sorted(wanted))}"
            raise NotAllowed(found.id[:12], problem, "ask somebody whom `approvers` of the policy names")
        approve_plan(tx, found.id, mine, tenant=found.tenant, actor=retaining.actor, reason=reason)
        return Approved(found.id, tuple(sorted(mine)), missing_roles(tx.connection, found.id))

    return retaining.adapters.database.run(work)


def missing_roles(connection: sa.Connection, plan: str) -> tuple[str, ...]:
    given = {row.role for row in approvals_of(connection, plan)}
    return tuple(sorted(approvers_wanted(connection, plan) - given))


def require_valid(policy: RetentionPolicy, found: sa.Row[Any], now: int) -> None:
    """NotAllowed unless the plan may be approved, or begun, at *now* under *policy*: all of it or nothing."""
    subject = f"plan {found.id[:12]}"
    if found.refused:
        raise NotAllowed(
            subject, f"it was refused: {found.refused}",
            "raise the limit in the policy if this is right, then plan again",
        )  # fmt: skip
    if found.policy_sha256 != policy.sha256:
        problem = f"the policy, its roots or limits changed since (version {found.policy_version} then,"
        raise NotAllowed(subject, f"{problem} {policy.version} now)", NEW_PLAN)
    age = now - found.made_at
    if not 0 <= age <= policy.plan_valid_hours * HOUR:
        problem = f"it is {age // HOUR} hours old, and valid for {policy.plan_valid_hours}"
        raise NotAllowed(subject, problem, NEW_PLAN)
