"""L8, A3, D5 over HTTP: one word a wish, cheap to ask again, nothing of the inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resources.database import schema
from tests.api.desk import Api
from tests.conftest import NOON
from tests.database import rows
from tests.steps.viewer import CAMPAIGN, Viewer


@pytest.fixture
def wished(viewer: Viewer) -> Viewer:
    """Two wishes of one revision: one video is on its way, one stands ready in its slot."""
    rows.insert(
        viewer.database, schema.revisions,
        {
            "id": f"{CAMPAIGN}/r1", "tenant": "northwind", "campaign": CAMPAIGN, "number": 1, "creative": {},
            "creative_sha256": "c", "state": "approved", "submit_mode": "manual", "actor": "ada",
            "created_at": NOON,
        },
    )  # fmt: skip
    viewer.derived("r-1")
    viewer.publish()
    viewer.arrives("r-2", parked_reason=None)
    rows.insert(viewer.database, schema.wishes, _wish("r-1"), _wish("r-2"))
    return viewer


def _wish(rendition: str) -> dict[str, Any]:
    variant = f"en-GB/16x9/{rendition}"
    return {
        "id": f"{CAMPAIGN}/r1/{variant}", "tenant": "northwind", "campaign": CAMPAIGN,
        "revision": f"{CAMPAIGN}/r1", "slot": f"{CAMPAIGN}/{variant}", "variant": variant,
        "rendition": rendition, "origin": "made",
    }  # fmt: skip


def test_a_campaign_says_one_word_a_wish_and_when_to_ask_again(wished: Viewer, api: Api) -> None:
    body = api.get(f"/status?campaign={CAMPAIGN}").json
    words = {wish["rendition"]: (wish["word"], wish["retry_after_seconds"]) for wish in body["wishes"]}

    assert words == {"r-1": ("ready", None), "r-2": ("downloading", 5)}
    assert (body["campaign"], body["revision"], body["retry_after_seconds"]) == (CAMPAIGN, 1, 5)
    assert (body["counts"]["usable"], body["counts"]["active"]) == (1, 1)


def test_a_ready_wish_leads_to_its_preview(wished: Viewer, api: Api) -> None:
    wishes = api.get(f"/status?campaign={CAMPAIGN}").json["wishes"]

    assert {wish["rendition"]: wish["preview"] for wish in wishes} == {
        "r-1": "/previews/o-r-1-a1", "r-2": None,
    }  # fmt: skip


def test_one_rendition_says_the_same(wished: Viewer, api: Api) -> None:
    whole = api.get(f"/status?campaign={CAMPAIGN}").json["wishes"]

    assert api.get("/status/r-2").json == next(wish for wish in whole if wish["rendition"] == "r-2")


def test_what_is_not_known_is_a_stable_404(wished: Viewer, api: Api) -> None:
    replies = [
        api.get(path)
        for path in (
            "/status?campaign=nobody.nothing",
            f"/status?campaign={CAMPAIGN}&revision=9",
            "/status/r-9",
        )
    ]

    assert [(reply.status, reply.json["error"]) for reply in replies] == [(404, "unknown")] * 3
    assert replies[0].json == {
        "error": "unknown",
        "problem": "no campaign 'nobody.nothing'",
        "remedy": "ask for one that `reelwright status` lists",
    }


def test_a_question_that_cannot_be_understood_is_no_server_error(wished: Viewer, api: Api) -> None:
    unknown = ("/status?campaign=", "/status/%00", f"/status?campaign={CAMPAIGN}%00")
    malformed = (
        "/status",
        f"/status?campaign={CAMPAIGN}&revision=x",
        f"/status?campaign={CAMPAIGN}&revision=0",
    )
    replies = {path: api.get(path) for path in unknown + malformed}

    assert {path: reply.status for path, reply in replies.items()} == (
        dict.fromkeys(unknown, 404) | dict.fromkeys(malformed, 422)
    )
    assert all(set(reply.json) == {"error", "problem", "remedy"} for reply in replies.values())


def test_asking_again_with_the_tag_costs_no_body_until_something_changes(wished: Viewer, api: Api) -> None:
    path = f"/status?campaign={CAMPAIGN}"
    first = api.get(path)
    same = api.get(path, If_None_Match=f'"other", W/{first.headers["etag"]}')
    wished.change(schema.attempts, "r-2-a1", state="stored", entity_version=9)
    changed = api.get(path, If_None_Match=first.headers["etag"])

    assert (same.status, same.body, same.headers["etag"]) == (304, b"", first.headers["etag"])
    assert changed.status == 200
    assert changed.headers["etag"] != first.headers["etag"]


def test_a_visible_change_raises_the_entity_version(wished: Viewer, api: Api) -> None:
    before = api.get("/status/r-2").json["entity_version"]
    wished.retrieve()

    assert api.get("/status/r-2").json["entity_version"] > before


def test_a_status_may_be_kept_for_a_moment_and_by_its_asker_alone(wished: Viewer, api: Api) -> None:
    assert api.get(f"/status?campaign={CAMPAIGN}").headers["cache-control"] == "private, max-age=2"
    assert api.get("/status/r-9").headers["cache-control"] == "no-store"


def test_no_location_prompt_or_handle_is_told(wished: Viewer, api: Api) -> None:
    wished.change(schema.renditions, "r-1", copy="Your parcel, on time.")
    wished.change(schema.attempts, "r-2-a1", last_observation='{"word": "RENDERING"}')
    told = json.dumps([api.get(f"/status?campaign={CAMPAIGN}").json, api.get("/status/r-2").json])

    for private in (
        ".mp4",
        "northwind/",
        "parcel",
        "job-r-2",
        str(wished.folder),
        "RENDERING",
        "idempotency",
    ):
        assert private not in told


def test_words_of_a_newer_release_are_shown_as_they_are(wished: Viewer, api: Api) -> None:
    wished.change(schema.attempts, "r-2-a1", state="dreaming")
    found = api.get("/status/r-2").json

    assert (found["word"], found["why"]) == ("processing", ["unknown_state:dreaming"])
