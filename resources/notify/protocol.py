"""An alert, and what every channel must do with it (A4).

Belongs here: the value, the check that nothing private is in it, its two written forms. Does not belong here:
how it is sent (a file a channel), or how often (`pipeline.steps.operate.alert`).

An alert leaves the house, so it is built to hold nothing that could not be read by a stranger: a title of our
own words, facts that are counts, ids or reason codes, and a link that is a path in one of our own windows. A
provider's URL, a prompt or an author's copy cannot be put into one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

#: Ids, partition keys, slots, versions, reason codes: no spaces, no scheme, no query.
_CODE = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9._:@*+-]*(/[A-Za-z0-9._:@*+-]+)*")
_FACT = re.compile(r"[a-z][a-z0-9_]*")
_TITLE = re.compile(r"[^\x00-\x1f\x7f/\\<>]+")
_PATH = re.compile(r"/[A-Za-z0-9._~:@!$&'()*+,;=%/?-]*")
MAX_CODE, MAX_TITLE, MAX_PATH = 200, 120, 500


class Severity(enum.StrEnum):
    INFO = "info"  #: Nobody has to do anything now.
    WARNING = "warning"  #: Somebody should look today.
    CRITICAL = "critical"  #: Something paid for is at risk, or nothing moves.


class Window(enum.StrEnum):
    """Where a link leads; the base address comes from the settings when it is sent."""

    DAGSTER = "dagster"
    API = "api"


@dataclass(frozen=True, slots=True)
class Link:
    """A page of ours: `Link(Window.DAGSTER, "/runs/0d1f…")`. ValueError for anything but a path."""

    window: Window
    path: str

    def __post_init__(self) -> None:
        if len(self.path) > MAX_PATH or not _PATH.fullmatch(self.path) or self.path.startswith("//"):
            raise ValueError(f"not a path of our own: {self.path[:80]!r}")


@dataclass(frozen=True, slots=True)
class Alert:
    """What somebody should know. `id` is what it is about: the same id again is the same alert.

    ValueError for a title, fact or id that could hold more than words of ours, ids, counts and codes.
    """

    id: str
    severity: Severity
    title: str
    facts: Mapping[str, str | int] = field(default_factory=dict)
    link: Link | None = None
    tenant: str = "*"  #: whom it concerns; * is the installation

    def __post_init__(self) -> None:
        _require_code("id", self.id)
        _require_code("tenant", self.tenant)
        if len(self.title) > MAX_TITLE or not _TITLE.fullmatch(self.title):
            raise ValueError("a title is one short line of our own words")
        for name, value in self.facts.items():
            if not _FACT.fullmatch(name):
                raise ValueError(f"not the name of a fact: {name[:80]!r}")
            if not isinstance(value, int):
                _require_code(name, value)
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))


def _require_code(what: str, value: str) -> None:
    if len(value) > MAX_CODE or not _CODE.fullmatch(value):
        # the value itself may be what must not be said
        raise ValueError(f"{what} is neither a count nor an id nor a code")


@dataclass(frozen=True, slots=True)
class Notice:
    """An alert as it goes out: with how often it was raised, and its link made whole."""

    alert: Alert
    count: int = 1
    link: str = ""  #: absolute, or empty


class Notifier(Protocol):
    """A channel. Sending twice is possible (a killed sender), so every form names the alert's id."""

    def send(self, notice: Notice) -> None:
        """Hand it over within a bounded time; RemoteUnavailable when the channel did not take it.

        The error's words hold no address of the channel beyond its host.
        """
        ...


def document(notice: Notice) -> dict[str, Any]:
    """For programs. `text` is for chat services, which show that field and drop the others."""
    alert = notice.alert
    return {
        "id": alert.id,
        "severity": str(alert.severity),
        "title": alert.title,
        "tenant": alert.tenant,
        "facts": dict(alert.facts),
        "count": notice.count,
        "link": notice.link or None,
        "text": text(notice),
    }


def text(notice: Notice) -> str:
    """For people: the title, a fact a line, the link."""
    repeated = f" (raised {notice.count} times)" if notice.count > 1 else ""
    lines = [f"{headline(notice)}{repeated}"]
    lines += [f"{name}: {value}" for name, value in notice.alert.facts.items()]
    return "\n".join(lines + [notice.link] * bool(notice.link))


def headline(notice: Notice) -> str:
    return f"[{notice.alert.severity}] {notice.alert.title}"


@dataclass(frozen=True, slots=True)
class Outlet:
    """Where alerts go out: the channel, the base addresses of our windows, and when to tell again."""

    notifier: Notifier
    windows: Mapping[Window, str] = field(default_factory=dict)
    repeat_after_seconds: float = 12 * 3600.0

    def notice(self, alert: Alert, count: int) -> Notice:
        base = self.windows.get(alert.link.window, "") if alert.link else ""
        return Notice(alert, count, f"{base}{alert.link.path}" if base and alert.link else "")
