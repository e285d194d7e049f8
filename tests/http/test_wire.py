"""Connections to APIs: framing is strict, a kept one proves itself, and only a GET is ever asked twice."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.domain.errors import NeverConnected, RemoteUnavailable
from resources.http.client import HttpClient
from resources.http.origins import read
from tests.http.servers import ok
from tests.notify.sinks import server_tls, trusting

CUT = b""  #: hang up instead of an answer


@dataclass
class Server:
    """Answers requests in the order of *replies*, wherever they come in; CUT ends the connection."""

    replies: list[bytes]
    port: int = 0
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    talks: int = 0  #: those that go on
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.talks += 1
        try:
            await self._talk(reader, writer)
        finally:
            self.talks -= 1

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
                reply = self.replies.pop(0)
                writer.write(reply)
                if reply == CUT or b"connection: close" in reply.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            await hung_up(writer)


async def hung_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


@asynccontextmanager
async def serving(*replies: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    made = Server(list(replies))
    server = await asyncio.start_server(made.talk, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        while made.talks:
            await asyncio.sleep(0.001)


Talk = Callable[[HttpClient, str, Server], Awaitable[None]]


def run(talk: Talk, *replies: bytes, is_tls: bool = False, **options: Any) -> Server:
    async def scene() -> Server:
        trust = trusting() if is_tls else None
        async with (
            serving(*replies, tls=server_tls() if is_tls else None) as server,
            HttpClient(max_answer_bytes=1000, trust=trust, **options) as client,
        ):
            scheme, host = ("https", "localhost") if is_tls else ("http", "127.0.0.1")
            await talk(client, f"{scheme}://{host}:{server.port}/a", server)
            return server

    return asyncio.run(scene())


def bodies(*replies: bytes, is_tls: bool = False) -> tuple[list[bytes], Server]:
    """What one GET for each of *replies* brings."""
    found: list[bytes] = []

    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        for _ in range(len(replies)):
            found.append((await client.request("GET", url)).body)

    return found, run(talk, *replies, is_tls=is_tls)


def refusal(*replies: bytes, method: str = "GET") -> RemoteUnavailable:
    caught: list[RemoteUnavailable] = []

    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        with pytest.raises(RemoteUnavailable) as error:
            await client.request(method, url, timeout_seconds=2)
        caught.append(error.value)

    run(talk, *replies)
    return caught[0]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("is_tls", [False, True])
def test_one_connection_carries_many_gets(is_tls: bool) -> None:
    found, server = bodies(ok(b"one"), ok(b"two"), ok(b"three"), is_tls=is_tls)

    assert found == [b"one", b"two", b"three"]
    assert server.connections == 1


def test_chunks_are_put_together_and_their_trailers_are_no_headers() -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        answer = await client.request("GET", url)

        assert answer.body == b"abcd"
        assert "x-trailer" not in answer.headers

    chunks = b"2;note=x\r\nab\r\n2\r\ncd\r\n0\r\nX-Trailer: y\r\n\r\n"

    run(talk, CHUNKED + chunks)


def test_chunks_that_end_early_are_a_short_body() -> None:
    cut = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")

    assert refusal(cut + b"4\r\nab").reason == "short_body"


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    found, server = bodies(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it",
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n",
    )

    assert found == [b"all of it", b""]
    assert server.connections == 2


def test_a_server_that_closes_after_its_answer_is_connected_to_anew() -> None:
    _, server = bodies(ok(b"", "Connection: close"), ok(b"", "Connection: close"))

    assert server.connections == 2


def test_answers_that_only_announce_the_answer_are_passed_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Y: early\r\n\r\n"

    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        answer = await client.request("GET", url)

        assert (answer.status, answer.body, answer.headers.get("x-y")) == (200, b"hi", None)

    run(talk, early + ok(b"hi"))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", id="101"
        ),
        pytest.param(ok(b"ab", "Content-Length: 1"), id="two lengths"),
        pytest.param(ok(b"2\r\nab\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), id="length and chunks"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n", id="no number"),
        pytest.param(CHUNKED + b"two\r\n", id="no chunk size"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, id="endless header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, id="endless headers"),
        pytest.param(b"HTTP/1.1 102 Processing\r\n\r\n" * 10_000, id="endless announcements"),
        pytest.param(CHUNKED + b"1;" + b"x" * 100_000, id="endless framing"),
        pytest.param(b"HTTP/1.1 200 OK\nContent Length: 0\n\n", id="no header"),
    ],
)
def test_framing_that_can_be_read_in_two_ways_or_never_ends_is_refused(reply: bytes) -> None:
    assert refusal(reply).reason == "bad_answer"


def test_chunks_past_the_cap_are_refused_before_they_end() -> None:
    assert (
        refusal(CHUNKED + b"1f4\r\n" + b"x" * 500 + b"\r\n1f5\r\n" + b"x" * 501 + b"\r\n").reason
        == "too_large"
    )


@pytest.mark.parametrize("surplus", [b"\0garbage", ok(b"smuggled")], ids=["garbage", "another answer"])
def test_what_follows_an_answer_unasked_is_nobodys_answer(surplus: bytes) -> None:
    found, server = bodies(ok(b"one") + surplus, ok(b"two"))

    assert found == [b"one", b"two"]
    assert server.connections == 2


def test_what_comes_while_nothing_is_asked_ends_the_connection() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        await client.request("GET", url)
        server.writers[0].write(ok(b"unasked"))
        await asyncio.sleep(0.05)

        assert (await client.request("GET", url)).body == b"two"

    assert run(talk, ok(b"one"), ok(b"two")).connections == 2


def test_an_idle_connection_that_the_server_closed_is_not_used() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        await client.request("GET", url)
        server.writers[0].close()
        await asyncio.sleep(0.05)

        assert (await client.request("GET", url)).body == b"two"

    assert len(run(talk, ok(b"one"), ok(b"two")).requests) == 2


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_get_is_asked_again_once_when_a_kept_connection_turns_out_to_be_closed(is_tls: bool) -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        await client.request("GET", url)

        assert (await client.request("GET", url)).body == b"two"

    server = run(talk, ok(b"one"), CUT, ok(b"two"), is_tls=is_tls)

    assert (len(server.requests), server.connections) == (3, 2)


def test_it_is_not_asked_a_third_time() -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        await client.request("GET", url)
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("GET", url)

        assert error.value.reason == "connection_lost"
        assert not isinstance(error.value, NeverConnected)

    assert len(run(talk, ok(b"one"), CUT, CUT).requests) == 3


def test_a_get_whose_answer_had_begun_is_not_asked_again() -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        await client.request("GET", url)
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("GET", url)

        assert error.value.reason == "short_body"

    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nab"

    assert len(run(talk, ok(b"one"), cut).requests) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_but_a_get_rides_a_kept_connection_or_is_repeated(method: str) -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        await client.request("GET", url)
        with pytest.raises(RemoteUnavailable):
            await client.request(method, url, body=b"")

    server = run(talk, ok(b"one"), CUT)

    assert (len(server.requests), server.connections) == (2, 2)
    assert "connection: close" in server.requests[1].lower()


def test_the_head_of_a_body_is_an_answer_without_one() -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        answer = await client.request("HEAD", url)

        assert (answer.headers["content-length"], answer.body) == ("50", b"")

    run(talk, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")


def test_waiting_for_a_free_connection_is_part_of_the_deadline_and_sends_nothing() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        first = asyncio.create_task(client.request("GET", url, timeout_seconds=0.5))
        await asyncio.sleep(0.1)
        with pytest.raises(NeverConnected) as error:
            await client.request("POST", url, timeout_seconds=0.1)

        assert error.value.reason == "timed_out"
        with pytest.raises(RemoteUnavailable):
            await first
        assert len(server.requests) == 1

    run(talk, b"HTTP/1.1 200 OK\r\n", connections=1)


def test_each_request_has_its_own_deadline_on_the_same_connection() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        async def late() -> None:
            await asyncio.sleep(0.6)
            server.writers[0].write(b"hi")

        await client.request("GET", url, timeout_seconds=0.4)
        answer = asyncio.create_task(client.request("GET", url, timeout_seconds=5))
        await asyncio.gather(answer, late())

        assert answer.result().body == b"hi"
        begun = time.monotonic()
        with pytest.raises(RemoteUnavailable) as error:
            await client.request("GET", url, timeout_seconds=0.2)

        assert error.value.reason == "timed_out"
        assert time.monotonic() - begun < 1

    server = run(talk, ok(b"one"), ok(b"..")[:-2], b"HTTP/1.1 200 OK\r\n")

    assert server.connections == 1


def test_an_answer_that_nobody_waits_for_any_more_is_not_the_next_ones() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        await client.request("GET", url)
        given_up = asyncio.create_task(client.request("GET", url))
        await asyncio.sleep(0.05)
        given_up.cancel()

        assert (await client.request("GET", url)).body == b"three"
        assert server.connections == 2

    run(talk, ok(b"one"), ok(b"two!")[:-4], ok(b"three"))


def test_a_header_cannot_become_two() -> None:
    async def talk(client: HttpClient, url: str, _server: Server) -> None:
        for bad in ({"X": "a\r\nY: b"}, {"X: a\r\nY": "b"}, {"X ": "a"}):
            with pytest.raises(ValueError, match="cannot be sent"):
                await client.request("GET", url, headers=bad)
        await client.request("GET", url + " \r\nY: b")

    assert "\r\nY" not in run(talk, ok(b"")).requests[0]


@pytest.mark.parametrize("url", ["ftp://host/a", "http:///a", "/a", "http://host:x/", "http://host:99999/"])
def test_what_is_no_web_address_is_never_connected_to(url: str) -> None:
    async def scene() -> None:
        async with HttpClient() as client:
            await client.request("GET", url)

    with pytest.raises(NeverConnected) as error:
        asyncio.run(scene())

    assert error.value.reason == "bad_url"


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://a.example/x?y=1", "Host: a.example\r\n", "/x?y=1"),
        ("https://a.example:443/", "Host: a.example\r\n", "/"),
        ("https://a.example:8443", "Host: a.example:8443\r\n", "/"),
        ("http://[::1]:80/x#part", "Host: [::1]\r\n", "/x"),
        ("http://bücher.example/ü", "Host: xn--bcher-kva.example\r\n", "/%C3%BC"),
        ("http://a.example?y", "Host: a.example\r\n", "/?y"),
    ],
)
def test_host_and_target_are_as_a_server_expects_them(url: str, host: str, target: str) -> None:
    place, found = read(url)

    assert host in place.head
    assert found == target


def test_a_name_and_a_password_in_the_url_go_where_they_belong() -> None:
    place, target = read("http://key:s%40cret@a.example/x")

    assert "Authorization: Basic a2V5OnNAY3JldA==\r\n" in place.head
    assert (place.host, target) == ("a.example", "/x")


def test_a_certificate_that_nobody_vouches_for_proves_that_nothing_was_sent() -> None:
    async def scene() -> list[str]:
        async with serving(ok(b""), tls=server_tls()) as server, HttpClient() as client:
            with pytest.raises(NeverConnected) as error:
                await client.request("POST", f"https://localhost:{server.port}/a")

            assert error.value.reason == "untrusted_certificate"
            return server.requests

    assert asyncio.run(scene()) == []


@pytest.mark.parametrize(("says", "reason"), [(b"220 ready\r\n", "tls_failed"), (b"", "timed_out")])
def test_a_server_that_speaks_no_tls_proves_that_nothing_was_sent(says: bytes, reason: str) -> None:
    async def scene() -> None:
        over = asyncio.Event()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(says)
            with suppress(ConnectionError):
                await reader.read()
            await hung_up(writer)
            over.set()

        async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
            url = f"https://localhost:{server.sockets[0].getsockname()[1]}/a"
            async with HttpClient(trust=trusting()) as client:
                with pytest.raises(NeverConnected) as error:
                    await client.request("POST", url, timeout_seconds=0.5)
            await over.wait()

        assert error.value.reason == reason

    asyncio.run(scene())


def test_two_hundred_at_once_share_as_many_connections_as_allowed() -> None:
    async def talk(client: HttpClient, url: str, server: Server) -> None:
        answers = await asyncio.gather(*(client.request("GET", url) for _ in range(200)))

        assert [answer.body for answer in answers] == [b"x"] * 200
        assert server.connections == 7

    run(talk, *[ok(b"x")] * 200, connections=7)
