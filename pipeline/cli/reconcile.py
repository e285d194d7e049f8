"""`reelwright reconcile` and `check`: mend what nobody moves any more; say whether all is well (E5, E6).

Arguments and tables only; the work is `pipeline.steps.operate`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.opening import Json, acting, opened
from pipeline.cli.printing import emit, say, show, working
from pipeline.cli.refusals import ExitCode
from pipeline.domain.errors import BadSettings, NotAllowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.steps.operate.check import Violation
    from pipeline.steps.operate.checked import CheckResult
    from resources.adapters import Adapters

MICROS = 1_000_000


def reconcile(
    restored: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The database is a dump of TIME put back: look before sending."),
    ] = None,
    restored_over: Annotated[
        bool, typer.Option("--restored-over", help="All that the dump had forgotten is found.")
    ] = False,
    json: Json = False,
) -> None:
    """Make the one legal step where something was left behind, and say what and why."""
    from pipeline.steps.operate.reconcile import reconcile as step
    from pipeline.steps.operate.reconciled import Done

    settings, dumped_at = acting(), None if restored is None else _time(restored)
    with opened(settings) as adapters, working("reconciling …", quiet=json):
        _mark(adapters, settings.actor, dumped_at, is_over=restored_over)
        report = step(adapters, adapters.database.now())
    if json:
        emit({"at": report.at, "counts": report.counts, "findings": report.findings})
    else:
        rows = [
            (one.item, one.done, one.subject, one.campaign, one.why, one.before, one.after)
            for one in report.findings
        ]
        caption = f"{len(report.mended)} mended of {len(report.findings)} found"
        show(("item", "done", "what", "campaign", "why", "before", "after"), rows, caption)
    if report.those(Done.FAILED):
        raise typer.Exit(ExitCode.TRY_AGAIN)


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadSettings("--restored", f"{text!r} is no time with a zone", "write it as 2026-11-30T02:00Z")
    return found


def _mark(adapters: Adapters, actor: str, dumped_at: datetime | None, *, is_over: bool) -> None:
    from pipeline.steps.operate.reconcile_restored import restored, restored_is_over

    if dumped_at is not None and is_over:
        raise BadSettings("--restored-over", "contradicts --restored", "give one of them")
    if dumped_at is not None:
        restored(adapters.database, dumped_at, actor)
    if is_over and not restored_is_over(adapters.database, actor):
        raise NotAllowed("--restored-over", "this database was not put back", "leave it out")


def check(
    whole: Annotated[
        bool, typer.Option("--whole", help="Also look at every key, entry and remote job; may take long.")
    ] = False,
    json: Json = False,
) -> None:
    """Check that everything that is claimed is true."""
    from pipeline.steps.operate.check import check as look
    from pipeline.steps.operate.checked import Severity
    from pipeline.steps.operate.checks import checks

    with opened(acting()) as adapters, working("checking …", quiet=json):
        results = checks(adapters)
        violations = look(adapters) if whole else []
    if json:
        emit({"checks": [_document(one) for one in results], "violations": violations})
    else:
        _show(results, violations, whole=whole)
    if violations or any(not one.passed and one.severity is Severity.ERROR for one in results):
        raise typer.Exit(ExitCode.REFUSED)


def _document(result: CheckResult) -> dict[str, object]:
    return {
        "name": result.name,
        "passed": result.passed,
        "severity": result.severity,
        "count": result.count,
        "says": result.says,
        "remedy": result.remedy,
        "looked_at": result.looked_at,
        "rows": result.rows,
    }


def _show(results: Sequence[CheckResult], violations: Sequence[Violation], *, whole: bool) -> None:
    heads = [
        (one.name, "ok" if one.passed else one.severity, one.count or "", "; ".join(one.looked_at))
        for one in results
    ]
    show(("check", "", "rows", "looked at"), heads)
    for one in results:
        if one.passed:
            continue
        say(f"\n{one.name}: {one.says}\n  remedy: {one.remedy}")
        rows = [
            (
                row.severity,
                row.subject,
                row.campaign,
                row.reason,
                row.next_action,
                _money(row.cost_at_risk, row.currency),
            )
            for row in one.rows
        ]
        show(("", "what", "campaign", "why", "next", "at risk"), rows)
    if whole:
        broken = [(one.invariant, one.subject, one.found) for one in violations]
        show(("invariant", "what", "found"), broken, f"whole look: {len(violations)} broken")


def _money(micros: int, currency: str) -> str:
    return f"{micros / MICROS:.2f} {currency}" if micros else ""
