"""Which address a provider may make us fetch (R4): hosts, schemes, ports, spellings, networks.

Belongs here: pure rules about a URL and about the address it resolves to. Does not belong here:
connecting (`connecting` asks `permits_address` for each address right before it is connected to).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from yarl import URL

from pipeline.domain.errors import UrlRefused

_MAX_URL_CHARACTERS = 8192
#: Readers disagree about these, so what one checks another may not fetch.
_CONFUSING = re.compile(r"[\x00-\x20\x7f\\]")
#: `2130706433`, `0x7f.1`, `127.1`, `0177.0.0.1`: numbers that some resolvers read as IPv4.
_NUMERIC_NAME = re.compile(r"(?:[^.]*\.)*(?:\d+|0x[0-9a-f]*)", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class CheckedUrl:
    url: URL
    is_exact_origin: bool  #: the operator named this very origin: private networks are meant


@dataclass(frozen=True, slots=True)
class UrlGuard:
    """The rules of one provider. `exact_origins` are the only ones that may be private or plain http.

    An allowed host is `cdn.example.com`, `*.example.com` (everything below, not itself), either with
    `:port` when it is not 443. Nothing is allowed by default.
    """

    allowed_hosts: frozenset[str] = frozenset()
    exact_origins: frozenset[str] = frozenset()

    def check(self, url: str) -> CheckedUrl:
        """The URL as it will be fetched; UrlRefused names the broken rule. Nothing is resolved."""
        parsed = _parsed(url)
        if _origin(parsed) in {_origin(URL(origin)) for origin in self.exact_origins}:
            return CheckedUrl(parsed, is_exact_origin=True)
        for rule, holds, problem in _RULES:
            if not holds(parsed):
                raise UrlRefused(rule, f"{shown(url)} {problem}")
        if not any(_allows(entry, parsed) for entry in self.allowed_hosts):
            raise UrlRefused(
                "foreign_host", f"{shown(url)} is on a host that the provider list does not allow"
            )
        return CheckedUrl(parsed, is_exact_origin=False)

    def permits_address(self, address: str) -> bool:
        """Whether an address may be connected to for a host of the allow-list: public ones only."""
        return is_public(address)


def shown(url: str) -> str:
    """A URL for messages and logs: without user, query and fragment, which may hold secrets (C42)."""
    try:
        parsed = URL(url)
        place = f"{parsed.host or ''}{':' + str(parsed.explicit_port) if parsed.explicit_port else ''}"
        return f"{parsed.scheme}://{place}{parsed.path}"[:200]
    except ValueError:
        return "an unreadable URL"


def _parsed(url: str) -> URL:
    if len(url) > _MAX_URL_CHARACTERS or _CONFUSING.search(url):
        raise UrlRefused("confusing_url", "a URL holds control characters, or is far too long")
    try:
        parsed = URL(url)
        _ = parsed.port
    except ValueError as error:
        raise UrlRefused("confusing_url", "a URL cannot be read") from error
    if parsed.user is not None or parsed.password is not None:
        raise UrlRefused("userinfo", f"{shown(url)} carries a user name")
    if not parsed.host:
        raise UrlRefused("no_host", f"{shown(url)} names no host")
    return parsed.with_fragment(None)


def _is_plain_name(url: URL) -> bool:
    host = url.raw_host or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return not _NUMERIC_NAME.fullmatch(host)
    return True


_RULES: tuple[tuple[str, Callable[[URL], bool], str], ...] = (
    ("not_https", lambda url: url.scheme == "https", "is not https"),
    ("trailing_dot", lambda url: not (url.raw_host or "").endswith("."), "ends its host with a dot"),
    ("odd_address", _is_plain_name, "spells an address in an odd way"),
)


def _origin(url: URL) -> tuple[str, str, int | None]:
    return (url.scheme, url.raw_host or "", url.port or _DEFAULT_PORTS.get(url.scheme))


def _allows(entry: str, url: URL) -> bool:
    name, _, port = entry.lower().rpartition(":")
    if not port.isdigit():
        name, port = entry.lower(), "443"
    if url.port != int(port):
        return False
    host = (url.raw_host or "").lower()
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


#: Global by `ipaddress`, and yet ways into a private network or no way to a host (measured on 3.11).
_FORBIDDEN_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.88.99.0/24",  # 6to4 relay
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # IPv4-compatible
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "2001::/23",  # Teredo, ORCHID and other assignments of protocols
        "2002::/16",  # 6to4
        "fec0::/10",  # site-local
        "ff00::/8",
    )
)
#: ISATAP puts an IPv4 address below this interface identifier, in any network.
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})


def is_public(address: str) -> bool:
    """Whether a literal address lies in the public internet, by its own and any embedded address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.scope_id is not None:
            return False
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if (int(parsed) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS:
            return False
    return parsed.is_global and not any(parsed in network for network in _FORBIDDEN_NETWORKS)
