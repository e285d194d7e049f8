"""The HTTP contract, against the real program (G1, G3 class K, R4)."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from resources.local_renderer import fonts
from tests.local_renderer.renderer_process import Renderer, picture, wanted

_NOWHERE = "f" * 64


def test_health_states_the_covered_scripts(renderer: Renderer) -> None:
    health = renderer.ask("GET", "/health").json

    assert health["status"] == "ok"
    assert health["scripts"] == list(fonts.SCRIPTS)


def test_an_asset_is_kept_once_under_its_hash(renderer: Renderer) -> None:
    content = picture((1, 2, 3))
    path = f"/assets/{hashlib.sha256(content).hexdigest()}"

    assert [renderer.ask("PUT", path, content).status for _ in range(2)] == [201, 200]
    assert (renderer.store / path[1:]).read_bytes() == content


@pytest.mark.parametrize(
    ("name", "status", "code"), [(_NOWHERE, 400, "hash_mismatch"), ("..%2Fsecret", 400, "invalid_request")]
)
def test_an_asset_under_a_wrong_name_is_not_kept(
    renderer: Renderer, name: str, status: int, code: str
) -> None:
    before = sorted((renderer.store / "assets").iterdir())
    answer = renderer.ask("PUT", f"/assets/{name}", b"other bytes")

    assert (answer.status, answer.code) == (status, code)
    assert sorted((renderer.store / "assets").iterdir()) == before


def test_a_job_ends_with_a_video_that_is_what_the_answer_says(
    renderer: Renderer, red: str, blue: str
) -> None:
    answer = renderer.submit(wanted(red, blue))
    job = renderer.wait(answer.json["id"])
    video = renderer.ask("GET", job["output"]["url"])

    assert (answer.status, answer.json["status"], answer.json["reference"]) == (
        202,
        "queued",
        "northwind.spring/1",
    )
    assert (job["status"], job["progress"], job["units"], job["error"]) == ("succeeded", 1.0, 1, None)
    assert video.headers["Content-Type"] == "video/mp4"
    assert int(video.headers["Content-Length"]) == job["output"]["size_bytes"] == len(video.body)
    assert hashlib.sha256(video.body).hexdigest() == job["output"]["sha256"]
    assert video.headers["Etag"]


def test_a_range_is_honoured(renderer: Renderer, red: str) -> None:
    url = renderer.render(wanted(red))["output"]["url"]
    whole = renderer.ask("GET", url).body
    part = renderer.ask("GET", url, Range="bytes=100-199")

    assert part.status == 206
    assert part.body == whole[100:200]
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole)}"


def test_the_same_key_and_body_is_the_same_job_also_when_it_has_ended(renderer: Renderer, red: str) -> None:
    first = renderer.submit(wanted(red), key="once")
    renderer.wait(first.json["id"])
    again = renderer.submit(dict(reversed(wanted(red).items())), key="once")

    assert (again.status, again.json["id"], again.json["status"]) == (200, first.json["id"], "succeeded")


def test_the_same_key_with_another_body_is_refused(renderer: Renderer, red: str) -> None:
    first = renderer.submit(wanted(red), key="mine")
    other = renderer.submit(wanted(red, caption="Other."), key="mine")

    assert (other.status, other.code) == (422, "key_reuse")
    assert renderer.wait(first.json["id"])["status"] == "succeeded"


def test_missing_images_are_named_and_the_key_stays_free(renderer: Renderer, red: str) -> None:
    missing = renderer.submit(wanted(red, _NOWHERE), key="later")
    taken = renderer.submit(wanted(red), key="later")

    assert (missing.status, missing.code) == (409, "missing_assets")
    assert missing.json["error"]["missing"] == [_NOWHERE]
    assert taken.status == 202


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"caption": "Hot ☕"}, "unsupported_script"),
        ({"caption": "much too long " * 30}, "invalid_request"),
        ({"model": "sora"}, "unknown_model"),
        ({"settings": {"seed": 1}}, "invalid_request"),
        ({"width": 99}, "invalid_request"),
    ],
)
def test_a_wrong_request_is_refused_before_it_is_taken(
    renderer: Renderer, red: str, changes: dict[str, Any], code: str
) -> None:
    refused = renderer.submit(wanted(red, reference="refused-one", **changes))

    assert (refused.status, refused.code) == (400, code)
    assert renderer.ask("GET", "/jobs?reference=refused-one").json["jobs"] == []


def test_a_job_needs_a_key(renderer: Renderer, red: str) -> None:
    answer = renderer.ask("POST", "/jobs", json.dumps(wanted(red)).encode())

    assert (answer.status, answer.code) == (400, "invalid_request")


def test_an_image_that_is_none_fails_its_job_by_name(renderer: Renderer, red: str) -> None:
    text = renderer.upload(b"<html>not a picture</html>")
    cut = renderer.upload(picture((9, 99, 9))[:-200])
    jobs = [renderer.wait(renderer.submit(wanted(red, image)).json["id"]) for image in (text, cut)]

    assert [(job["status"], job["error"]["code"], job["output"]) for job in jobs] == [
        ("failed", "invalid_input", None)
    ] * 2
    assert text[:12] in jobs[0]["error"]["message"]


def test_jobs_are_found_by_reference_and_listed_since(renderer: Renderer, red: str) -> None:
    first = renderer.submit(wanted(red, reference="find.me")).json
    time.sleep(0.005)
    second = renderer.submit(wanted(red, reference="find.me", caption="2")).json
    found = renderer.ask("GET", "/jobs?reference=find.me").json
    since = renderer.ask("GET", f"/jobs?since={second['created_at']}").json

    assert [job["id"] for job in found["jobs"]] == [first["id"], second["id"]]
    assert [job["id"] for job in since["jobs"]] == [second["id"]]
    assert since["cursor"] is None


@pytest.mark.parametrize("query", ["since=yesterday", "since=2026-01-01T00:00:00", "cursor=-1", "page=2"])
def test_a_listing_that_makes_no_sense_is_refused(renderer: Renderer, query: str) -> None:
    answer = renderer.ask("GET", f"/jobs?{query}")

    assert (answer.status, answer.code) == (400, "invalid_request")


def test_a_listing_goes_on_from_its_cursor(renderer: Renderer, red: str) -> None:
    jobs = renderer.ask("GET", "/jobs").json["jobs"]
    ids = {job["id"] for job in jobs}

    assert len(ids) == len(jobs)
    assert renderer.ask("GET", "/jobs?cursor=999999").json == {"jobs": [], "cursor": None}


def test_a_running_job_is_cancelled_and_an_ended_one_is_not(renderer: Renderer, red: str, blue: str) -> None:
    long = renderer.submit(wanted(red, blue, width=1280, height=720, duration_seconds=60)).json["id"]
    renderer.wait(long, lambda job: job["progress"] > 0)
    asked = renderer.ask("POST", f"/jobs/{long}/cancel")
    ended = renderer.wait(long)
    again = renderer.ask("POST", f"/jobs/{long}/cancel")

    assert asked.status == 202
    assert (ended["status"], ended["output"], ended["units"]) == ("cancelled", None, None)
    assert (again.status, again.code) == (409, "already_ended")
    assert not list((renderer.store / "work").glob(f"{long}*"))


def test_a_deleted_output_is_gone_for_good(renderer: Renderer, red: str) -> None:
    job = renderer.render(wanted(red))
    deleted = [renderer.ask("DELETE", f"/jobs/{job['id']}/output").status for _ in range(2)]
    gone = renderer.ask("GET", job["output"]["url"])

    assert deleted == [204, 204]
    assert (gone.status, gone.code) == (410, "gone")
    assert renderer.job(job["id"])["output"] is None
    assert not (renderer.store / "outputs" / f"{job['id']}.mp4").exists()


def test_an_output_that_is_still_to_come_cannot_be_deleted(renderer: Renderer, red: str) -> None:
    job_id = renderer.submit(wanted(red, duration_seconds=20)).json["id"]
    answer = renderer.ask("DELETE", f"/jobs/{job_id}/output")
    renderer.ask("POST", f"/jobs/{job_id}/cancel")

    assert (answer.status, answer.code) == (409, "not_ended")


def test_a_forged_url_opens_nothing(renderer: Renderer, red: str, blue: str) -> None:
    mine, other = (renderer.render(wanted(image))["output"]["url"] for image in (red, blue))
    query = mine.partition("?")[2]
    forgeries = [
        mine[:-1] + ("0" if mine[-1] != "0" else "1"),
        mine.replace("expires=", "expires=9"),
        f"{other.partition('?')[0]}?{query}",
        mine.partition("?")[0],
        mine.replace(query, "expires=x&signature=%C3%A9"),
    ]

    assert [(a.status, a.code) for a in (renderer.ask("GET", url) for url in forgeries)] == [
        (403, "forged")
    ] * 5


@pytest.mark.parametrize("headers", [{"Origin": "https://example.com"}, {"Host": "renderer.example.com"}])
def test_web_pages_are_not_served(renderer: Renderer, headers: dict[str, str]) -> None:
    answer = renderer.ask("GET", "/health", **headers)

    assert (answer.status, answer.code) == (403, "forbidden_origin")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/jobs/nobody", 404, "not_found"),
        ("POST", "/jobs/nobody/cancel", 404, "not_found"),
        ("GET", "/elsewhere", 404, "not_found"),
        ("PATCH", "/jobs", 405, "not_allowed"),
        ("POST", "/jobs", 413, "too_large"),
    ],
)
def test_every_refusal_is_json(renderer: Renderer, method: str, path: str, status: int, code: str) -> None:
    answer = renderer.ask(method, path, b"x" * 70_000 if status == 413 else None, Idempotency_Key="k")

    assert (answer.status, answer.code) == (status, code)


def test_a_url_expires_and_a_look_up_gives_a_fresh_one(tmp_path: Path) -> None:
    renderer = Renderer(tmp_path, "--url-seconds", "1")
    job = renderer.render(wanted(renderer.upload(picture((5, 5, 90)))))
    time.sleep(1.1)
    late = renderer.ask("GET", job["output"]["url"])
    fresh = renderer.ask("GET", renderer.job(job["id"])["output"]["url"])
    renderer.end()

    assert (late.status, late.code) == (403, "expired")
    assert fresh.status == 200


def test_a_full_queue_takes_nothing_and_says_when_to_come_back(tmp_path: Path) -> None:
    renderer = Renderer(tmp_path, "--queue", "1", "--workers", "1")
    image = renderer.upload(picture((5, 90, 5)))
    first = renderer.submit(wanted(image, duration_seconds=30), key="first")
    full = renderer.submit(wanted(image), key="second")
    same = renderer.submit(wanted(image, duration_seconds=30), key="first")
    renderer.ask("POST", f"/jobs/{first.json['id']}/cancel")
    renderer.wait(first.json["id"])
    later = renderer.submit(wanted(image), key="second")
    renderer.end()

    assert (full.status, full.code) == (429, "queue_full")
    assert int(full.headers["Retry-After"]) > 0
    assert (same.status, later.status) == (200, 202)
