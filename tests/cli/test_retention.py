"""Tried as a data-protection officer would: hold, sweep, prove, undo, at a terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.cli.desk import Desk
from tests.conftest import Clock
from tests.steps.retain.vault import CAMPAIGN, FIELDS, WORDS, Vault

DAYS_OLD = 90


@pytest.fixture
def desk(both: Desk) -> Desk:
    return both


@pytest.fixture
def vault(desk: Desk, database_url: str, tmp_path: Path) -> Any:
    """Videos that are as old as the clock of the machine says, for commands live at that."""
    now = int(datetime.now(UTC).timestamp()) * 1_000_000
    database = Database.at(database_url)
    database.clock = clock = Clock(now - DAYS_OLD * 86_400 * 1_000_000)
    made = Vault(database, clock, LocalStore(tmp_path / "home" / "objects"), tmp_path)
    ended = datetime.now(UTC) - timedelta(days=DAYS_OLD - 10)
    made.amend(CAMPAIGN, ends_on=f"{ended:%Y-%m-%d}")
    yield made
    database.close()


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests' policy, in force for the desk."""
    words = {**WORDS, "approvers": {"operator": ["olive"], "legal": ["lee"]}}
    words["rows"] = [
        {"version": 1} | {name: value for name, value in zip(FIELDS, row, strict=True) if value is not None}
        for row in WORDS["rows"]
    ]
    path = tmp_path / "retention.yaml"
    path.write_text(yaml.safe_dump(words))
    monkeypatch.setenv("REELWRIGHT_RETENTION", str(path))
    return path


@pytest.mark.usefixtures("policy")
def test_a_deletion_is_planned_held_approved_undone_and_proven(desk: Desk, vault: Vault) -> None:
    asset = vault.source()
    kept = vault.video("r-" + "1" * 32, b"kept", sources=[])
    gone = vault.video("r-" + "2" * 32, b"gone", sources=[asset])
    undone = vault.video("r-" + "3" * 32, b"undone", sources=[])
    for name in "123":
        vault.publish("r-" + name * 32)

    held = desk.json(
        "hold", "place", "r-" + "1" * 32, "--matter", "LIT-1", "--reason", "dispute", "--as", "lee"
    )
    plan = desk.json("retention", "plan", "--as", "olive")
    goes = {item["subject"] for item in plan["named"]}
    assert {gone, undone} <= goes
    assert kept not in goes
    assert {(one["what"], one["reason"]) for one in plan["kept"]} >= {("approved_rendition", "held")}

    refused = desk.run("retention", "run", plan["plan"], "--as", "olive")
    assert refused.exit_code == 1
    first = desk.json("retention", "approve", plan["plan"][:12], "--as", "olive")
    assert first["missing"] == ["legal"]
    assert desk.json("retention", "approve", plan["plan"][:12], "--as", "lee")["missing"] == []
    assert desk.json("retention", "run", "--as", "olive")["counts"]["marked"] == len(goes)
    desk.json("retention", "undo", plan["plan"], "--object", undone, "--reason", "on air", "--as", "olive")
    vault.grace_is_over()
    ran = desk.json("retention", "run", "--as", "olive")

    assert ran["counts"]["purged"] == len(goes) - 2
    proven = desk.json("retention", "prove", gone)
    assert proven["left"] == ""
    assert "proven" in desk.run("retention", "prove", gone).stdout
    assert desk.run("retention", "prove", undone).exit_code == 1
    assert vault.state(undone) == vault.state(kept) == "live"
    assert desk.json("hold", "list")["holds"][0]["id"] == held["id"]
    desk.json("hold", "release", held["id"], "--reason", "settled", "--as", "lee")
    assert desk.json("hold", "list")["holds"] == []
    history = desk.run("history", "r-" + "2" * 32).stdout
    assert "purge_by_approved" in history


@pytest.mark.usefixtures("policy")
def test_a_run_says_how_long_what_it_marked_still_serves(desk: Desk, vault: Vault) -> None:
    vault.video("r-" + "1" * 32)
    plan = desk.json("retention", "plan", "--as", "olive")["plan"]
    desk.json("retention", "approve", plan, "--as", "olive")
    marked = desk.run("retention", "run").stdout
    again = desk.run("retention", "run").stdout

    assert f"serves for {WORDS['grace_days']} days more; then the next run purges it" in marked
    assert "nothing is due: `reelwright retention status`" in again


@pytest.mark.usefixtures("policy")
def test_what_if_and_diff_change_nothing(desk: Desk, vault: Vault, tmp_path: Path) -> None:
    vault.video("r-" + "1" * 32)
    first = desk.json("retention", "plan", "--as", "olive")
    vault.video("r-" + "2" * 32, b"another")
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text((tmp_path / "retention.yaml").read_text().replace("keep_days: 20", "keep_days: 300"))

    assert desk.json("retention", "what-if", "--policy", str(stricter))["items"] == []
    second = desk.json("retention", "plan", "--as", "olive")
    change = desk.json("retention", "diff")
    assert (change["plan"], change["before"]) == (second["plan"], first["plan"])
    assert len(change["change"]["only_new"]) == 2
    assert "go" in desk.run("retention", "status", first["plan"]).stdout
    assert [one["state"] for one in desk.json("retention", "status")] == ["waits for approval"] * 2


@pytest.mark.parametrize(
    ("was", "written", "problem"),
    [
        ("keep_days: 20", "keep_days: 0", "is no duration"),
        ("approved_rendition", "aproved_rendition", "is not one of the allowed values"),
    ],
)
def test_a_slip_of_the_pen_deletes_nothing_and_says_where(
    desk: Desk, vault: Vault, policy: Path, was: str, written: str, problem: str
) -> None:
    vault.video("r-" + "1" * 32)
    policy.write_text(policy.read_text().replace(was, written))
    before = vault.keys()
    refused = desk.run("retention", "plan", "--as", "olive")

    assert refused.exit_code == 2
    assert problem in refused.output
    assert vault.keys() == before
