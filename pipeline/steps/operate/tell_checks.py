"""What a failed check is worth: an alert a check, told once, cleared when the check passes again.

Belongs here: which results somebody is told of (docs/what-turns-red.md: errors; warnings only show). Does not
belong here: the checks (`checks`), or how an alert goes out (`alert`).
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.steps.operate.alert import Told, clear_alert, raise_alert
from pipeline.steps.operate.checked import CheckResult, Severity
from resources.database.database import Database
from resources.notify.protocol import Alert, Link, Outlet, Window
from resources.notify.protocol import Severity as AlertSeverity

KIND = "check_failed"


def tell_check(database: Database, outlet: Outlet, result: CheckResult, page: str) -> Told | None:
    """Raise or clear the alert about *result*; None when there is nothing to say.

    *page* is the path of its page in Dagster's window.
    """
    if result.passed or result.severity is not Severity.ERROR:
        clear_alert(database, f"{KIND}/{result.name}")
        return None
    facts: dict[str, str | int] = {"check": result.name, "rows": result.count}
    campaigns = _named(row.campaign for row in result.rows)
    if campaigns:
        facts["campaign"] = campaigns[0]
    title = f"Check {result.name} fails"
    link = Link(Window.DAGSTER, page)
    return raise_alert(
        database, outlet, Alert(f"{KIND}/{result.name}", AlertSeverity.CRITICAL, title, facts, link)
    )


def _named(campaigns: Iterable[str]) -> list[str]:
    return [one for one in campaigns if one]
