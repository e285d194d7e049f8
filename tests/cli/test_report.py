"""`reelwright report`: from usage to files that a controller can give away, by the command alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.domain.periods import midnight
from resources.database.database import Database
from tests.cli.desk import Desk
from tests.steps.account.books import MARCH, Books


@pytest.fixture
def books(both: Desk) -> Iterator[Books]:
    database = Database.at(both.database_url)
    made = Books(database)
    made.use(midnight(MARCH.first_day) + 1, 1234)
    yield made
    database.close()


def test_a_month_is_written_where_the_settings_say_and_elsewhere_with_the_same_bytes(
    both: Desk, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REELWRIGHT_REPORTS_FOLDER", str(both.folder / "finance"))
    both.run("rate", "2026-03")
    told = both.run("report", "2026-03")
    made = both.json("report", "2026-03", "--out", both.folder / "x")
    page = (both.folder / "finance" / "2026-03" / "report.html").read_bytes()

    assert told.exit_code == 0
    assert "grace: provisional" in told.stdout
    assert (made["month"], made["status"]) == ("2026-03", "grace")
    assert made["files"]["report.html"]["sha256"] == hashlib.sha256(page).hexdigest()
    assert (both.folder / "x" / "report.html").read_bytes() == page


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("2026-13",), 2, "2026-13"),
        (("2099-01",), 1, "has not begun"),
    ],
)
def test_a_month_that_is_none_or_has_not_begun_is_refused(
    desk: Desk, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    refused = desk.run("report", *arguments)

    assert refused.exit_code == code
    assert problem in refused.stderr
    assert not Path(desk.folder, ".reelwright", "reports").exists()
