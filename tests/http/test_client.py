"""The client is bounded, follows nothing, sends nothing twice, and knows when nothing was sent (R4, G3)."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from pipeline.domain.errors import NeverConnected, RemoteUnavailable
from resources.http.client import HttpClient
from resources.http.connecting import REASONS
from tests.http.servers import Site, ok, site

Talk = Callable[[HttpClient, Site], Awaitable[None]]


def run(talk: Talk, **replies: bytes) -> Site:
    async def scene() -> Site:
        async with site(**replies) as server, HttpClient(max_answer_bytes=1000) as client:
            await talk(client, server)
            return server

    return asyncio.run(scene())


def refusal(path: str, *, method: str = "GET", **replies: bytes) -> RemoteUnavailable:
    caught: list[RemoteUnavailable] = []

    async def talk(client: HttpClient, server: Site) -> None:
        with pytest.raises(RemoteUnavailable) as error:
            await client.request(method, server.url + path, timeout_seconds=0.5)
        caught.append(error.value)

    run(talk, **replies)
    return caught[0]


def test_an_answer_of_any_status_comes_back_whole() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        answer = await client.request("GET", f"{server.url}/a")

        assert (answer.status, answer.body, answer.headers["x-y"]) == (200, b"hi", "z")
        assert (await client.request("GET", f"{server.url}/none")).status == 404

    run(talk, a=ok(b"hi", "X-Y: z"))


def test_json_is_sent_and_identity_is_asked_for() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        await client.request("POST", f"{server.url}/a", json={"copy": "Überall"})

    seen = run(talk, a=ok(b"")).requests[0].lower()

    assert "content-type: application/json" in seen
    assert "accept-encoding: identity" in seen
    assert "cookie" not in seen


def test_a_redirect_is_an_answer_like_any_other() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        assert (await client.request("GET", f"{server.url}/a")).status == 302

    seen = run(talk, a=b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")

    assert len(seen.requests) == 1


def test_no_cookie_is_kept() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        for _ in range(2):
            await client.request("GET", f"{server.url}/a")

    seen = run(talk, a=ok(b"", "Set-Cookie: a=b"))

    assert all("Cookie:" not in request for request in seen.requests)


def test_a_refused_connection_proves_that_nothing_was_sent() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]

        async def scene() -> None:
            async with HttpClient() as client:
                await client.request("POST", f"http://127.0.0.1:{port}/jobs", json={})

        with pytest.raises(NeverConnected) as error:
            asyncio.run(scene())

    assert error.value.reason == "refused"


def test_an_unknown_host_proves_that_nothing_was_sent() -> None:
    async def scene() -> None:
        async with HttpClient() as client:
            await client.request("POST", "http://nothing-here.invalid/jobs", json={})

    with pytest.raises(NeverConnected) as error:
        asyncio.run(scene())

    assert error.value.reason == "unknown_host"


def test_a_hang_up_after_the_request_proves_nothing_and_is_not_repeated() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("POST", f"{server.url}/jobs", json={})

        assert not isinstance(error.value, NeverConnected)
        assert error.value.reason == "connection_lost"

    assert len(run(talk, jobs=b"").requests) == 1


def test_a_post_never_rides_a_kept_connection() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        server.stays_open = True
        await client.request("GET", f"{server.url}/a")
        await client.request("POST", f"{server.url}/a", json={})

    assert run(talk, a=ok(b"")).connections == 2


def test_a_silent_server_ends_at_the_deadline_and_may_have_taken_it() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        server.stays_open = True
        begun = time.monotonic()
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("POST", f"{server.url}/slow", json={}, timeout_seconds=0.3)

        assert time.monotonic() - begun < 2
        assert error.value.reason == "timed_out"
        assert not isinstance(error.value, NeverConnected)

    run(talk, slow=b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")


def test_a_cut_body_is_named() -> None:
    assert refusal("/a", a=b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nab").reason == "short_body"


def test_an_answer_past_the_cap_is_refused() -> None:
    assert refusal("/a", a=ok(b"x" * 5000)).reason == "too_large"


def test_a_gzip_bomb_is_refused_within_the_cap() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)

    assert refusal("/a", a=ok(bomb[:900], "Content-Encoding: gzip")).reason == "too_large"


def test_gzip_is_read_although_it_was_not_asked_for() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        assert (await client.request("GET", f"{server.url}/a")).body == b"plain"

    run(talk, a=ok(gzip.compress(b"plain"), "Content-Encoding: gzip"))


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
def test_an_encoding_that_cannot_be_read_is_named(encoding: str) -> None:
    assert refusal("/a", a=ok(b"x", f"Content-Encoding: {encoding}")).reason == "bad_encoding"


def test_an_answer_that_is_no_http_is_named() -> None:
    assert refusal("/a", a=b"SSH-2.0-x\r\n\r\n").reason == "bad_answer"


def test_neither_messages_nor_tracebacks_show_a_query() -> None:
    async def talk(client: HttpClient, server: Site) -> None:
        path = f"/a?signature={uuid.uuid4().hex}"
        server.replies[path] = b"SSH-2.0-x\r\n\r\n"
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("GET", server.url + path)

        assert path[-32:] not in "".join(traceback.format_exception(error.value))

    run(talk)


def _leaves(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*(_leaves(child) for child in kind.__subclasses__()))


def test_the_table_of_foreign_errors_is_complete() -> None:
    known = tuple(kind for kind, _ in REASONS)

    assert all(issubclass(kind, known) for kind in _leaves(aiohttp.ClientError))


def test_a_post_that_may_not_be_sent_any_more_never_leaves() -> None:
    """G3: the sender's lease is over; a GET is no send."""

    async def scene() -> Site:
        async with site(a=ok(b"")) as server, HttpClient(may_post=lambda: False) as client:
            with pytest.raises(NeverConnected) as refused:
                await client.request("POST", f"{server.url}/a")

            assert refused.value.reason == "no_longer_ours"
            assert (await client.request("GET", f"{server.url}/a")).status == 200
            return server

    assert [request.split()[0] for request in asyncio.run(scene()).requests] == ["GET"]
