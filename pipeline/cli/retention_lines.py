"""How the deeds of `reelwright retention` read for people; `--json` prints the same values whole.

Belongs here: words and tables. Does not belong here: any deed (`retention`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.cli.printing import say, show
from pipeline.domain.units import money

if TYPE_CHECKING:
    from pipeline.steps.answer.retention import PlanView
    from pipeline.steps.retain.approve import Approved
    from pipeline.steps.retain.plan import Plan
    from pipeline.steps.retain.undo import Undone
    from pipeline.steps.retain.verify import Proven

SHORT = 12  #: characters of a hash that people type


def tell(deed: str, done: Any) -> None:
    _LINES[deed](done)


def _plan(one: PlanView) -> None:
    _head(one)
    rows = [
        (item.what, item.subject, item.campaign, f"{item.size_bytes:,}", item.reason, item.policy_row,
         _day(item.due), item.standing, item.why)
        for item in one.named
    ]  # fmt: skip
    columns = ("what", "object", "campaign", "bytes", "goes because", "row", "due", "standing", "why")
    more = one.items - len(one.named)
    show(columns, rows, f"{more} more; --json names {len(one.named)} of {one.items}" if more > 0 else "")
    _kept(one.kept)
    if one.missing and not one.refused:
        say(f"next: `reelwright retention approve {one.plan[:SHORT]}` by {', '.join(one.missing)}")


def _head(one: PlanView) -> None:
    saving = f", {money(one.monthly_saving)} {one.currency} a month" if one.currency else ""
    what = f"{one.kind} of {one.scope}" if one.scope else one.kind
    say(f"plan {one.plan}")
    say(
        f"{what}, policy {one.policy_version}, {one.made_at:%Y-%m-%d %H:%M} UTC by {one.made_by}: {one.state}"
    )
    say(f"{one.items} things go, {one.size_bytes:,} bytes{saving}")
    if one.refused:
        say(f"refused as a whole: {one.refused}")
    for who in one.approved_by:
        say(f"approved by {who}")


def _kept(kept: Sequence[Mapping[str, Any]]) -> None:
    rows = [(one["what"], one["reason"], one["objects"], f"{one['size_bytes']:,}") for one in kept]
    show(("stays", "because", "objects", "bytes"), rows)


def _what_if(made: Plan) -> None:
    saving = f", {money(made.monthly_saving)} {made.currency} a month" if made.currency else ""
    say(f"policy {made.policy_version} would let {made.objects} things go, {made.size_bytes:,} bytes{saving}")
    if made.refused:
        say(f"and be refused as a whole: {made.refused}")
    rows = [(one.what, one.subject, one.campaign, f"{one.size_bytes:,}", one.reason) for one in made.items]
    show(("what", "object", "campaign", "bytes", "goes because"), rows)
    _kept([{"what": one.what, "reason": one.reason, "objects": one.objects, "size_bytes": one.size_bytes}
           for one in made.kept])  # fmt: skip


def _diff(done: Mapping[str, Any]) -> None:
    if "problem" in done:
        say(done["problem"])
        return
    change = done["change"]
    say(f"plan {done['plan'][:SHORT]} against {done['before'][:SHORT]}: {done['bytes']:+,} bytes")
    rows = [("goes now", one) for one in change.only_new] + [("stays now", one) for one in change.only_old]
    show(("change", "object"), rows, f"{change.in_both} in both")


def _approve(done: Approved) -> None:
    roles = ", ".join(done.roles) or "nobody: nothing goes by it"
    say(f"plan {done.plan[:SHORT]} approved as {roles}")
    if done.missing:
        say(f"it still needs {', '.join(done.missing)}")
    else:
        say(f"next: `reelwright retention run {done.plan[:SHORT]}`, or the job `retention_run`")


def _run(done: Mapping[str, Any]) -> None:
    counts = ", ".join(f"{word} {number}" for word, number in sorted(done["counts"].items()))
    say(counts or "nothing is due: `reelwright retention status` shows what waits for approval or its grace")
    if done["counts"].get("marked"):
        say(f"what is marked serves for {done['grace_days']} days more; then the next run purges it")
    for refusal in done["refused"]:
        say(f"not begun: {refusal}")


def _undo(done: Undone) -> None:
    say(f"{len(done.subjects)} things of plan {done.plan[:SHORT]} are live again, and exempt from its policy")
    if done.too_late:
        say(f"too late for {done.too_late}: their purge had begun")


def _status(done: Sequence[PlanView]) -> None:
    if len(done) == 1 and done[0].named:
        _plan(done[0])
        _standings(done[0])
        return
    rows = [
        (one.plan[:SHORT], one.kind, f"{one.made_at:%Y-%m-%d %H:%M}", one.items,
         f"{one.size_bytes:,}", one.state, ", ".join(one.missing))
        for one in done
    ]  # fmt: skip
    columns = ("plan", "kind", "made (UTC)", "things", "bytes", "state", "approval wanted of")
    show(columns, rows, "" if rows else "no plan was made yet")


def _standings(one: PlanView) -> None:
    show(("standing", "why", "things"), one.standings)


def _receipts(done: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (one["number"], one["subject"], one["what"], f"{one['size_bytes']:,}", one["policy_row"],
         one["plan"][:SHORT], one["sha256"][:SHORT])
        for one in done
    ]  # fmt: skip
    columns = ("receipt", "object", "what", "bytes", "row", "plan", "hash")
    show(columns, rows, "" if rows else "nothing was purged yet")


def _prove(done: Proven) -> None:
    for body in done.receipts:
        said = json.loads(body)
        say(
            f"receipt {said['number']}: {said['what']} of {said['size_bytes']:,} bytes,"
            f" sha256 {said['sha256']}, purged {_micros(said['purged_at'])}"
            f" by row {said['policy_row']} of policy {said['policy_version']}, plan {said['plan'][:SHORT]};"
            f" {', '.join(said['verified'])}"
        )
    if not done.receipts:
        say(f"{done.subject} has no receipt")
    chain = done.chain
    state = "whole" if chain.is_whole else "; ".join(chain.problems)
    say(f"chain of {chain.length} receipts: {state}; its end is {chain.sha256}")
    if done.left:
        say(f"the store still has it: {done.left}")
    if done.key_is_used_again:
        say("its key holds another object by now")
    say("proven" if done.holds else "not proven")


def _micros(value: int) -> str:
    from pipeline.steps.retain.retaining import utc

    return f"{utc(value):%Y-%m-%d %H:%M:%S} UTC"


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


_LINES: Mapping[str, Callable[[Any], None]] = {
    "plan": _plan, "what-if": _what_if, "diff": _diff, "approve": _approve, "run": _run, "undo": _undo,
    "status": _status, "receipts": _receipts, "prove": _prove,
}  # fmt: skip
