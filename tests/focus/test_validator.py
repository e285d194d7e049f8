"""The public validator takes our export as it is written, but for one rule by name; and why it is no gate."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from resources.reports.focus_check import read, refusals_of
from resources.reports.publish import publish
from tests.focus.validator import CONTRADICTION, validate, verdict
from tests.reports.ledgers import november
from tests.reports.test_focus_check import expected

Rows = Sequence[Mapping[str, str]]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", params=[False, True], ids=["provisional", "closed"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("focus") / "report"
    books = november(closed=request.param)
    publish(folder, books.statement, lambda: books.lines, books.proof)
    return folder


@pytest.mark.parametrize("name", ["focus.csv", "focus.parquet"])
def test_the_export_passes_every_rule_but_the_one_that_contradicts_another(report: Path, name: str) -> None:
    said = validate(report / name)

    assert said.unexpected == frozenset()
    assert said.total > 500
    assert said.passed > 100


def _scaled(rows: Rows) -> Rows:
    return [{**row, "ListCost": format(Decimal(row["ListCost"]) * 100, "f")} for row in rows]


def _reversed(rows: Rows) -> Rows:
    return [
        {**row, "ChargePeriodStart": row["ChargePeriodEnd"], "ChargePeriodEnd": row["ChargePeriodStart"]}
        for row in rows
    ]


@pytest.mark.parametrize(
    "change", [lambda rows: [*rows, *rows], _scaled, _reversed], ids=["twice", "x 100", "reversed"]
)
def test_what_it_lets_through_our_gate_refuses(tmp_path: Path, change: Callable[[Rows], Rows]) -> None:
    books = november()
    publish(tmp_path / "report", books.statement, lambda: books.lines, books.proof)
    rows = change(list(read(tmp_path / "report" / "focus.csv")))
    broken = tmp_path / "broken.csv"
    with broken.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    assert validate(broken).unexpected == frozenset()
    assert refusals_of(rows, expected())


def test_a_broken_export_is_seen_by_it(tmp_path: Path) -> None:
    books = november()
    publish(tmp_path / "report", books.statement, lambda: books.lines, books.proof)
    text = (tmp_path / "report" / "focus.csv").read_text("utf-8")
    broken = tmp_path / "broken.csv"
    broken.write_text(text.replace("Usage-Based", "Now and then"), "utf-8")

    assert validate(broken).unexpected


def test_words_without_a_result_are_no_verdict() -> None:
    with pytest.raises(ValueError, match="gave no result"):
        verdict("Traceback: no such file")
    with pytest.raises(ValueError, match="counted"):
        verdict("Total: 578 | Pass: 136 | Fail: 2 | Skipped: 441\nx InvoiceId-C-005-C: FAIL  (violations=1)")


def test_of_the_two_rules_exactly_one_may_fail() -> None:
    both = "\n".join(f"x {rule}: FAIL  (violations=1)" for rule in sorted(CONTRADICTION))
    one = "Total: 3 | Pass: 2 | Fail: 1 | Skipped: 0\nx InvoiceId-C-005-C: FAIL  (violations=1)"

    assert verdict(one).unexpected == frozenset()
    assert verdict(f"Total: 3 | Pass: 1 | Fail: 2 | Skipped: 0\n{both}").unexpected == CONTRADICTION
