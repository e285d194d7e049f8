"""From a brief to a viewer and back, by commands alone: each on real databases, files and a real renderer."""

from __future__ import annotations

from tests.cli.desk import CAMPAIGN, SLOT, Desk


def test_a_delivered_brief_becomes_a_video_that_search_finds(working: Desk) -> None:
    receipt = working.deliver()
    found = working.work()
    answer = working.json("search", "parcel", "--facet", "locale", "--tag", "product=parcel")

    assert receipt["campaign"] == CAMPAIGN
    assert receipt["outcome"] == "new_revision"
    assert found["counts"]["usable"] == 1
    assert [hit["slot"] for hit in answer["found"]] == [SLOT]
    assert answer["facets"] == {"locale": {"en-GB": 1}}
    assert "nothing found" in working.run("search", "bicycle").stdout


def test_a_take_is_made_beside_the_first_and_a_rollback_shows_the_first_again(working: Desk) -> None:
    working.deliver()
    first = working.work()["wishes"][0]
    take = working.json("submit", working.folder / "brief.yaml", "--take", "en-GB/16:9/1s")
    second = working.work()["wishes"][0]
    rolled = working.json("rollback", SLOT, "--reason", "the first was better")
    shown = working.json("search")["found"]

    assert take["take"]["wishes"][0]["take"] == 2
    assert second["rendition"] != first["rendition"]
    assert rolled["outcome"] == "moved"
    assert [hit["rendition"] for hit in shown] == [first["rendition"]]


def test_a_video_on_approval_waits_for_a_word_and_leaves_with_another(working: Desk) -> None:
    working.deliver(publish="on_approval")
    working.work(until="awaiting_acceptance")
    planned = working.json("plan", CAMPAIGN)["items"]
    accepted = working.json("accept", SLOT, "--as", "berta")
    working.work()
    declined = working.json("decline", SLOT, "--reason", "wrong logo")

    assert [item["action"] for item in planned] == ["accept_or_decline"]
    assert planned[0]["needs_person"] is True
    assert "--take" in working.run("retry", SLOT, "--reason", "again").stderr
    assert (accepted["outcome"], declined["outcome"]) == ("accepted", "declined")
    assert working.words() == {"declined"}
    assert working.json("search")["found"] == []


def test_what_a_slot_shows_can_be_withdrawn_once(working: Desk) -> None:
    working.deliver()
    working.work()

    assert working.json("withdraw", SLOT, "--reason", "recalled")["changed"] is True
    assert working.json("withdraw", SLOT, "--reason", "recalled")["changed"] is False
    assert working.json("search")["found"] == []


def test_a_cancelled_video_is_retried_by_command_alone(working: Desk) -> None:
    working.json("pause", "submit", "--reason", "budget talk")
    working.deliver()
    working.moderate()
    cancelled = working.json("cancel", SLOT)
    again = working.run("cancel", SLOT)
    after_cancel = working.words()
    asked = working.json("status", CAMPAIGN)["next_steps"]
    retried = working.json("retry", "en-GB/16x9/1s", "--reason", "wanted after all")
    working.json("resume", "submit")
    found = working.work()

    assert cancelled["outcome"] == "cancelled"
    assert "nothing is left to cancel" in again.stderr
    assert after_cancel == {"cancelled"}
    assert [step.partition(",")[0] for step in asked] == [
        "1 of the videos: `reelwright retry` makes a new attempt"
    ]
    assert found["wishes"][0]["attempt"] == retried["attempt"]


def test_a_pause_holds_work_and_shows_and_loses_nothing(working: Desk) -> None:
    first = working.json("pause", "submit", "--reason", "provider maintenance")
    again = working.json("pause", "submit", "--reason", "provider maintenance")
    working.deliver()
    working.moderate()
    held = working.json("status")["wishes"][0]
    ended = working.json("resume", "submit")
    working.work()

    assert (first["changed"], again["changed"], ended["changed"]) == (True, False, True)
    assert held["word"] == "queued"
    assert held["why"] == ["paused"]


def test_what_is_held_is_listed_until_it_is_resumed_and_nothing_is_held_by_a_slip(both: Desk) -> None:
    slip = both.run("pause")
    both.json("pause", "submit", "--tenant", "northwind", "--reason", "budget talk")
    listed = both.json("pause", "--list")["pauses"]
    seen = both.run("pause", "--list").stdout
    both.json("resume", "submit", "--tenant", "northwind")

    assert (slip.exit_code, "say what to hold" in slip.stderr) == (2, True)
    assert [(one["stage"], one["tenant"], one["by"], one["why"]) for one in listed] == [
        ("submit", "northwind", "anna", "budget talk")
    ]
    assert "budget talk" in seen
    assert both.json("pause", "--list") == {"pauses": []}
    assert both.run("pause", "--list").stdout == "nothing is held\n"


def test_the_history_of_a_slot_numbers_what_rollback_takes(working: Desk) -> None:
    working.deliver()
    first = working.work()["wishes"][0]
    working.json("submit", working.folder / "brief.yaml", "--take", "en-GB/16:9/1s")
    working.work()
    before = working.json("history", SLOT)["publications"]
    working.json("rollback", SLOT, "--to", before[0]["number"], "--reason", "the first was better")
    after = working.json("history", CAMPAIGN)["publications"]
    alone = working.json("history", first["attempt"])

    assert [one["move"] for one in before] == ["publish", "publish"]
    assert [one["move"] for one in after] == ["publish", "publish", "roll_back"]
    assert [one["is_shown"] for one in after] == [False, False, True]
    assert after[-1]["rendition"] == first["rendition"]
    assert {one["subject"] for one in alone["events"]} == {first["attempt"]}
    assert "the first was better" in working.run("history", SLOT).stdout


def test_the_history_of_a_video_tells_its_moves_and_its_send(working: Desk) -> None:
    working.deliver()
    working.work()
    told = [one["what"] for one in working.json("history", f"{CAMPAIGN}/r1/en-GB/16:9/1s")["events"]]

    assert told[0] == "queued"
    assert told[-1] == "stored → indexed"
    assert "send 1: accepted" in told


def test_the_history_of_a_campaign_tells_who_decided_and_why(both: Desk) -> None:
    both.deliver(copy={"en-GB": "Lorem ipsum."})
    both.moderate()
    both.json("moderate", CAMPAIGN, "reject", "--reason", "placeholder")
    *_, decided = [
        one for one in both.json("history", CAMPAIGN)["events"] if one["what"].startswith("moderation:")
    ]

    assert (decided["what"].partition(" (")[0], decided["actor"], decided["reason"]) == (
        "moderation: rejected", "anna", "placeholder",
    )  # fmt: skip
    assert "nothing was published yet" in both.run("history", CAMPAIGN).stdout


def test_a_pause_of_what_nobody_knows_says_so(both: Desk) -> None:
    both.deliver()
    slip = both.run("pause", "submit", "--provider", "lokal", "--tenant", "northwint").stdout
    meant = both.json("pause", "submit", "--provider", "local", "--tenant", "northwind")

    assert "no provider 'lokal'" in slip
    assert "no tenant 'northwint'" in slip
    assert meant["unknown"] == []


def test_a_watch_ends_when_nothing_moves_and_prints_each_change_once(working: Desk) -> None:
    working.deliver()
    working.work()
    lines = working.run("status", "--watch", "--json").stdout.splitlines()

    assert len(lines) == 1
    assert "ready" in lines[0]
    assert "1 usable" in (seen := working.run("status", CAMPAIGN, "--watch").stdout)
    assert seen.endswith("\n")


def test_a_watch_ends_where_only_a_person_can_go_on(working: Desk) -> None:
    working.deliver(publish="on_approval")
    working.work(until="awaiting_acceptance")

    assert "awaiting_acceptance" in working.run("status", "--watch").stdout
