"""Untrusted bytes come whole into a private file, or not at all (R1, R4; the cases C41 to C45)."""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import json
import stat
import traceback
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipeline.domain.errors import (
    MediaRefused,
    MediaUnproven,
    ReelwrightError,
    RemoteUnavailable,
    StoreUnavailable,
    UrlRefused,
)
from pipeline.domain.observations import UrlOutput
from resources.http.client import HttpClient
from resources.http.download import Downloaded, FetchLimits, download
from resources.http.url_guard import UrlGuard
from tests.faults.renderer.process import RendererProcess
from tests.http.servers import ok, site

DATA = Path(__file__).parents[1] / "data" / "http"
CAP = 1_000_000


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RendererProcess]:
    with RendererProcess(tmp_path_factory.mktemp("renderer")) as process:
        yield process


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "body"


def script(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((DATA / f"http_{name}.json").read_text())["steps"]
    return steps


def fetch(url: str, into: Path, *, origins: tuple[str, ...] = (), **options: Any) -> Downloaded:
    async def scene() -> Downloaded:
        origin = "/".join(url.split("/")[:3])
        guard = UrlGuard(exact_origins=frozenset({origin, *origins}))
        output = options.pop("output", UrlOutput(url))
        async with HttpClient() as client:
            return await download(
                client, replace(output, url=url), into=into, guard=guard, **{"max_bytes": CAP, **options}
            )

    return asyncio.run(scene())


def refused(renderer: RendererProcess, path: str, target: Path, **options: Any) -> ReelwrightError:
    with pytest.raises(ReelwrightError) as error:
        fetch(renderer.url + path, target, **options)
    renderer.disarm()

    assert not target.exists()
    return error.value


def test_a_whole_body_lies_in_a_private_file_with_its_hash(renderer: RendererProcess, target: Path) -> None:
    renderer.arm({"on": "GET /a", "reply": {"status": 200, "body_file": "moov_at_end_ok.mp4"}})
    got = fetch(f"{renderer.url}/a", target)
    content = (DATA / "moov_at_end_ok.mp4").read_bytes()

    assert target.read_bytes() == content
    assert (got.sha256, got.size_bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    assert got.length_was_stated
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_file_that_is_there_already_is_left_alone(renderer: RendererProcess, target: Path) -> None:
    target.write_bytes(b"mine")
    with pytest.raises(StoreUnavailable):
        fetch(f"{renderer.url}/a", target)

    assert target.read_bytes() == b"mine"


def test_errors_dressed_as_success_arrive_as_bytes_for_the_media_check(
    renderer: RendererProcess, target: Path
) -> None:
    renderer.arm(*script("200_error_body")[1:])
    got = fetch(f"{renderer.url}/out/2.mp4", target)

    assert got.content_type == "text/html"


def test_an_expired_url_is_named_so_that_a_fresh_one_is_asked_for(
    renderer: RendererProcess, target: Path
) -> None:
    renderer.arm(*[step for step in script("expired_url") if "/out/" in step["on"]])
    error = refused_without_disarm(renderer, "/out/old.mp4?exp=1", target)
    fresh = fetch(f"{renderer.url}/out/new.mp4?exp=2", target)

    assert error.reason == "url_expired"
    assert fresh.size_bytes > 0
    target.unlink()
    assert refused_without_disarm(renderer, "/out/gone.mp4", target).reason == "url_expired"


def refused_without_disarm(renderer: RendererProcess, path: str, target: Path) -> RemoteUnavailable:
    with pytest.raises(RemoteUnavailable) as error:
        fetch(renderer.url + path, target)
    return error.value


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        *((401, "denied"), (403, "url_expired"), (404, "url_expired"), (410, "url_expired")),
        *((429, "rate_limit"), (500, "server_error"), (503, "server_error"), (418, "unexpected_status")),
    ],
)
def test_every_status_has_its_name(renderer: RendererProcess, target: Path, status: int, reason: str) -> None:
    renderer.arm({"on": "GET /a", "reply": {"status": status, "headers": {"Retry-After": "7"}}})
    error = refused(renderer, "/a", target)

    assert isinstance(error, RemoteUnavailable)
    assert (error.reason, error.retry_after_seconds) == (reason, 7)


def test_a_partial_answer_is_refused(renderer: RendererProcess, target: Path) -> None:
    renderer.arm({"on": "GET /a", "reply": {"status": 206, "body": "part"}})
    error = refused(renderer, "/a", target)

    assert isinstance(error, MediaUnproven)
    assert error.reason == "partial_answer"


def test_the_key_is_not_sent_to_another_host(target: Path) -> None:
    async def scene() -> tuple[Downloaded, list[str], list[str]]:
        async with site() as api, site(o=ok(b"video")) as storage, HttpClient() as client:
            here = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
            api.replies["/content/5"] = here + b"/content/6\r\n\r\n"
            api.replies["/content/6"] = here + storage.url.encode() + b"/o\r\n\r\n"
            output = UrlOutput(f"{api.url}/content/5", headers={"Authorization": "Bearer k"})
            guard = UrlGuard(exact_origins=frozenset({api.url, storage.url}))
            got = await download(client, output, into=target, guard=guard, max_bytes=CAP)
            return got, api.requests, storage.requests

    got, at_api, at_storage = asyncio.run(scene())

    assert got.size_bytes == 5
    assert all("Authorization: Bearer k" in request for request in at_api)
    assert "Authorization" not in at_storage[0]


def test_a_redirect_to_a_forbidden_place_is_refused_before_a_packet(target: Path) -> None:
    async def scene() -> int:
        async with site() as api, site() as inside, HttpClient() as client:
            location = f"Location: {inside.url}/secret\r\n\r\n".encode()
            api.replies["/a"] = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n" + location
            guard = UrlGuard(exact_origins=frozenset({api.url}))
            with pytest.raises(UrlRefused):
                await download(client, UrlOutput(f"{api.url}/a"), into=target, guard=guard, max_bytes=CAP)
            return inside.connections

    assert asyncio.run(scene()) == 0
    assert not target.exists()


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://169.254.169.254/", "//[::1", "", "/a"])
def test_bad_and_endless_redirects_end(renderer: RendererProcess, target: Path, location: str) -> None:
    reply = {"status": 302, "headers": {"Location": location}}
    renderer.arm({"on": "GET /a", "reply": reply, "times": None})
    error = refused(renderer, "/a", target)

    assert isinstance(error, RemoteUnavailable)
    assert error.reason in ("url_refused", "too_many_redirects", "bad_answer")


def _hop(path: str, location: str) -> dict[str, Any]:
    return {"on": f"GET {path}", "reply": {"status": 307, "headers": {"Location": location}}}


def test_four_hops_are_one_too_many(renderer: RendererProcess, target: Path) -> None:
    hops = [
        {"on": f"GET /h{n}", "reply": {"status": 307, "headers": {"Location": f"/h{n + 1}"}}}
        for n in range(4)
    ]
    end = {"on": "GET /h*", "reply": {"status": 200, "body": "x"}}
    renderer.arm(*hops[1:], end)
    three = fetch(f"{renderer.url}/h1", target)
    target.unlink()
    renderer.arm(*hops, end)
    error = refused(renderer, "/h0", target)

    assert three.size_bytes == 1
    assert isinstance(error, RemoteUnavailable)
    assert error.reason == "too_many_redirects"


def test_a_body_of_unknown_length_is_whole_and_says_so(renderer: RendererProcess, target: Path) -> None:
    renderer.arm(*script("no_content_length"))
    sixth = fetch(f"{renderer.url}/out/6.mp4", target)
    target.unlink()
    ninth = fetch(f"{renderer.url}/out/9.mp4", target)
    renderer.disarm()

    assert sixth.size_bytes == ninth.size_bytes == (DATA / "clip_400ms.mp4").stat().st_size
    assert not sixth.length_was_stated
    assert not ninth.length_was_stated


def test_an_empty_body_is_refused(renderer: RendererProcess, target: Path) -> None:
    renderer.arm(*script("no_content_length"))
    error = refused(renderer, "/out/7.mp4", target)

    assert isinstance(error, MediaUnproven)
    assert error.reason == "empty_body"


def test_an_endless_body_stops_at_the_cap_with_flat_memory(renderer: RendererProcess, target: Path) -> None:
    renderer.arm(*script("no_content_length"))
    before = psutil.Process().memory_info().rss
    error = refused(renderer, "/out/8.mp4", target, max_bytes=60_000_000)

    assert isinstance(error, MediaRefused)
    assert error.reason == "too_large"
    assert psutil.Process().memory_info().rss - before < 40_000_000


@pytest.mark.parametrize("stated", ["2000000", "999999999999999999999"])
def test_a_body_that_announces_too_much_is_refused_unread(
    renderer: RendererProcess, target: Path, stated: str
) -> None:
    headers = {"Content-Length": stated}
    renderer.arm({"on": "GET /a", "reply": {"status": 200, "body": "x", "headers": headers}})

    assert isinstance(refused(renderer, "/a", target), MediaRefused | RemoteUnavailable)


def test_a_short_body_is_refused_and_the_next_try_is_whole(renderer: RendererProcess, target: Path) -> None:
    renderer.arm(*script("short_body"))
    with pytest.raises(MediaUnproven) as error:
        fetch(f"{renderer.url}/out/10.mp4", target)

    assert error.value.reason == "short_body"
    assert not target.exists()
    assert fetch(f"{renderer.url}/out/10.mp4", target).length_was_stated


def test_a_cut_chunked_body_is_refused(target: Path) -> None:
    async def scene() -> None:
        async with site(a=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe") as server:
            guard = UrlGuard(exact_origins=frozenset({server.url}))
            async with HttpClient() as client:
                output = UrlOutput(f"{server.url}/a")
                await download(client, output, into=target, guard=guard, max_bytes=CAP)

    with pytest.raises(MediaUnproven):
        asyncio.run(scene())

    assert not target.exists()


def test_a_gzip_body_is_stored_decoded(renderer: RendererProcess, target: Path) -> None:
    renderer.arm(*script("gzip_encoded"))
    got = fetch(f"{renderer.url}/out/11.mp4", target)

    assert got.size_bytes == 2314
    assert got.sha256 == "c4b69546bcc68fe62b937dbd29e8d7c5656abdef1970afeb54f9430a265fc3dd"


def _fetch_raw(answer: bytes, target: Path) -> Downloaded:
    async def scene() -> Downloaded:
        async with site(a=answer) as server, HttpClient() as client:
            guard = UrlGuard(exact_origins=frozenset({server.url}))
            return await download(
                client, UrlOutput(f"{server.url}/a"), into=target, guard=guard, max_bytes=CAP
            )

    return asyncio.run(scene())


def test_a_gzip_bomb_and_a_cut_gzip_are_refused(target: Path) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    with pytest.raises(MediaRefused):
        _fetch_raw(ok(bomb, "Content-Encoding: gzip"), target)
    with pytest.raises(MediaUnproven):
        _fetch_raw(ok(gzip.compress(b"video" * 100)[:-9], "Content-Encoding: gzip"), target)

    assert not target.exists()


@pytest.mark.parametrize(
    ("stated", "reason"),
    [({"size_bytes": 4}, "wrong_size"), ({"sha256": "0" * 64}, "wrong_hash")],
)
def test_what_the_provider_states_must_hold(
    renderer: RendererProcess, target: Path, stated: dict[str, Any], reason: str
) -> None:
    renderer.arm({"on": "GET /a", "reply": {"status": 200, "body": "video"}})
    error = refused(renderer, "/a", target, output=UrlOutput("", **stated))

    assert isinstance(error, MediaUnproven)
    assert error.reason == reason


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (FetchLimits(min_bytes_per_second=1000, grace_seconds=0.3), "too_slow"),
        (FetchLimits(min_bytes_per_second=1, max_seconds=0.5), "timed_out"),
    ],
)
def test_a_trickle_is_ended_by_rate_and_by_clock(
    renderer: RendererProcess, target: Path, limits: FetchLimits, reason: str
) -> None:
    renderer.arm({"on": "GET /a", "reply": {"status": 200, "body": "x" * 100, "trickle": True}})
    error = refused(renderer, "/a", target, limits=limits)

    assert isinstance(error, RemoteUnavailable)
    assert error.reason == reason


def test_a_server_that_never_answers_is_given_up(renderer: RendererProcess, target: Path) -> None:
    renderer.arm({"on": "GET /a", "reply": {"delay_seconds": 3, "status": 200}})
    error = refused(renderer, "/a", target, limits=FetchLimits(answer_seconds=0.2))

    assert isinstance(error, RemoteUnavailable)
    assert error.reason == "timed_out"


def test_a_full_disk_is_named_and_leaves_nothing(
    renderer: RendererProcess, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    renderer.arm({"on": "GET /a", "reply": {"status": 200, "body": "video"}})
    error = refused(renderer, "/a", target)

    assert isinstance(error, StoreUnavailable)
    assert error.reason == "disk_full"


def test_no_error_shows_the_signature(renderer: RendererProcess, target: Path) -> None:
    signature = uuid.uuid4().hex
    renderer.arm({"on": "GET /a", "reply": {"status": 403}})
    with pytest.raises(RemoteUnavailable) as error:
        fetch(f"{renderer.url}/a?X-Amz-Signature={signature}", target)

    assert signature not in "".join(traceback.format_exception(error.value))
    assert signature not in repr(UrlOutput(f"https://a/?{signature}", headers={"Authorization": signature}))
