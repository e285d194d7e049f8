"""Tell somebody of a plan that is refused: the policy matches too much and is suspended until a person looks.

Belongs here: that alert. Does not belong here: how it goes out (`operate.alert`).
"""

from __future__ import annotations

from pipeline.steps.answer.retention import PlanView
from pipeline.steps.operate.alert import Told, clear_alert, raise_alert
from resources.database.database import Database
from resources.notify.protocol import Alert, Link, Outlet, Severity, Window

SUSPENDED = "retention/suspended"
PAGE = "/assets/retention_plan"


def tell_plan(database: Database, outlet: Outlet, view: PlanView) -> Told | None:
    """Raise the alert of a refused plan, and clear it with the next that is not."""
    if view.refused is None:
        clear_alert(database, SUSPENDED)
        return None
    facts: dict[str, str | int] = {"plan": view.plan[:12], "things": view.items, "bytes": view.size_bytes}
    title = "The retention policy matches too much: its plan is refused as a whole"
    link = Link(Window.DAGSTER, PAGE)
    return raise_alert(database, outlet, Alert(SUSPENDED, Severity.CRITICAL, title, facts, link))
