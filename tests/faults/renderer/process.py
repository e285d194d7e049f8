"""The fault renderer as tests hold it: start, kill, restart on the same port, arm faults, read the bill.

Belongs here: the process and its control endpoint, blocking, for tests and benchmarks. Does not belong
here: what the program does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.faults.renderer.journal import BillLine, read_bill

ROOT = Path(__file__).parents[3]
#: Adapter path of each mode, for provider lists.
ADAPTERS = {
    "k": "tests.faults.renderer.adapters:KeyProvider",
    "l": "tests.faults.renderer.adapters:LookupProvider",
    "w": "tests.faults.renderer.adapters:ListingProvider",
    "n": "tests.faults.renderer.adapters:NothingProvider",
}


class RendererProcess:
    """One program; *program* and *options* may name another one that speaks the same start-up line."""

    def __init__(
        self, store: Path, *, program: str = "tests.faults.renderer", options: Sequence[str] = ()
    ) -> None:
        self.store = store
        self.port = 0
        self._program = program
        self._options = tuple(options)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start on the port of last time; returns when it listens."""
        argv = [sys.executable, "-m", self._program, "--port", str(self.port), "--store", str(self.store)]
        self._process = subprocess.Popen([*argv, *self._options], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        first_line = self._process.stdout.readline()
        if not first_line:
            self.kill()
            raise RuntimeError(f"{self._program} did not start; its last words stand above")
        self.port = json.loads(first_line)["port"]

    def kill(self) -> None:
        """SIGKILL, as an out-of-memory killer would."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def restart(self) -> None:
        self.kill()
        self.start()

    def arm(self, *steps: dict[str, Any]) -> None:
        """Arm faults (see `tests.faults.renderer.faults`); they are forgotten at a restart."""
        self._control("POST", "steps", {"steps": list(steps)})

    def disarm(self) -> int:
        """Forget all faults; the number of those that were never used up."""
        return int(self._control("DELETE", "steps")["left"])

    def seen(self) -> dict[str, int]:
        """Requests since the start by route, e.g. `POST /jobs`, faulty ones included."""
        return dict(self._control("GET", "seen"))

    def bill(self) -> list[BillLine]:
        return read_bill(self.store)

    def _control(self, method: str, name: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - our own loopback server
            f"{self.url}/control/{name}", data, headers, method=method
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)
