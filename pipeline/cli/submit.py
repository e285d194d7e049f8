"""`reelwright submit`: deliver a brief, start one that waits for a command, ask for takes.

Arguments and lines only; the work is `pipeline.steps.produce.deliver`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, say, working

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from pipeline.steps.produce.planning import Plan
    from pipeline.steps.produce.receipts import Receipt
    from resources.adapters import Adapters

_ENDINGS = (".yaml", ".yml")


def submit(
    brief: Annotated[
        str, typer.Argument(metavar="BRIEF", help="A brief's file, or a campaign already delivered.")
    ],
    variants: Annotated[
        list[str] | None, typer.Argument(metavar="[VARIANT...]", help="With --take: only these variants.")
    ] = None,
    take: Annotated[bool, typer.Option("--take", help="Make fresh videos, at full cost.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Start a complete brief of `submit: manual`.")] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Deliver a brief with its images, or amend one that was delivered."""
    _check(brief, variants, take=take, now=now)
    settings = acting(as_)
    with opened(settings) as adapters, working("delivering …", quiet=json):
        receipt, plan = _submit(adapters, settings, brief, variants or [], take=take, now=now)
    if json:
        emit({**receipt.as_json(), "outcome": receipt.outcome, "receipt": receipt.path, "take": plan})
    else:
        say(_told(receipt, plan))


def _submit(
    adapters: Adapters, settings: Settings, brief: str, variants: list[str], *, take: bool, now: bool
) -> tuple[Receipt, Plan | None]:
    from pipeline.steps.answer.find import variant_key
    from pipeline.steps.produce import deliver
    from pipeline.steps.produce.source_set import submit_revision
    from pipeline.steps.produce.stages import planning_rules

    receipt = _delivered(adapters, settings, brief)
    revision, plan = f"{receipt.campaign}/r{receipt.revision}", None
    if now:
        submit_revision(adapters.database, revision, actor=settings.actor)
    if take:
        wanted = [variant_key(name) for name in variants]
        rules = planning_rules(adapters)
        plan = deliver.take(adapters.database, rules, revision, wanted, actor=settings.actor)
    if not (now or take):
        return receipt, None
    after = deliver.receipt_for(adapters.database, revision)
    return after, plan


def _delivered(adapters: Adapters, settings: Settings, brief: str) -> Receipt:
    from pipeline.steps.answer.find import find_revision
    from pipeline.steps.produce import deliver
    from pipeline.steps.produce.stages import intake_of

    if _is_file(brief):
        return deliver.submit_brief(intake_of(adapters, settings.actor), Path(brief))
    with adapters.database.reading() as connection:
        revision = find_revision(connection, brief)
    return deliver.receipt_for(adapters.database, revision.id)


def _check(brief: str, variants: list[str] | None, *, take: bool, now: bool) -> None:
    if variants and not take:
        raise typer.BadParameter("variants are named with --take; a brief says itself which it wants")
    if _is_file(brief) and not Path(brief).is_file():
        raise typer.BadParameter(f"{brief} is no file: name a brief, or a campaign as TENANT.CAMPAIGN")
    if not _is_file(brief) and not (take or now):
        raise typer.BadParameter(f"{brief} names no brief's file; a campaign needs --take or --now")


def _is_file(brief: str) -> bool:
    return brief.endswith(_ENDINGS) or Path(brief).exists()


def _told(receipt: Receipt, plan: Plan | None) -> str:
    outcome = f" ({receipt.outcome.replace('_', ' ')})" if receipt.outcome else ""
    lines = [f"{receipt.campaign} revision {receipt.revision}: {receipt.state}{outcome}"]
    lines += [f"  fault: {fault}" for fault in receipt.faults]
    lines += [f"  next: {step}" for step in receipt.next_steps]
    lines += [f"  still published: {variant}" for variant in receipt.still_published]
    videos = "1 video" if len(receipt.variants) == 1 else f"{len(receipt.variants)} videos"
    lines += [f"  {videos} wanted; follow: reelwright status {receipt.campaign} --watch"]
    if plan is not None:
        lines.append(f"  {plan.made} fresh takes in {plan.batch}")
    return "\n".join(lines)
