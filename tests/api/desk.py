"""The API as a client meets it: a real server on a real port, over the viewer's small installation.

Belongs here: serving and asking. Does not belong here: what a test expects.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from pipeline.api.app import create_app
from pipeline.api.serve import loopback_socket
from pipeline.documents.moderation_policy import default_moderation_policy
from pipeline.documents.target_profile import default_target_profile
from resources.adapters import Adapters
from tests.steps.viewer import Viewer

START_SECONDS = 20


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]  #: lower case
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


@dataclass(frozen=True)
class Api:
    """Asks as written: no path is made tidy on the way."""

    port: int

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers={"Host": f"127.0.0.1:{self.port}", **named})
            answer = connection.getresponse()
            return Reply(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()


@contextmanager
def served(adapters: Adapters, hosts: Sequence[str] = ()) -> Iterator[Api]:
    """The application behind the very server that `reelwright api` runs, in a thread."""
    bound = loopback_socket("127.0.0.1", 0)
    config = uvicorn.Config(create_app(adapters, hosts), log_level="critical", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        end = time.monotonic() + START_SECONDS
        while not server.started:
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)
        yield Api(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
        bound.close()


def adapters_of(viewer: Viewer) -> Adapters:
    return Adapters(
        database=viewer.database,
        store=viewer.store,
        index=viewer.index,
        sandbox=viewer.sandbox,
        providers={},
        terms={},
        profile=default_target_profile(),
        transforms=viewer.transforms,
        moderation=default_moderation_policy(),
        spool=viewer.spool,
    )
