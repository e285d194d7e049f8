"""A server that says what a test has written down: answers of S3 that no server at hand gives.

Belongs here: answers by method and key, and the requests that came. Does not belong here: keeping objects.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from pipeline.domain.bucket import Bucket

BUCKET = "videos"
PROOF = f"/{BUCKET}/.reelwright/proof"


@dataclass(frozen=True, slots=True)
class Said:
    status: int = 200
    code: str = ""
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def content(self) -> bytes:
        if not self.code:
            return self.body
        return (
            f'<?xml version="1.0"?><Error><Code>{self.code}</Code><Message>as told</Message></Error>'.encode()
        )


TAKEN = Said(412, "PreconditionFailed")


@dataclass
class Stub:
    """Says the next answer of the script for `METHOD /path`, the last one for ever; else 200 and nothing."""

    endpoint: str = ""
    scripts: dict[str, list[Said]] = field(default_factory=lambda: {f"PUT {PROOF}": [TAKEN]})
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def bucket(self) -> Bucket:
        return Bucket(BUCKET, endpoint=self.endpoint, region="us-east-1")

    def say(self, request: str, *said: Said) -> None:
        self.scripts[request] = list(said)

    def asked(self, request: str) -> list[dict[str, str]]:
        """The headers of each request that began so."""
        return [headers for name, headers in self.requests if name.startswith(request)]

    def answer(self, request: str, headers: dict[str, str]) -> Said:
        self.requests.append((request, headers))
        script = self.scripts.get(request) or self.scripts.get(request.partition("?")[0]) or [Said()]
        return script.pop(0) if len(script) > 1 else script[0]


@contextmanager
def stub() -> Iterator[Stub]:
    told = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = told.answer(f"{self.command} {unquote(self.path)}", headers)
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("ETag", '"0"')
            self.send_header("Content-Length", str(len(said.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said.content)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
