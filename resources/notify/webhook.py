"""The channel of chat and paging services: one POST of JSON to one address."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from pipeline.domain.errors import RemoteUnavailable
from resources.http.client import HttpClient
from resources.notify.protocol import Notice, document

SECONDS = 10.0
MAX_ANSWER_BYTES = 64 * 1024


class WebhookNotifier:
    """*url* is a secret: services put the key into its path."""

    def __init__(self, url: str, *, seconds: float = SECONDS) -> None:
        self._url = url
        self._seconds = seconds
        self._host = urlsplit(url).hostname or "?"

    def __repr__(self) -> str:
        return f"WebhookNotifier({self._host})"

    def send(self, notice: Notice) -> None:
        """A redirect is a refusal: what we say goes to the named address and nowhere else."""
        try:
            status = asyncio.run(self._post(notice))
        except RemoteUnavailable as error:
            # the client's words hold the path
            raise RemoteUnavailable(error.reason, f"webhook at {self._host}: {error.reason}") from None
        if not 200 <= status < 300:
            raise RemoteUnavailable(f"answered_{status}", f"webhook at {self._host} answered {status}")

    async def _post(self, notice: Notice) -> int:
        async with HttpClient(connections=1, max_answer_bytes=MAX_ANSWER_BYTES) as client:
            answer = await client.request(
                "POST", self._url, json=document(notice), timeout_seconds=self._seconds
            )
            return answer.status
