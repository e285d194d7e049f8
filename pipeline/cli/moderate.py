"""`reelwright moderate`: a person's decision about images and copy.

Arguments and lines only; the work is `pipeline.steps.produce.moderate`.
"""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, say


class Verdict(enum.StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


def moderate(
    campaign: Annotated[
        str, typer.Argument(metavar="CAMPAIGN", help="TENANT.CAMPAIGN or TENANT.CAMPAIGN/rN.")
    ],
    verdict: Annotated[Verdict | None, typer.Argument(help="What is decided.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; recorded for good.")] = "",
    review: Annotated[bool, typer.Option("--review", help="Reopen a rejection as a new round.")] = False,
    revision: Annotated[int | None, typer.Option("--revision", min=1, help="Not the newest one.")] = None,
    as_: As = None,
    json: Json = False,
) -> None:
    """Approve or reject a revision's images and copy."""
    if (verdict is None) is not review:
        raise typer.BadParameter("say approve or reject, or --review to reopen a rejection")
    if not reason.strip():
        raise typer.BadParameter("say why with --reason")
    decided = _decide(campaign, verdict, revision, reason, as_)
    if json:
        emit(decided)
    else:
        say(f"{decided['revision']}: {decided['state']}" + ("" if decided["is_new"] else " (as it was)"))


def _decide(
    campaign: str, verdict: Verdict | None, number: int | None, reason: str, as_: str | None
) -> dict[str, object]:
    from pipeline.domain.moderation import Decision
    from pipeline.steps.answer.find import find_revision
    from pipeline.steps.produce import moderate as step
    from pipeline.steps.produce.stages import planning_rules

    settings = acting(as_)
    with opened(settings) as adapters:
        with adapters.database.reading() as connection:
            revision = find_revision(connection, campaign, number).id
        if verdict is None:
            step.review(adapters.database, revision, reason=reason, actor=settings.actor)
            return {"revision": revision, "state": "moderating", "is_new": True, "plan": None}
        decision = Decision.APPROVED if verdict is Verdict.APPROVE else Decision.REJECTED
        done = step.decide(
            adapters.database, adapters.moderation, planning_rules(adapters), revision, decision,
            reason=reason, actor=settings.actor,
        )  # fmt: skip
    return {"revision": revision, "state": str(decision), "is_new": done.is_new, "plan": done.plan}
