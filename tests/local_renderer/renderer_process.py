"""The real program as a child process, and a plain HTTP client for it.

Belongs here: starting, asking, waiting, ending. Does not belong here: what a test expects.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import av
from PIL import Image

PROGRAM = (sys.executable, "-m", "resources.local_renderer.main")
_ROOT = Path(__file__).parents[2]
_keys = itertools.count()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Renderer:
    """One running renderer. `restart` starts a new process on the same store."""

    def __init__(self, store: Path, *arguments: str) -> None:
        self.store = store
        self._arguments = arguments
        self.restart()

    def restart(self) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "--port", "0", "--store", str(self.store), *self._arguments],
            stdout=subprocess.PIPE,
            cwd=_ROOT,
        )
        assert self.process.stdout is not None
        self.port = json.loads(self.process.stdout.readline())["port"]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process.stdout is not None
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.process.stdout.close()
        return code

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        url = path if path.startswith("http") else f"http://127.0.0.1:{self.port}{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(url, data=body, method=method, headers=named)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())

    def upload(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        assert self.ask("PUT", f"/assets/{sha256}", content).status in (200, 201)
        return sha256

    def submit(self, wanted: Mapping[str, Any], key: str | None = None) -> Answer:
        body = json.dumps(wanted).encode()
        return self.ask("POST", "/jobs", body, Idempotency_Key=key or f"key-{next(_keys)}-{os.getpid()}")

    def job(self, job_id: str) -> Any:
        answer = self.ask("GET", f"/jobs/{job_id}")
        assert answer.status == 200, answer
        return answer.json

    def wait(
        self,
        job_id: str,
        until: Callable[[Any], bool] = lambda job: job["status"] not in ("queued", "running"),
    ) -> Any:
        deadline = time.monotonic() + 60
        while not until(job := self.job(job_id)):
            assert time.monotonic() < deadline, job
            time.sleep(0.02)
        return job

    def render(self, wanted: Mapping[str, Any]) -> Any:
        """Submit, wait, and give back the job, which must have succeeded."""
        job = self.wait(self.submit(wanted).json["id"])
        assert job["status"] == "succeeded", job
        return job

    def film(self, wanted: Mapping[str, Any]) -> list[Image.Image]:
        """Every frame of the rendered video."""
        return frames(self.ask("GET", self.render(wanted)["output"]["url"]).body)


def picture(colour: tuple[int, int, int], size: tuple[int, int] = (320, 214), kind: str = "PNG") -> bytes:
    """Bars on a ground, so that motion shows."""
    image = Image.new("RGB", size, colour)
    for x in range(0, size[0], 16):
        image.paste(tuple(255 - c for c in colour), (x, 0, x + 4, size[1] // 2))
    out = BytesIO()
    image.save(out, kind)
    return out.getvalue()


def frames(video: bytes) -> list[Image.Image]:
    with av.open(BytesIO(video)) as container:
        return [frame.to_image() for frame in container.decode(video=0)]


def wanted(*images: str, **changes: Any) -> dict[str, Any]:
    """A small job; `changes` replace fields."""
    return {
        "reference": "northwind.spring/1",
        "model": "kenburns-1",
        "settings": {"fps": 10},
        "images": list(images),
        "caption": "On time.",
        "locale": "en-GB",
        "width": 160,
        "height": 90,
        "duration_seconds": 1,
        **changes,
    }
