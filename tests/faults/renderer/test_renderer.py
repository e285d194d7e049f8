"""The fault renderer keeps its word: durable bill, unique valid clips, faults as ordered."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest

from tests.faults.renderer.clips import Clips, Shape, shape_of
from tests.faults.renderer.journal import FILE_NAME, Journal, read_bill, read_entries
from tests.faults.renderer.process import RendererProcess


@pytest.fixture
def renderer(tmp_path: Path) -> Iterator[RendererProcess]:
    with RendererProcess(tmp_path / "store") as process:
        yield process


def ask(url: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, bytes]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


def post(renderer: RendererProcess, key: str, **body: Any) -> tuple[int, dict[str, Any]]:
    wish = {"reference": f"r-{key}", "images": [], **body}
    status, answer = ask(f"{renderer.url}/jobs", "POST", wish, **{"Idempotency-Key": key})
    return status, json.loads(answer)


def test_the_bill_and_the_jobs_survive_a_kill(renderer: RendererProcess) -> None:
    _, job = post(renderer, "k1")
    renderer.restart()
    status, again = post(renderer, "k1")

    assert (status, again["id"]) == (200, job["id"])
    assert [line.key for line in renderer.bill()] == ["k1"]
    assert ask(f"{renderer.url}/jobs/{job['id']}")[0] == 200


def test_a_torn_last_line_was_never_answered_for(tmp_path: Path) -> None:
    whole = b'{"event": "asset", "sha256": "a"}\n'
    (tmp_path / FILE_NAME).write_bytes(whole + b'{"event": "acc')
    journal = Journal(tmp_path)
    asyncio.run(journal.append({"event": "asset", "sha256": "b"}))

    assert [entry["sha256"] for entry in read_entries(tmp_path / FILE_NAME)] == ["a", "b"]
    assert read_bill(tmp_path) == []


def test_clips_are_valid_unique_and_of_the_asked_shape(tmp_path: Path) -> None:
    async def scene() -> tuple[bytes, bytes]:
        clip = await Clips().order(Shape(width=180, height=320, duration_seconds=2, fps=10))
        return clip.unique("one"), clip.unique("two")

    one, two = asyncio.run(scene())
    path = tmp_path / "clip.mp4"
    path.write_bytes(one)

    assert one != two
    with av.open(str(path)) as container:
        video = container.streams.video[0]

        assert (video.width, video.height) == (180, 320)
        assert sum(1 for _ in container.decode(video)) == 20


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"width": 321, "height": 180, "duration_seconds": 1},
        {"width": 0, "height": 2, "duration_seconds": 1},
        {"width": 320, "height": 180, "duration_seconds": 1, "settings": {"fps": "fast"}},
    ],
)
def test_an_impossible_shape_gets_the_small_clip(body: dict[str, Any]) -> None:
    assert shape_of(body) == Shape()


def test_a_fault_is_used_up_by_the_request_that_it_is_for(renderer: RendererProcess) -> None:
    renderer.arm({"on": "POST /jobs", "reply": {"status": 503}, "reference": "r-b"})
    answers = [post_status(renderer, key) for key in ("a", "b", "b")]

    assert answers == [202, 503, 202]
    assert renderer.disarm() == 0


def post_status(renderer: RendererProcess, key: str) -> int:
    wish = {"reference": f"r-{key}", "images": []}
    return ask(f"{renderer.url}/jobs", "POST", wish, **{"Idempotency-Key": key})[0]


def test_a_lost_answer_is_on_the_bill_and_a_hang_up_is_not(renderer: RendererProcess) -> None:
    renderer.arm({"on": "POST /jobs", "reply": {"close_after_accept": True}, "reference": "r-lost"})
    renderer.arm({"on": "POST /jobs", "reply": {"close": True}, "reference": "r-dropped"})
    for key in ("lost", "dropped"):
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            post(renderer, key)

    assert [line.reference for line in renderer.bill()] == ["r-lost"]


def test_an_answer_can_be_bent_in_one_field(renderer: RendererProcess) -> None:
    _, job = post(renderer, "k")
    renderer.arm({"on": "GET /jobs/*", "reply": {"patch": {"status": "throttled", "output": None}}})
    status, answer = ask(f"{renderer.url}/jobs/{job['id']}")

    assert status == 200
    assert (json.loads(answer)["status"], json.loads(answer)["id"]) == ("throttled", job["id"])


@pytest.mark.parametrize(
    ("mode", "by_reference", "by_time"), [("k", 200, 200), ("l", 200, 400), ("w", 400, 200), ("n", 400, 400)]
)
def test_each_mode_names_its_jobs_as_its_class_does(
    tmp_path: Path, mode: str, by_reference: int, by_time: int
) -> None:
    with RendererProcess(tmp_path / "store", options=("--mode", mode)) as renderer:
        jobs = {post(renderer, "same")[1]["id"] for _ in range(2)}
        looked_up, _ = ask(f"{renderer.url}/jobs?reference=r-same")
        listed, _ = ask(f"{renderer.url}/jobs?since=2020-01-01T00:00:00Z")

    assert (looked_up, listed) == (by_reference, by_time)
    assert len(jobs) == len(read_bill(renderer.store)) == (1 if mode == "k" else 2)


def test_an_unlisted_job_is_billed_and_never_named(tmp_path: Path) -> None:
    with RendererProcess(tmp_path / "store", options=("--mode", "w")) as renderer:
        renderer.arm({"on": "POST /jobs", "reply": {"unlisted": True}})
        for key in ("hidden", "shown"):
            post(renderer, key)
        _, answer = ask(f"{renderer.url}/jobs?since=2020-01-01T00:00:00Z")

    assert [job["reference"] for job in json.loads(answer)["jobs"]] == ["r-shown"]
    assert len(read_bill(renderer.store)) == 2


def test_an_output_url_expires_and_the_next_look_brings_a_fresh_one(tmp_path: Path) -> None:
    with RendererProcess(tmp_path / "store", options=("--url-seconds", "0.2")) as renderer:
        _, job = post(renderer, "k")
        old = output_url(renderer, job["id"])
        status = 200
        while status == 200:
            status, _ = ask(old)
        fresh, _ = ask(output_url(renderer, job["id"]))

    assert (status, fresh) == (403, 200)


def output_url(renderer: RendererProcess, job_id: str) -> str:
    while True:
        told = json.loads(ask(f"{renderer.url}/jobs/{job_id}")[1])
        if told["output"]:
            return str(told["output"]["url"])


def test_what_was_asked_is_counted(renderer: RendererProcess) -> None:
    for key in ("a", "a", "b"):
        post(renderer, key)

    assert renderer.seen()["POST /jobs"] == 3
