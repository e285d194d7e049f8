"""The HTTP client of every adapter: one session a step, no automatic redirect, nothing repeated.

Belongs here: bounded requests and answers. Does not belong here: what an answer means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole, bounded answer. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient(Protocol):
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: bytes | None = None,
        timeout_seconds: float = 20.0,
    ) -> Answer: ...

    async def __aenter__(self) -> HttpClient: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
