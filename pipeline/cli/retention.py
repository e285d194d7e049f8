"""`reelwright retention DEED`: what goes, who said so, and the proof that it is gone.

Arguments and lines only; the work is `pipeline.steps.retain`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.opening import As, Json, acting, opened
from pipeline.cli.printing import emit, say
from pipeline.cli.refusals import ExitCode

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from pipeline.steps.retain.retaining import Retaining
    from resources.adapters import Adapters


class Deed(enum.StrEnum):
    PLAN = "plan"  #: make and keep a plan
    WHAT_IF = "what-if"  #: the plan that another policy would make, kept by nobody
    DIFF = "diff"  #: of a plan against the one before
    APPROVE = "approve"
    RUN = "run"
    UNDO = "undo"
    STATUS = "status"
    RECEIPTS = "receipts"
    PROVE = "prove"


Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A plan by its hash, or the object to undo or prove.")
]
SourceAsset = Annotated[
    str | None,
    typer.Option("--source-asset", help="TENANT/SHA256: plan everything of it, at a person's request."),
]
Policy = Annotated[Path | None, typer.Option("--policy", help="Another policy file, for what-if.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; recorded for good.")]
Only = Annotated[
    list[str] | None, typer.Option("--object", help="Undo only this object of the plan; may be repeated.")
]
Known = Annotated[
    str, typer.Option("--known", help="A hash of the chain's end that was kept elsewhere, to prove against.")
]


def retention(
    deed: Annotated[
        Deed,
        typer.Argument(
            metavar="DEED",
            help="plan, what-if, diff, approve, run, undo, status, receipts or prove.",
        ),
    ],
    name: Name = None,
    source_asset: SourceAsset = None,
    policy: Policy = None,
    reason: Reason = "",
    only: Only = None,
    known: Known = "",
    as_: As = None,
    json: Json = False,
) -> None:
    """Plan, approve, run, undo and prove what is thrown away; nothing goes unapproved."""
    from pipeline.cli import retention_lines as lines

    _require(deed, name, source_asset, policy, reason)
    settings = acting(as_)
    with opened(settings) as adapters:
        retaining = retaining_of(settings, adapters, policy)
        said = {"source_asset": source_asset, "reason": reason, "only": only or [], "known": known}
        done, is_well = _DEEDS[deed](retaining, name or "", said)
    if json:
        emit(done)
    else:
        lines.tell(deed, done)
    if not is_well:
        raise typer.Exit(ExitCode.REFUSED)


def _require(
    deed: Deed, name: str | None, source_asset: str | None, policy: Path | None, reason: str
) -> None:
    if deed in (Deed.APPROVE, Deed.UNDO, Deed.PROVE) and name is None:
        raise typer.BadParameter(f"{deed} needs a name", param_hint="NAME")
    if deed is Deed.WHAT_IF and policy is None:
        raise typer.BadParameter("what-if needs --policy FILE")
    if policy is not None and deed is not Deed.WHAT_IF:
        raise typer.BadParameter("--policy is for what-if; the policy in force is the setting `retention`")
    if deed is Deed.UNDO and not reason:
        raise typer.BadParameter("undo needs --reason")
    if source_asset is not None and deed is not Deed.PLAN:
        raise typer.BadParameter("--source-asset is for plan")
    if source_asset is not None and not reason:
        raise typer.BadParameter("a request about personal data needs --reason")


def retaining_of(settings: Settings, adapters: Adapters, policy: Path | None = None) -> Retaining:
    """What the steps of retention work with, under the policy in force or the one in *policy*."""
    from pipeline.documents.retention_policy import default_retention_policy, read_retention_policy
    from pipeline.steps.retain.retaining import Retaining
    from resources.connect import read_or_default, retention_policy, storage_price

    in_force = (
        retention_policy(settings)
        if policy is None
        else read_or_default(policy, default_retention_policy, read_retention_policy)
    )
    return Retaining(adapters, in_force, storage_price(settings), settings.actor)


Done = tuple[Any, bool]


def _plan(retaining: Retaining, _name: str, said: Mapping[str, Any]) -> Done:
    from pipeline.steps.answer.retention import one_plan
    from pipeline.steps.retain.plan import plan, plan_erasure

    asset, reason = said["source_asset"], said["reason"]
    made = (
        plan_erasure(retaining, asset, reason=reason) if asset else plan(retaining, reason=reason or "asked")
    )
    return one_plan(retaining.adapters.database, made.id), made.refused is None


def _what_if(retaining: Retaining, _name: str, _said: Mapping[str, Any]) -> Done:
    from pipeline.steps.retain.plan import draft

    made = draft(retaining)
    return made, made.refused is None


def _diff(retaining: Retaining, name: str, _said: Mapping[str, Any]) -> Done:
    from pipeline.steps.answer.retention import subjects_of
    from pipeline.steps.retain.plan import SWEEP, difference
    from resources.database.retention_plans import newest_plan, plan_named

    database = retaining.adapters.database
    with database.reading() as connection:
        new = plan_named(connection, name) if name else newest_plan(connection, kind=SWEEP)
        old = None if new is None else newest_plan(connection, kind=new.kind, before=new.made_at)
    if new is None or old is None:
        return {"problem": "there are not two plans to compare"}, False
    change = difference(subjects_of(database, new.id), subjects_of(database, old.id))
    return {
        "plan": new.id,
        "before": old.id,
        "bytes": new.size_bytes - old.size_bytes,
        "change": change,
    }, True


def _approve(retaining: Retaining, name: str, said: Mapping[str, Any]) -> Done:
    from pipeline.steps.retain.approve import approve

    return approve(retaining, name, reason=said["reason"]), True


def _run(retaining: Retaining, name: str, _said: Mapping[str, Any]) -> Done:
    from pipeline.steps.retain.run import run

    ran = run(retaining, name or None)
    said = {"counts": dict(ran.counts), "refused": ran.refused, "grace_days": retaining.policy.grace_days}
    return said, not ran.refused


def _undo(retaining: Retaining, name: str, said: Mapping[str, Any]) -> Done:
    from pipeline.steps.retain.undo import undo

    return undo(retaining, name, said["only"], reason=said["reason"]), True


def _status(retaining: Retaining, name: str, _said: Mapping[str, Any]) -> Done:
    from pipeline.steps.answer.retention import newest, one_plan

    database = retaining.adapters.database
    return ([one_plan(database, name)] if name else newest(database)), True


def _receipts(retaining: Retaining, name: str, _said: Mapping[str, Any]) -> Done:
    import json

    from resources.database.receipts import receipts_of
    from resources.database.retention_plans import plan_named

    with retaining.adapters.database.reading() as connection:
        plan = plan_named(connection, name).id if name else None
        found = receipts_of(connection, plan, 200)
    return [json.loads(row.body) | {"sha256": row.sha256} for row in found], True


def _prove(retaining: Retaining, name: str, said: Mapping[str, Any]) -> Done:
    from pipeline.steps.retain.verify import prove

    proven = prove(retaining, name, known=said["known"])
    return proven, proven.holds


_DEEDS: Mapping[Deed, Callable[[Any, str, Mapping[str, Any]], Done]] = {
    Deed.PLAN: _plan,
    Deed.WHAT_IF: _what_if,
    Deed.DIFF: _diff,
    Deed.APPROVE: _approve,
    Deed.RUN: _run,
    Deed.UNDO: _undo,
    Deed.STATUS: _status,
    Deed.RECEIPTS: _receipts,
    Deed.PROVE: _prove,
}

__all__ = ["Deed", "retaining_of", "retention", "say"]
