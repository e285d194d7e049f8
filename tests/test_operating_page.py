"""The runbook names everything that runs, and nothing that does not (docs/operating.md)."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg

from pipeline.definitions import defs
from pipeline.domain.next_action import Action
from pipeline.steps.answer.standing import Part
from pipeline.steps.operate import tell_checks, watch_runs

PAGE = (Path(__file__).parents[1] / "docs" / "operating.md").read_text("utf-8")
#: First columns of its tables: what a row is about.
ROWS = {name for row in re.findall(r"(?m)^ *\| (`.+?) \|", PAGE) for name in re.findall(r"`([^`]+)`", row)}


def test_every_sensor_schedule_and_lot_has_a_row() -> None:
    schedules = [one for one in defs.schedules or () if isinstance(one, dg.ScheduleDefinition)]
    running = {one.name for one in (*(defs.sensors or ()), *schedules)}
    lots = {job.name for job in defs.jobs or () if job.name.endswith("_lot")}

    assert running | lots <= ROWS


def test_upkeep_jobs_are_named_beside_their_schedules() -> None:
    jobs = {job.name for job in defs.jobs or () if not job.name.endswith("_lot")}

    assert all(f"`{name}`" in PAGE for name in jobs)


def test_every_alert_has_a_row() -> None:
    kinds = {tell_checks.KIND, watch_runs.FAILED, watch_runs.KEEPS_FAILING}

    assert kinds == {name.partition("/")[0] for name in ROWS if re.search(r"/(JOB|NAME)$", name)}


def test_every_next_action_that_a_person_may_read_says_what_to_do() -> None:
    by_itself = {Action.NOTHING, Action.RECONCILE_UNKNOWN, Action.RETRY_BY_ITSELF}
    wanted = {str(one).replace("_", " ") for one in Action if one not in by_itself}

    assert wanted <= ROWS


def test_every_asset_that_makes_something_anew_is_named() -> None:
    assert {Part.THUMBNAILS, Part.TAG_INDEX} <= ROWS
