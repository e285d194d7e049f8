"""Whatever a person writes or a machine lacks: the right exit code, a line that helps, and nothing lost."""

from __future__ import annotations

import json
import resource
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.main import app
from resources.database import database as databases
from resources.database import engine
from tests.cli.desk import CAMPAIGN, SLOT, Desk


def made(settings: dict[str, Any]) -> dict[str, Any]:
    return {"generation": {"provider": "local", "model": "kenburns-1", "settings": settings}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tenant: [northwind", "line 1"),
        ("", "document"),
        ("just words", "document"),
        ("tenant: northwind\ntenant: acme\n", "tenant"),
    ],
    ids=["broken", "empty", "no mapping", "a key twice"],
)
def test_broken_yaml_is_bad_input_and_leaves_its_words_beside_it(desk: Desk, text: str, said: str) -> None:
    path = desk.folder / "brief.yaml"
    path.write_text(text)
    done = desk.run("submit", path)

    assert done.exit_code == 2
    assert said in done.stderr
    assert "remedy: " in done.stderr
    assert done.stdout == ""
    assert (desk.folder / "brief.errors.txt").exists()
    assert desk.json("status")["wishes"] == []


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"colour": "blue"}, "colour", ""),
        (
            {"variants": {"locales": [], "aspect_ratios": ["16:9"], "duration_seconds": [1]}},
            "variants",
            "1 to",
        ),
        ({"tenant": "../etc"}, "tenant", "a-z"),
        ({"campaign": "Spring Depot"}, "campaign", "a-z"),
        ({"campaign": "a" * 300}, "campaign", ""),
        ({"tenant": "intake"}, "tenant", "another slug"),
        ({"sources": ["../../etc/passwd"]}, "sources", ""),
        ({"sources": ["a\x00b.jpg"]}, "sources", ""),
        ({"revision": "three"}, "revision", ""),
        ({"generation": {"provider": "nobody", "model": "m"}}, "generation", "local"),
        ({"budget": {"cap": "a lot", "currency": "EUR"}}, "budget.cap", ""),
        (made({"fps": 999}), "generation.settings.fps", "a whole number from 1 to 60"),
        (made({"zooom": 1.2}), "generation.settings.zooom", "fps, zoom, short_side"),
        (made({"short_side": 2160}), "makes 16:9 3840 pixels long", "up to 1080 for 16:9"),
    ],
)
def test_a_wrong_field_is_named_with_its_line_and_what_is_allowed(
    desk: Desk, changes: dict[str, Any], field: str, allowed: str
) -> None:
    desk.picture()
    done = desk.run("submit", desk.write(**changes))

    assert done.exit_code == 2
    assert field in done.stderr
    assert allowed in done.stderr


def test_every_fault_of_a_brief_is_told_at_once_and_as_json_too(desk: Desk) -> None:
    path = desk.write(colour="blue", revision=0, tenant="../etc")
    done = desk.run("submit", path, "--json")
    told = json.loads(done.stderr)

    assert done.stdout == ""
    assert told["error"] == "BadDocument"
    assert {fault["field"] for fault in told["faults"]} == {"colour", "revision", "tenant"}
    assert all(fault["line"] for fault in told["faults"])
    assert told["exit_code"] == done.exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [("search", "--limit", "0"), ("submit", "nothing.yaml"), ("status", "--colour"), ("statsu",)],
    ids=" ".join,
)
def test_a_command_that_cannot_be_understood_is_json_too_where_json_was_asked_for(
    desk: Desk, arguments: tuple[str, ...]
) -> None:
    done = desk.run(*arguments, "--json")
    told = json.loads(done.stderr)

    assert done.exit_code == told["exit_code"] == 2
    assert told["problem"]
    assert "--help" in told["remedy"]
    assert done.stdout == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": {"provider": "local", "model": "veo-9"}},
        {"budget": {"cap": "1.00", "currency": "EURO"}},
    ],
    ids=["found at its recording", "found at its reading"],
)
def test_a_refusal_names_the_file_that_was_delivered_and_not_its_copy(
    desk: Desk, changes: dict[str, Any]
) -> None:
    desk.picture()
    done = desk.run("submit", desk.write("spring.yaml", **changes))

    assert done.stderr.startswith("error: spring.yaml cannot be used")
    assert (desk.folder / "spring.errors.txt").read_text("utf-8").startswith("spring.yaml cannot")


def test_a_missing_image_keeps_the_brief_waiting_until_it_comes(desk: Desk) -> None:
    waits = desk.json("submit", desk.write())
    asked = desk.run("status", CAMPAIGN).stdout
    [planned] = desk.json("plan", CAMPAIGN)["items"]
    desk.picture()
    whole = desk.json("submit", desk.folder / "brief.yaml")

    assert (planned["action"], planned["needs_person"]) == ("wait_for_sources", True)
    assert waits["state"] == "uploaded"
    assert "next: put depot.jpg beside the brief" in asked
    assert waits["sources"][0]["standing"] == "missing"
    assert any("depot.jpg" in step for step in waits["next_steps"])
    assert whole["state"] == "moderating"


def test_a_file_that_is_no_image_is_refused_by_name_and_can_be_replaced(desk: Desk) -> None:
    (desk.folder / "depot.jpg").write_text("<html>not found</html>")
    refused = desk.run("submit", desk.write())
    desk.picture()
    whole = desk.json("submit", desk.folder / "brief.yaml")

    assert refused.exit_code == 0
    assert "fault: depot.jpg" in refused.stdout
    assert whole["state"] == "moderating"


def test_other_content_under_a_known_revision_is_refused_and_the_first_stays(desk: Desk) -> None:
    desk.deliver()
    other = desk.run("submit", desk.write(copy={"en-GB": "Something else."}))
    older = desk.run("submit", desk.write(revision=3), "--json")
    unknown = desk.run("submit", desk.write(revision=2))

    assert other.exit_code == 2
    assert "raise `revision`" in other.stderr
    assert older.exit_code == 0
    assert unknown.exit_code == 2
    assert {wish["revision"] for wish in desk.json("status")["wishes"]} == {3}


def test_the_same_delivery_twice_changes_nothing_and_an_amendment_says_so(desk: Desk) -> None:
    desk.deliver()

    assert desk.deliver()["outcome"] == "unchanged"
    assert desk.deliver(cost_center="MKT-1")["outcome"] == "amended"


def test_a_brief_that_waits_for_a_command_starts_by_it(desk: Desk) -> None:
    waits = desk.deliver(submit="manual")
    started = desk.json("submit", CAMPAIGN, "--now")

    assert waits["state"] == "uploaded"
    assert any("--now" in step for step in waits["next_steps"])
    assert started["state"] == "moderating"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("submit", "nothing.yaml"), 2, "is no file"),
        (("submit", "acme.spring"), 2, "--take or --now"),
        (("submit", "acme.spring", "--now"), 4, "no campaign"),
        (("status", "acme.spring"), 4, "half a minute"),
        (("status", f"{CAMPAIGN}/r9"), 4, "no revision"),
        (("status", "--revision", "2"), 2, "needs a campaign"),
        (("moderate", CAMPAIGN), 2, "approve or reject"),
        (("moderate", CAMPAIGN, "maybe", "--reason", "x"), 2, "maybe"),
        (("moderate", CAMPAIGN, "approve"), 2, "--reason"),
        (("moderate", CAMPAIGN, "--review", "--reason", "x"), 1, "not rejected"),
        (("retry", SLOT), 4, "nothing is made"),
        (("cancel", "r-" + "0" * 32), 4, "no rendition"),
        (("accept", "fr-FR/16x9/1s"), 4, "no slot"),
        (("decline", SLOT), 2, "--reason"),
        (("rollback", SLOT, "--reason", "x"), 4, f"earlier publication '{SLOT}'"),
        (("rollback", SLOT, "--reason", "x", "--to", "9"), 4, "numbered from 1"),
        (("rollback", SLOT, "--reason", "x", "--to", "1", "--rendition", "r-1"), 2, "both"),
        (("withdraw", "nobody.nothing", "--reason", "x"), 4, "no campaign"),
        (("pause", "lunch"), 4, "name one of ingest, submit"),
        (("resolve", SLOT, "accepted", "--reason", "x"), 2, "--handle"),
        (("search", "--locale", "klingonish-x"), 2, "BCP 47"),
        (("search", "--limit", "0"), 2, "limit"),
        (("search", "--after", "nonsense"), 2, "begin anew"),
        (("search", "--tenant", "acme"), 4, "no tenant"),
        (("status", "--as", "anna"), 2, "--as"),
        (("retry", SLOT, "--as", "no body"), 2, "--as"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_command_that_cannot_be_done_says_why_in_its_exit_code_too(
    desk: Desk, arguments: tuple[str, ...], code: int, said: str
) -> None:
    desk.deliver()
    before = desk.json("status")
    done = desk.run(*arguments)

    assert done.exit_code == code, done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""
    assert desk.json("status") == before


def test_the_word_of_a_person_is_recorded_under_their_name(desk: Desk) -> None:
    desk.deliver()
    approved = desk.json("moderate", CAMPAIGN, "approve", "--reason", "seen", "--as", "berta")
    again = desk.json("moderate", CAMPAIGN, "approve", "--reason", "seen")
    with sqlite3.connect(desk.folder / "reelwright.db") as connection:
        decided = connection.execute(
            "SELECT actor, reason FROM decisions WHERE kind = 'moderation'"
        ).fetchall()
    connection.close()

    assert approved["plan"]["wishes"][0]["origin"] == "made"
    assert (approved["is_new"], again["is_new"]) == (True, False)
    assert decided == [("berta", "seen")]


def test_a_rejection_is_reopened_by_a_review_with_a_reason(desk: Desk) -> None:
    desk.deliver()
    desk.json("moderate", CAMPAIGN, "reject", "--reason", "competitor's logo")
    rejected = desk.words()
    reopened = desk.json("moderate", CAMPAIGN, "--review", "--reason", "logo was licensed")

    assert rejected == {"rejected"}
    assert reopened["state"] == "moderating"
    assert desk.words() == {"moderating"}


def test_an_undecided_revision_is_withdrawn_by_its_campaign(desk: Desk) -> None:
    desk.deliver()

    assert desk.json("withdraw", CAMPAIGN, "--reason", "wrong date")["subject"] == f"{CAMPAIGN}/r1"
    assert desk.words() == {"withdrawn"}


def test_a_short_name_that_two_campaigns_know_is_never_guessed(desk: Desk) -> None:
    desk.deliver()
    desk.deliver(campaign="autumn-depot")
    done = desk.run("cancel", "en-GB/16x9/1s")

    assert done.exit_code == 2
    assert SLOT in done.stderr
    assert "northwind.autumn-depot/en-GB/16x9/1s" in done.stderr


def test_a_search_over_two_tenants_wants_to_know_whose(desk: Desk) -> None:
    desk.deliver()
    desk.deliver(tenant="acme")

    unsaid = desk.run("search", "parcel")

    assert unsaid.exit_code == 2
    assert "--tenant" in unsaid.stderr
    assert desk.json("search", "parcel", "--tenant", "acme")["found"] == []
    assert desk.json("search", "--campaign", CAMPAIGN)["found"] == []


def test_a_renderer_that_is_down_costs_nothing_and_the_plan_says_what_waits(desk: Desk) -> None:
    desk.deliver()
    desk.moderate()
    checks = {one["name"]: one for one in desk.json("doctor")["checks"]}
    [item] = desk.json("plan")["items"]

    assert checks["renderer"]["level"] == "warn"
    assert checks["renderer"]["remedy"]
    assert (item["action"], item["stage"]) == ("submit", "submit")
    assert item["cost_at_risk"] == "0.00"


def test_a_database_that_another_program_holds_is_a_try_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 20)
    monkeypatch.setattr(databases, "PAUSE_SECONDS", 0.01)
    holder = sqlite3.connect(desk.folder / "reelwright.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    held = desk.run("pause", "submit")
    looked = desk.run("status")
    holder.execute("ROLLBACK")
    holder.close()

    assert held.exit_code == 3
    assert "run again" in held.stderr
    assert looked.exit_code == 0
    assert desk.run("pause", "submit").exit_code == 0


def test_a_disk_that_takes_no_more_is_a_try_again_and_nothing_half_made_stays(desk: Desk) -> None:
    desk.picture("depot.jpg", (2000, 1500))
    path = desk.write()

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = desk.process("submit", path, before=full)
    stored = list((desk.folder / "home").rglob("depot.jpg"))

    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("error: ")
    assert stored == []
    assert desk.json("submit", path)["state"] == "moderating"


def test_a_database_that_was_never_migrated_names_the_remedy(desk: Desk) -> None:
    desk.database_url = f"sqlite:///{desk.folder}/new.db"
    refused = [desk.run(*words) for words in (["status"], ["search", "parcel"])]
    is_made = (desk.folder / "new.db").exists()
    migrated = desk.json("migrate")
    again = desk.json("migrate")

    assert [one.exit_code for one in refused] == [1, 1]
    assert all("reelwright migrate" in one.stderr for one in refused)
    assert not is_made
    assert (migrated["before"], migrated["changed"], again["changed"]) == ("none", True, False)
    assert desk.run("status").exit_code == 0


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("REELWRIGHT_DATABASE_URL", "mysql://host/name", "not supported"),
        ("REELWRIGHT_DATABASE_URL", "nonsense", "database URL"),
        ("REELWRIGHT_STORE_URL", "ftp://somewhere", "file:///"),
        ("REELWRIGHT_INDEX_URL", "grep", "use `sql`"),
        ("REELWRIGHT_ACTOR", "no body", "REELWRIGHT_ACTOR"),
        ("REELWRIGHT_SETTINGS", "nowhere.yaml", "is no file"),
        ("REELWRIGHT_PROVIDERS", "nowhere.yaml", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_work_is_named(desk: Desk, setting: str, value: str, said: str) -> None:
    done = desk.runner.invoke(
        app,
        ["search", "x"],
        env={**desk.environment, setting: value},
    )

    assert done.exit_code == 2
    assert said in done.stderr


def test_a_brief_can_be_read_where_no_receipt_can_be_written(desk: Desk, tmp_path: Path) -> None:
    desk.picture()
    folder = shutil.copytree(desk.folder, tmp_path.parent / f"{tmp_path.name}-read-only")
    (folder / "brief.receipt.json").mkdir()
    path = desk.write()
    shutil.copy(path, folder)

    assert desk.json("submit", folder / "brief.yaml")["state"] == "moderating"
