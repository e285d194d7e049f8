"""A provider whose jobs have all ended: real outputs over real HTTP, and words as a test wants them.

Belongs here: the server, its adapter, and small real videos. Does not belong here: faults of a provider
that works (`tests.faults.renderer`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from resources.http.client import HttpClient
from resources.providers.protocol import Observation, Outcome, ProviderTerms, Standing, UrlOutput
from tests.media.clips import Clip


def video(folder: Path, *, mark: int = 0, **shape: Any) -> bytes:
    """A whole small MP4 of one second; *mark* makes its bytes another's."""
    path = folder / "clip.mp4"
    Clip(**{"frames": 25, "muxer": (("movflags", "faststart"),), **shape}).write(path)
    note = str(mark).encode()
    return path.read_bytes() + (8 + len(note)).to_bytes(4, "big") + b"free" + note


@dataclass
class OutputSite:
    """`bodies` by handle; a handle in `silent` is looked up as its observation says."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    silent: dict[str, Observation] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)  #: answers to come before the body
    stated_sizes: dict[str, int] = field(default_factory=dict)  #: as the provider states them
    fetches: Counter[str] = field(default_factory=Counter)
    bytes_sent: int = 0
    looks: int = 0

    def __enter__(self) -> Self:
        site = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def terms(self) -> ProviderTerms:
        base = f"http://127.0.0.1:{self._server.server_port}"
        return ProviderTerms("local", "local", base, allow_private_origin=True, fetch_tries=3)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        handle = request.path.strip("/")
        self.fetches[handle] += 1
        waiting = self.statuses.get(handle, [])
        body = self.bodies.get(handle, b"")
        request.send_response(waiting.pop(0) if waiting else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        self.bytes_sent += len(body)

    async def look_up(self, _client: HttpClient, handles: Sequence[str]) -> Sequence[Observation]:
        self.looks += len(handles)
        return [self.silent.get(handle) or self._output(handle) for handle in handles]

    def _output(self, handle: str) -> Observation:
        url = UrlOutput(f"{self.terms.base_url}/{handle}", size_bytes=self.stated_sizes.get(handle))
        return Observation(handle, Standing.OUTPUT, word="succeeded", outputs=(url,))


def gone(handle: str) -> Observation:
    return Observation(handle, Standing.NOT_FOUND, outcome=None, reason="http_404")


def unreachable(handle: str) -> Observation:
    return Observation(handle, Standing.UNREACHABLE, outcome=Outcome.NETWORK, reason="refused")


class SiteProvider:
    """The site as an adapter: only what retrieval calls is ever reached."""

    not_found_window_seconds = 0

    def __init__(self, site: OutputSite) -> None:
        self.look_up = site.look_up
