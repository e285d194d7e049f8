"""What failed runs are worth: an alert a job, told once, counted on, cleared by the next run that succeeds.

Belongs here: which alert, its severity, and not counting a run twice. Does not belong here: finding runs
(`sensors.alerts`), or how an alert goes out (`alert`).

The alert's own row remembers the newest run that was counted, so that a look needs no cursor and two at once
count a run once more at worst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.steps.operate.alert import clear_alert, raise_alert
from resources.database.database import Database
from resources.database.schema import alerts
from resources.notify.protocol import Alert, Link, Outlet, Severity, Window

FAILED, KEEPS_FAILING = "run_failed", "runs_keep_failing"
#: One lost run is mended by the next lot; so many without a success between them mean that nothing moves.
KEEPS_FAILING_AFTER = 3

Facts = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run of Dagster's that failed."""

    job: str
    run_id: str
    ended_at: int  #: UTC microseconds


def tell_failed_runs(
    database: Database, outlet: Outlet, failed: Sequence[FailedRun], reason_of: Callable[[str], str]
) -> int:
    """Raise alerts for those of *failed* that were not counted yet; returns how many those were.

    *reason_of* names by run id what broke it, as a code.
    """
    told = 0
    for run in sorted(failed, key=lambda one: one.ended_at):
        counted = _counted(database, run.job)
        if counted is not None and run.ended_at <= counted.facts.get("ended_at", 0):
            continue
        facts: Facts = {
            "job": run.job,
            "run": run.run_id,
            "reason": reason_of(run.run_id),
            "ended_at": run.ended_at,
        }
        raise_alert(
            database, outlet, _alert(FAILED, Severity.WARNING, f"A run of {run.job} failed", run, facts)
        )
        raised = 1 if counted is None or counted.cleared_at is not None else counted.raised + 1
        if raised >= KEEPS_FAILING_AFTER:
            title = f"Runs of {run.job} keep failing"
            raise_alert(database, outlet, _alert(KEEPS_FAILING, Severity.CRITICAL, title, run, facts))
        told += 1
    return told


def failing_jobs(database: Database) -> dict[str, int]:
    """Jobs about which an alert is open, with the time of their newest counted failure."""
    wanted = sa.select(alerts).where(alerts.c.id.startswith(f"{FAILED}/"), alerts.c.cleared_at.is_(None))
    with database.reading() as connection:
        rows = connection.execute(wanted).all()
    return {row.id.partition("/")[2]: int(row.facts.get("ended_at", 0)) for row in rows}


def recovered(database: Database, job: str) -> None:
    """A later run of *job* succeeded: what failed before is over."""
    for kind in (FAILED, KEEPS_FAILING):
        clear_alert(database, f"{kind}/{job}")


def _counted(database: Database, job: str) -> sa.Row[Any] | None:
    """The alert about a job's failures; also a cleared one knows what was counted before."""
    wanted = sa.select(alerts).where(alerts.c.id == f"{FAILED}/{job}")
    with database.reading() as connection:
        return connection.execute(wanted).one_or_none()


def _alert(kind: str, severity: Severity, title: str, run: FailedRun, facts: Facts) -> Alert:
    link = Link(Window.DAGSTER, f"/runs/{run.run_id}")
    return Alert(f"{kind}/{run.job}", severity, title, facts, link)
