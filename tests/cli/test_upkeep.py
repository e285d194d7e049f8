"""`check`, `reconcile` and `backfill` as an operator calls them: words, JSON, exit codes."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from resources.database.database import Database
from tests.cli.desk import Desk
from tests.database import rows


@pytest.fixture
def queued(desk: Desk) -> Desk:
    """One attempt that waits in a campaign of one video."""
    database = Database.at(desk.database_url)
    rows.campaign(database)
    rows.rendition(database, "northwind.spring")
    rows.attempt(database, "northwind.spring", "r-1")
    database.close()
    return desk


def test_an_empty_installation_passes_every_check(desk: Desk) -> None:
    found = desk.json("check", "--whole")

    assert {one["name"] for one in found["checks"] if one["passed"]} == {
        "publish_invariant", "no_orphan_or_missing_objects", "derivative_manifest_complete",
        "attempts_within_their_states", "current_revision_complete", "budgets_and_lanes_add_up",
        "audit_chain_whole",
        "purges_are_proven",
    }  # fmt: skip
    assert found["violations"] == []


def test_a_broken_promise_exits_with_one_and_is_named(queued: Desk) -> None:
    """Rows that were written past the product have no audit."""
    _run(queued, "UPDATE attempts SET version = 3")

    done = queued.run("check")

    assert done.exit_code == 1
    assert "audit_chain_whole" in done.stdout
    assert "r-1-a1" in done.stdout
    assert "remedy: stop writers" in done.stdout


def test_reconciling_says_what_it_mended_and_nothing_the_second_time(queued: Desk) -> None:
    first, second = queued.json("reconcile"), queued.json("reconcile")

    assert first["counts"]["stale_states"] == {"mended": 1}
    assert [one["subject"] for one in first["findings"]] == ["r-1-a1"]
    assert second["findings"] == []
    assert "0 mended of 0 found" in queued.run("reconcile").stdout


@pytest.mark.parametrize("kind", ["thumbnails", "index", "tags"])
def test_a_backfill_of_nothing_says_so(queued: Desk, kind: str) -> None:
    assert queued.json("backfill", kind, "northwind.spring")["counts"] == {}
    assert "nothing to do" in queued.run("backfill", kind, "--all").stdout


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--all", "northwind.spring"], 2), ([], 2), (["northwind.nowhere"], 4)]
)
def test_a_backfill_needs_known_campaigns_or_all(queued: Desk, arguments: list[str], code: int) -> None:
    assert queued.run("backfill", "index", *arguments).exit_code == code


def _run(desk: Desk, statement: str) -> None:
    database = Database.at(desk.database_url)
    database.run(lambda tx: tx.connection.execute(sa.text(statement)))
    database.close()
