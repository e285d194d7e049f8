"""Delivery: what one request at the edge or the store was, what it counts, and what it cannot have been.

Belongs here: classes of traffic and agents, meters, bounds, from a path to a key. Does not belong here: how
a log is written (`resources.usage_logs`), or what anything costs.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

#: Nothing that is served is larger: S3's largest object. More is damage or forgery.
MAX_BYTES = 50_000_000_000_000
#: Of one answer: status line and headers, chunk sizes, boundaries of several ranges.
HEADER_ALLOWANCE_BYTES = 64 * 1024
#: An error page has its own length, whatever object was asked for.
ERROR_ALLOWANCE_BYTES = 1024 * 1024
#: Neither service existed before; an earlier year is damage.
FIRST_YEAR = 2006
#: Clocks of edges differ by no more; a later line is from the future.
SKEW_SECONDS = 86_400


class Provider(enum.StrEnum):
    """Who wrote the log. Bytes from store to edge to viewer are in two of them, and are two things to pay."""

    CLOUDFRONT = "cloudfront"
    S3 = "s3"
    GENERIC = "generic"


class Traffic(enum.StrEnum):
    FULL = "full"  #: a whole answer to GET
    PARTIAL = "partial"  #: a range (206)
    HEAD = "head"  #: headers alone
    NOT_MODIFIED = "not_modified"  #: 304: the viewer has it
    REDIRECT = "redirect"
    ABORTED = "aborted"  #: the viewer went before the end; what was sent was sent
    FAILED = "failed"  #: 4xx and 5xx
    OTHER = "other"  #: neither GET nor HEAD, or no status is known


class Agent(enum.StrEnum):
    VIEWER = "viewer"
    BOT = "bot"  #: paid for like any other, and told apart
    CDN = "cdn"  #: an edge that fills itself at the store
    UNKNOWN = "unknown"


class Meter(enum.StrEnum):
    BYTES = "delivered_bytes"  #: as the log counts: CloudFront with headers, S3 without
    REQUESTS = "delivery_requests"
    HITS = "cache_hits"
    REFRESHES = "cache_refreshes"  #: the edge had it and asked whether it still holds
    SHIELD_HITS = "cache_shield_hits"
    MISSES = "cache_misses"
    STORE_WRITES = "storage_requests_a"  #: PUT, COPY, POST, LIST
    STORE_READS = "storage_requests_b"  #: GET and all others but DELETE, which is free


@dataclass(frozen=True, slots=True)
class Kind:
    """What all lines of one class have in common."""

    provider: Provider
    traffic: Traffic
    agent: Agent = Agent.UNKNOWN
    region: str = ""  #: as the log says it: three letters of an edge, or a region's name
    scheme: str = ""
    counted: tuple[Meter, ...] = (Meter.REQUESTS,)  #: one of each for every line


CACHE = {
    "hit": Meter.HITS,
    "refreshhit": Meter.REFRESHES,
    "originshieldhit": Meter.SHIELD_HITS,
    "miss": Meter.MISSES,
}

#: Parts of user agents, in lower case, of those who are nobody's viewers.
BOTS = (
    "bot", "crawl", "spider", "slurp", "facebookexternalhit", "headlesschrome", "lighthouse", "pingdom",
    "uptime", "monitor", "python-requests", "python-urllib", "go-http-client", "scrapy", "archiver",
    "bingpreview", "feedfetcher", "mediapartners", "ia_archiver", "embedly", "preview",
)  # fmt: skip
#: Devices that are named as if they were bots.
NO_BOTS = ("cubot",)


def agent_of(user_agent: str) -> Agent:
    """Who asked, by what it says of itself, percent-encoded or not."""
    if user_agent in ("", "-"):
        return Agent.UNKNOWN
    name = user_agent.lower()
    if "amazon" in name and "cloudfront" in name:
        return Agent.CDN
    for device in NO_BOTS:
        name = name.replace(device, "")
    return Agent.BOT if any(bot in name for bot in BOTS) else Agent.VIEWER


def traffic_of(method: str, status: int | None, *, is_cut: bool = False) -> Traffic:
    """*status* 0 is CloudFront's 000: the viewer was gone before an answer. *is_cut*: the log says so."""
    if is_cut or status in (0, 499):
        return Traffic.ABORTED
    if status is None:
        return Traffic.OTHER
    if status >= 400:
        return Traffic.FAILED
    if method == "HEAD":
        return Traffic.HEAD
    if status == 304:
        return Traffic.NOT_MODIFIED
    if 300 <= status < 400:
        return Traffic.REDIRECT
    if method != "GET" or status < 200:
        return Traffic.OTHER
    return Traffic.PARTIAL if status == 206 else Traffic.FULL


def most_bytes(traffic: Traffic, size_bytes: int) -> int:
    """What one answer about an object of *size_bytes* can have sent at the very most."""
    if traffic in (Traffic.HEAD, Traffic.NOT_MODIFIED, Traffic.REDIRECT):
        return HEADER_ALLOWANCE_BYTES
    if traffic in (Traffic.FAILED, Traffic.OTHER):
        return max(size_bytes, ERROR_ALLOWANCE_BYTES) + HEADER_ALLOWANCE_BYTES
    return size_bytes + HEADER_ALLOWANCE_BYTES


@dataclass(frozen=True, slots=True)
class PathRule:
    """Paths that begin with *path* are keys that begin with *key* instead."""

    path: str
    key: str


#: A provider's rules; without one that fits, a path is of nothing that is ours.
PathRules = Mapping[Provider, Sequence[PathRule]]

AS_IT_IS = (PathRule("/", ""),)


def path_rules(paths: Sequence[PathRule] = AS_IT_IS, bucket: str = "", prefix: str = "") -> PathRules:
    """*paths* for what viewers ask an edge; the store's own log names *bucket* and all of the key."""
    below = f"/{bucket}/{prefix}/" if prefix else f"/{bucket}/"
    return {
        Provider.CLOUDFRONT: tuple(paths),
        Provider.GENERIC: tuple(paths),
        Provider.S3: (PathRule(below, ""),) if bucket else (),
    }


def key_of(path: str, rules: Sequence[PathRule]) -> str | None:
    """The key behind the decoded *path* of a URL; the longest rule that fits decides, None without one."""
    fitting = [rule for rule in rules if path.startswith(rule.path)]
    if not fitting:
        return None
    rule = max(fitting, key=lambda one: len(one.path))
    return rule.key + path[len(rule.path) :] or None


def decoded(text: str, times: int) -> str | None:
    """Percent-decoded *times* over; None where that is no UTF-8."""
    try:
        for _ in range(times):
            text = unquote_to_bytes(text).decode()
    except UnicodeError:
        return None
    return text
