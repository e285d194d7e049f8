"""E1, F5: a month's report is a partition; its page plots, its check reads the files back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipeline.assets.finance_report import ADDS_UP, finance_report
from pipeline.domain.periods import midnight
from resources.adapters import Adapters
from resources.database.database import Database
from sensors.schedules import report_daily
from tests.conftest import Clock
from tests.jobs.window import OPERATING
from tests.steps.account.books import APRIL, MARCH, Books


@pytest.fixture
def books(database: Database, clock: Clock) -> Books:
    clock.at = APRIL.start
    made = Books(database)
    made.use(midnight(MARCH.first_day) + 1, 1234)
    made.rate(MARCH)
    return made


@pytest.fixture
def window() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance


def run(books: Books, window: dg.DagsterInstance, folder: Path) -> dg.ExecuteInProcessResult:
    everything: Any = dict.fromkeys(
        ("store", "index", "sandbox", "providers", "terms", "profile", "transforms", "moderation")
    )
    adapters = Adapters(database=books.database, spool=Path("spool"), prices=books.cards, **everything)
    return dg.materialize(
        [finance_report], partition_key="2026-03-01", instance=window, raise_on_error=False,
        resources={"adapters": adapters, "operating": replace(OPERATING, reports=folder)},
    )  # fmt: skip


def test_a_month_is_written_plotted_and_read_back(
    books: Books, window: dg.DagsterInstance, tmp_path: Path
) -> None:
    result = run(books, window, tmp_path)
    [made] = result.asset_materializations_for_node("finance_report")
    told = {name: value.value for name, value in made.metadata.items()}
    [check] = result.get_asset_check_evaluations()

    assert result.success
    assert (told["billed"], told["provider_units_amount"], told["lines"]) == (12.34, 12.34, 1)
    assert told["status"] == "grace"
    assert "<html" in (tmp_path / "2026-03" / "report.html").read_text()
    assert (check.check_name, check.passed) == (ADDS_UP, True)


def test_a_folder_that_holds_another_report_is_a_red_run_with_its_remedy(
    books: Books, window: dg.DagsterInstance, tmp_path: Path
) -> None:
    (tmp_path / "2026-03").mkdir()
    (tmp_path / "2026-03" / "manifest.json").write_text("{}")
    result = run(books, window, tmp_path)
    [failed] = result.filter_events(lambda event: event.is_step_failure)

    assert not result.success
    assert "move it away" in str(failed.step_failure_data.user_failure_data)


@pytest.mark.parametrize(
    ("now", "asked"),
    [
        (datetime(2026, 12, 1, 5, 5, tzinfo=UTC), ["2026-11-01"]),
        (datetime(2026, 12, 2, 5, 5, tzinfo=UTC), ["2026-12-01", "2026-11-01"]),
        (datetime(2026, 12, 25, 5, 5, tzinfo=UTC), ["2026-12-01"]),
    ],
)
def test_the_running_month_is_reported_and_the_one_before_while_it_is_new(
    now: datetime, asked: list[str]
) -> None:
    context = dg.build_schedule_context(scheduled_execution_time=now)

    assert [one.partition_key for one in report_daily(context)] == asked
