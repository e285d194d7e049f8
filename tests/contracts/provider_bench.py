"""The bench of the conformance kit: an adapter with its server, and the hands to work on them.

Belongs here: what the promises in `provider` need to be tried. Does not belong here: the promises.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image

from pipeline.domain.errors import RemoteUnavailable
from pipeline.domain.outcomes import Reconciliation
from resources.http.client import Answer, HttpClient
from resources.http.download import Downloaded, download
from resources.providers.protocol import (
    Accepted,
    InputImage,
    Job,
    Observation,
    Provider,
    ProviderTerms,
    Standing,
    SubmissionUnknown,
    UrlOutput,
)
from resources.providers.registry import adapter, guard_for

Result = TypeVar("Result")
_K, _N = Reconciliation.KEY, Reconciliation.NONE


@dataclass(frozen=True)
class Subject:
    """One adapter on its terms, and what the kit must be able to do to its server."""

    terms: ProviderTerms
    restart: Callable[[], None]  #: kill and start again with the same store and address
    paid_jobs: Callable[[str], int]  #: how many jobs with this reference the provider would charge for
    model: str = "kenburns-1"
    claim_seconds: float = 60.0  #: by then a one-second clip must be made

    def adapter(self) -> Provider:
        """A fresh one: nothing that matters may live in the adapter."""
        return adapter(self.terms)


class CountingClient(HttpClient):
    """Counts what is sent, and loses answers on demand: after the provider has taken the request."""

    def __init__(self) -> None:
        super().__init__()
        self.posts = 0
        self.loses_answers = False

    async def request(self, method: str, url: str, **options: Any) -> Answer:
        answer = await super().request(method, url, **options)
        self.posts += method == "POST"
        if self.loses_answers and method == "POST":
            raise RemoteUnavailable("connection_lost", "the answer is lost")
        return answer


def talk(scene: Callable[[CountingClient], Awaitable[Result]]) -> Result:
    async def within() -> Result:
        async with CountingClient() as client:
            return await scene(client)

    return asyncio.run(within())


class ProviderBench:
    """Fixtures and hands; every scene has a client of its own."""

    @pytest.fixture
    def job(self, subject: Subject, tmp_path: Path) -> Job:
        picture = io.BytesIO()
        Image.linear_gradient("L").resize((640, 360)).convert("RGB").save(picture, "JPEG")
        path = tmp_path / "still.jpg"
        path.write_bytes(picture.getvalue())
        still = InputImage(hashlib.sha256(picture.getvalue()).hexdigest(), "image/jpeg", path)
        name = uuid.uuid4().hex
        return Job(
            reference=f"ref-{name}",
            idempotency_key=f"key-{name}",
            model=subject.model,
            settings={"fps": 25},
            images=(still,),
            copy="Your parcel, on time.",
            locale="en-GB",
            width=320,
            height=180,
            duration_seconds=1,
        )

    @pytest.fixture
    def gone(self, subject: Subject) -> Provider:
        """The adapter, pointed at a port where nobody listens."""
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))
            port = unheard.getsockname()[1]
        return adapter(replace(subject.terms, base_url=f"http://127.0.0.1:{port}"))

    def accept(self, subject: Subject, job: Job) -> str:
        answer = talk(lambda client: subject.adapter().submit(client, job))

        assert isinstance(answer, Accepted)
        return answer.handle

    def lose(self, subject: Subject, job: Job) -> None:
        """Submit, have it taken, and never learn the handle."""

        async def scene(client: CountingClient) -> object:
            client.loses_answers = True
            return await subject.adapter().submit(client, job)

        assert isinstance(talk(scene), SubmissionUnknown)
        assert subject.paid_jobs(job.reference) == 1

    def look(self, subject: Subject, *handles: str) -> list[Observation]:
        return list(talk(lambda client: subject.adapter().look_up(client, handles)))

    def follow(self, subject: Subject, handle: str) -> list[Observation]:
        """Every look until the end, in its claim time."""
        seen, until = list[Observation](), time.monotonic() + subject.claim_seconds
        while time.monotonic() < until:
            seen += self.look(subject, handle)
            if seen[-1].standing in (Standing.OUTPUT, Standing.ENDED):
                return seen
            time.sleep(0.1)
        raise AssertionError(f"no end within {subject.claim_seconds} s: {seen[-1]}")

    def find(self, subject: Subject, *references: str, after_lag: bool = True) -> tuple[list[str], bool]:
        provider = subject.adapter()
        if after_lag:
            time.sleep(provider.lookup_lag_seconds)
        since = datetime.now(UTC) - timedelta(hours=1)
        answer = talk(lambda client: provider.find(client, references, since=since))

        assert {one.reference for one in answer.found} <= set(references)
        return [one.handle for one in answer.found], answer.complete

    def fetch(self, subject: Subject, output: UrlOutput, into: Path) -> Downloaded:
        guard = guard_for(subject.terms)
        return talk(lambda client: download(client, output, into=into, guard=guard, max_bytes=10_000_000))

    def output(self, observation: Observation) -> UrlOutput:
        (output,) = observation.outputs

        assert isinstance(output, UrlOutput)
        return output
