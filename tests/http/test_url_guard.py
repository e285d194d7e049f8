"""No provider can make us knock at a forbidden door (R4, C9, C10)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.errors import UrlRefused
from resources.http.client import HttpClient
from resources.http.url_guard import UrlGuard, is_public, shown
from tests.http.servers import site

GUARD = UrlGuard(
    allowed_hosts=frozenset({"cdn.example.com", "*.media.example.org", "files.example.net:8443"}),
    exact_origins=frozenset({"http://127.0.0.1:8123"}),
)


@pytest.mark.parametrize(
    ("url", "is_exact"),
    [
        ("https://cdn.example.com/1.mp4?sig=a", False),
        ("https://CDN.example.com:443/1.mp4", False),
        ("https://eu.media.example.org/1.mp4", False),
        ("https://files.example.net:8443/1.mp4", False),
        ("http://127.0.0.1:8123/outputs/1.mp4", True),
    ],
)
def test_what_the_list_names_is_allowed(url: str, is_exact: bool) -> None:
    assert GUARD.check(url).is_exact_origin is is_exact


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://cdn.example.com/1.mp4", "not_https"),
        ("file:///etc/passwd", "no_host"),
        ("gopher://cdn.example.com/", "not_https"),
        ("data:text/plain,hi", "no_host"),
        ("//cdn.example.com/1.mp4", "not_https"),
        ("https:///1.mp4", "no_host"),
        ("https://other.example.com/1.mp4", "foreign_host"),
        ("https://media.example.org/1.mp4", "foreign_host"),
        ("https://evilmedia.example.org/1.mp4", "foreign_host"),
        ("https://cdn.example.com.evil.net/1.mp4", "foreign_host"),
        ("https://cdn.example.com:22/", "foreign_host"),
        ("https://files.example.net/1.mp4", "foreign_host"),
        ("https://cdn.example.com./1.mp4", "trailing_dot"),
        ("https://user@cdn.example.com/1.mp4", "userinfo"),
        ("https://cdn.example.com@evil.net/1.mp4", "userinfo"),
        ("https://cdn.example.com\\@evil.net/", "confusing_url"),
        ("https://cdn.example.com/\r\nHost: evil", "confusing_url"),
        ("https://cdn.example.com:99999/", "confusing_url"),
        ("https://[::1/", "confusing_url"),
        ("https://" + "a" * 9000, "confusing_url"),
        ("https://2130706433/", "odd_address"),
        ("https://0x7f000001/", "odd_address"),
        ("https://0x7f.1/", "odd_address"),
        ("https://127.1/", "odd_address"),
        ("https://0177.0.0.1/", "odd_address"),
        ("https://127.0.0.1/", "foreign_host"),
        ("https://[::1]/", "foreign_host"),
        ("https://169.254.169.254/latest/meta-data", "foreign_host"),
        ("https://ⅽdn.example.net/1.mp4", "foreign_host"),
        ("http://127.0.0.1:8124/", "not_https"),
        ("http://localhost:8123/", "not_https"),
        ("https://127.0.0.1:8123/", "foreign_host"),
    ],
)
def test_everything_else_is_refused_by_name(url: str, rule: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        GUARD.check(url)

    assert refused.value.rule == rule
    assert not refused.value.may_help


_NOT_PUBLIC = """
127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255
192.88.99.1 240.0.0.1 192.0.2.1 198.18.0.1 ::1 :: ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
64:ff9b::a00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:c0a8::1 2002:7f00::1 2001::1 fe80::1 fe80::1%eth0
fec0::1 fc00::1 ff02::1 2a00:1450::5efe:a00:1 2a00:1450::200:5efe:a00:1 2001:db8::1 no-address
"""


@pytest.mark.parametrize(
    "address",
    _NOT_PUBLIC.split(),
)
def test_no_address_of_a_private_or_bent_network_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2a00:1450:4001::1", "::ffff:93.184.216.34"])
def test_ordinary_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_written_inside_ipv6_is_no_more_public_than_itself(address: ipaddress.IPv4Address) -> None:
    assert is_public(f"::ffff:{address}") == is_public(str(address))
    assert not is_public(f"64:ff9b::{address}")


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["127.0.0.1", "::1", "10.0.0.1"], ["::1"]])
def test_a_name_that_resolves_to_a_private_address_gets_no_packet(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> int:
        async with site() as server, HttpClient() as client:
            guard = UrlGuard(allowed_hosts=frozenset({f"cdn.example.com:{server.port}"}))
            monkeypatch.setattr(socket, "getaddrinfo", _resolving_to(answers))
            with pytest.raises(UrlRefused) as refused:
                async with client.stream(f"https://cdn.example.com:{server.port}/1.mp4", guard=guard):
                    pass

            assert refused.value.rule == "private_address"
            return server.connections

    assert asyncio.run(scene()) == 0


def _resolving_to(answers: list[str]) -> Any:
    """The resolver of a hostile zone: whatever is asked, these addresses."""

    def resolve(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
        return [
            (
                socket.AF_INET6 if ":" in answer else socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (answer, port, 0, 0) if ":" in answer else (answer, port),
            )
            for answer in answers
        ]

    return resolve


def test_a_literal_private_address_gets_no_packet_even_when_it_is_listed() -> None:
    async def scene() -> int:
        async with site() as server, HttpClient() as client:
            guard = UrlGuard(allowed_hosts=frozenset({f"127.0.0.1:{server.port}"}))
            with pytest.raises(UrlRefused):
                async with client.stream(f"https://127.0.0.1:{server.port}/", guard=guard):
                    pass
            return server.connections

    assert asyncio.run(scene()) == 0


@given(st.text(max_size=60))
def test_no_text_breaks_the_guard(url: str) -> None:
    try:
        GUARD.check(url)
    except UrlRefused:
        assert "?" not in shown(url)
