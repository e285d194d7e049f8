"""What the local adapter makes of odd answers: a named class each, never a crash, never "done" (G6)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from resources.http.client import HttpClient
from resources.providers.local import LocalProvider
from resources.providers.protocol import (
    Accepted,
    InputImage,
    Job,
    NotSent,
    Observation,
    Outcome,
    ProviderTerms,
    Refused,
    Standing,
    SubmissionUnknown,
    SubmitAnswer,
    UrlOutput,
)
from tests.faults.renderer.process import RendererProcess

DATA = Path(__file__).parents[1] / "data" / "http"
Result = TypeVar("Result")


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RendererProcess]:
    with RendererProcess(tmp_path_factory.mktemp("renderer")) as process:
        yield process


@pytest.fixture
def provider(renderer: RendererProcess) -> Iterator[LocalProvider]:
    yield LocalProvider(ProviderTerms("local", "local", renderer.url))
    renderer.disarm()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    path = tmp_path / "still.jpg"
    path.write_bytes(uuid.uuid4().bytes)
    image = InputImage(hashlib.sha256(path.read_bytes()).hexdigest(), "image/jpeg", path)
    name = uuid.uuid4().hex
    return Job(name, name, "kenburns-1", {"fps": 25}, (image,), "Copy", "en-GB", 320, 180, 1)


def talk(scene: Callable[[HttpClient], Awaitable[Result]]) -> Result:
    async def within() -> Result:
        async with HttpClient() as client:
            return await scene(client)

    return asyncio.run(within())


def look(provider: LocalProvider, handle: str) -> Observation:
    (seen,) = talk(lambda client: provider.look_up(client, [handle]))
    return seen


def submit(provider: LocalProvider, job: Job) -> SubmitAnswer:
    return talk(lambda client: provider.submit(client, job))


def answering(**reply: Any) -> dict[str, Any]:
    return {"on": "GET /jobs/7", "reply": {"status": 200, **reply}}


def script(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((DATA / f"http_{name}.json").read_text())["steps"]
    return steps


def test_the_case_of_unknown_words(renderer: RendererProcess, provider: LocalProvider) -> None:
    steps = script("unknown_status")
    renderer.arm(*steps)
    seen = [look(provider, "12") for _ in steps]

    assert [one.standing for one in seen] == [
        Standing.WAITING,
        Standing.RUNNING,
        Standing.UNREADABLE,
        Standing.UNREADABLE,
        Standing.OUTPUT,
    ]
    assert [one.word for one in seen][2:4] == ["throttled", "post_processing"]
    assert seen[2].outcome is Outcome.UNKNOWN
    assert seen[4].outputs == ()


def test_the_case_of_done_without_output(renderer: RendererProcess, provider: LocalProvider) -> None:
    steps = script("completed_without_url")
    renderer.arm(*steps)
    seen = [look(provider, "1") for _ in steps]

    assert [one.standing for one in seen] == [Standing.WAITING] + [Standing.OUTPUT] * 3
    assert all(one.outputs == () for one in seen)


def test_the_case_of_an_error_dressed_as_200(renderer: RendererProcess, provider: LocalProvider) -> None:
    renderer.arm(script("200_error_body")[0])
    seen = look(provider, "2")

    assert (seen.standing, seen.outcome) == (Standing.ENDED, Outcome.SOURCE_REJECTED)
    assert seen.reason == "moderation_blocked"


def test_the_case_of_an_expired_url_is_refreshed_by_look_up(
    renderer: RendererProcess, provider: LocalProvider
) -> None:
    renderer.arm(*[step for step in script("expired_url") if "/jobs/" in step["on"]])
    old, new = (look(provider, "4").outputs[0] for _ in range(2))

    assert isinstance(old, UrlOutput)
    assert isinstance(new, UrlOutput)
    assert old.url == f"{renderer.url}/out/old.mp4?exp=1"
    assert new.url == f"{renderer.url}/out/new.mp4?exp=2"


@pytest.mark.parametrize(
    ("reply", "standing", "outcome"),
    [
        ({"json": {"error": {"code": "new_thing"}}}, Standing.UNREADABLE, Outcome.UNKNOWN),
        ({"body": "<html>"}, Standing.UNREADABLE, Outcome.UNKNOWN),
        ({"json": {"id": "8", "status": "succeeded"}}, Standing.UNREADABLE, Outcome.UNKNOWN),
        ({"json": {"status": ["succeeded"]}}, Standing.UNREADABLE, Outcome.UNKNOWN),
        ({"json": {"status": "failed"}}, Standing.ENDED, Outcome.PROVIDER_FAULT),
        ({"json": {"status": "failed", "error": "x"}}, Standing.ENDED, Outcome.PROVIDER_FAULT),
        ({"json": {"status": "cancelled"}}, Standing.ENDED, Outcome.CANCELLED_BY_US),
        ({"body": "x" * 2_000_000}, Standing.UNREACHABLE, Outcome.NETWORK),
        ({"status": 404}, Standing.NOT_FOUND, None),
        ({"status": 429}, Standing.UNREACHABLE, Outcome.RATE_LIMIT),
        ({"status": 502}, Standing.UNREACHABLE, Outcome.NETWORK),
        ({"status": 302, "headers": {"Location": "/x"}}, Standing.UNREADABLE, Outcome.UNKNOWN),
        ({"json": {"status": "succeeded", "output": {"url": 5}}}, Standing.OUTPUT, None),
    ],
)
def test_every_odd_answer_is_an_observation(
    renderer: RendererProcess,
    provider: LocalProvider,
    reply: dict[str, Any],
    standing: Standing,
    outcome: Outcome | None,
) -> None:
    renderer.arm(answering(**reply))
    seen = look(provider, "7")

    assert (seen.standing, seen.outcome, seen.outputs) == (standing, outcome, ())


def test_a_hang_up_is_unreachable_and_the_other_jobs_go_on(
    renderer: RendererProcess, provider: LocalProvider, job: Job
) -> None:
    accepted = submit(provider, job)

    assert isinstance(accepted, Accepted)
    renderer.arm({"on": "GET /jobs/7", "reply": {"close": True}, "times": None})
    seen = talk(lambda client: provider.look_up(client, ["7", accepted.handle]))

    assert seen[0].standing is Standing.UNREACHABLE
    assert seen[1].standing in (Standing.WAITING, Standing.RUNNING, Standing.OUTPUT)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"status": 429, "headers": {"Retry-After": "7"}}, NotSent("rate_limit", Outcome.RATE_LIMIT, 7.0)),
        ({"status": 400, "json": {"error": {"code": "unsupported_script"}}}, "refused"),
        ({"status": 400, "body": "no"}, SubmissionUnknown("http_400")),
        ({"status": 422, "json": {"error": {"code": "key_reuse"}}}, SubmissionUnknown("key_reuse")),
        ({"status": 500}, SubmissionUnknown("http_500")),
        ({"status": 302, "headers": {"Location": "/x"}}, SubmissionUnknown("http_302")),
        ({"status": 200, "json": {"status": "queued"}}, SubmissionUnknown("no_handle")),
        ({"status": 202, "json": {"id": "a b"}}, SubmissionUnknown("no_handle")),
        ({"status": 202, "body": "{"}, SubmissionUnknown("no_handle")),
        ({"close": True}, SubmissionUnknown("connection_lost")),
    ],
)
def test_an_answer_to_a_submission_proves_what_it_proves(
    renderer: RendererProcess, provider: LocalProvider, job: Job, reply: dict[str, Any], expected: Any
) -> None:
    renderer.arm({"on": "POST /jobs", "reply": reply})
    answer = submit(provider, job)

    if expected == "refused":
        assert answer == Refused(Outcome.INVALID_REQUEST, "unsupported_script")
    else:
        assert answer == expected


def test_inputs_that_the_renderer_lost_are_staged_again_at_the_next_try(
    renderer: RendererProcess, provider: LocalProvider, job: Job
) -> None:
    first = submit(provider, job)
    reply = {"status": 409, "json": {"error": {"code": "missing_assets", "missing": [job.images[0].sha256]}}}
    renderer.arm({"on": "POST /jobs", "reply": reply})
    second, puts = submit(provider, job), renderer.seen()["PUT /assets/{sha256}"]
    third = submit(provider, job)

    assert second == NotSent("missing_assets")
    assert third == first
    assert renderer.seen()["PUT /assets/{sha256}"] == puts + 1


def test_the_case_of_a_lost_answer_is_one_job_under_one_key(
    renderer: RendererProcess, provider: LocalProvider, job: Job
) -> None:
    renderer.arm({"on": "POST /jobs", "reply": {"close_after_accept": True}, "reference": job.reference})
    lost, again = submit(provider, job), submit(provider, job)

    assert isinstance(lost, SubmissionUnknown)
    assert isinstance(again, Accepted)
    assert [line.id for line in renderer.bill() if line.key == job.idempotency_key] == [again.handle]


def test_a_listing_that_breaks_off_is_incomplete(renderer: RendererProcess, provider: LocalProvider) -> None:
    page = {"jobs": [{"id": "1", "reference": "r"}, {"id": None}, "odd"], "cursor": "next"}
    renderer.arm({"on": "GET /jobs", "reply": {"status": 200, "json": page}})
    renderer.arm({"on": "GET /jobs", "reply": {"status": 500}})
    answer = talk(lambda client: provider.listing(client, {"reference": "r"}))

    assert [one.handle for one in answer.found] == ["1"]
    assert not answer.complete


def test_a_listing_without_end_is_given_up(renderer: RendererProcess, provider: LocalProvider) -> None:
    reply = {"status": 200, "json": {"jobs": [], "cursor": "again"}}
    renderer.arm({"on": "GET /jobs", "reply": reply, "times": None})

    assert not talk(lambda client: provider.listing(client, {"reference": "r"})).complete
