"""Run what is approved: mark it, and purge what was marked long enough ago; the dry run is the plan itself.

Belongs here: that order over all plans. Does not belong here: approving, or any of the steps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pipeline.domain.errors import NotAllowed
from pipeline.steps.retain.approve import missing_roles
from pipeline.steps.retain.mark import mark
from pipeline.steps.retain.purge import purge
from pipeline.steps.retain.retaining import Retaining
from resources.database.retention_plans import open_plans, plan_named


@dataclass(frozen=True, slots=True)
class Ran:
    counts: Counter[str]
    refused: tuple[str, ...]  #: plans that could not be begun, and why


def run(retaining: Retaining, plan: str | None = None) -> Ran:
    """Go on with one plan, or with every approved one, then purge all that is due.

    Raises NotAllowed when the named plan is not approved or out of date; of several, such a one holds up no
    other.
    """
    counts: Counter[str] = Counter()
    refused = []
    for one in _plans(retaining, plan):
        try:
            counts += mark(retaining, one)
        except NotAllowed as refusal:
            if plan is not None:
                raise
            refused.append(str(refusal))
    return Ran(counts + purge(retaining), tuple(refused))


def _plans(retaining: Retaining, plan: str | None) -> list[str]:
    with retaining.adapters.database.reading() as connection:
        if plan is not None:
            return [plan_named(connection, plan).id]
        return [one.id for one in open_plans(connection) if not missing_roles(connection, one.id)]
