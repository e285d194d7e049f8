"""`reelwright doctor`: one line a check, with what to do about it; exit code 1 when one fails.

Lines only; the checks are `pipeline.cli.health` and `pipeline.cli.machine`.
"""

from __future__ import annotations

import typer

from pipeline.cli.opening import Json, acting
from pipeline.cli.printing import emit, show, working


def doctor(json: Json = False) -> None:
    """Check that everything Reelwright stands on works."""
    from pipeline.cli.findings import Level
    from pipeline.cli.health import check_all

    settings = acting()
    with working("looking …", quiet=json):
        findings = list(check_all(settings))
    failed = sum(one.level is Level.FAIL for one in findings)
    if json:
        emit({"ok": not failed, "checks": findings})
    else:
        rows = [(one.level, one.name, one.detail, one.remedy) for one in findings]
        show(("", "check", "found", "what to do"), rows, f"{failed} of {len(findings)} checks failed")
    if failed:
        raise typer.Exit(1)
