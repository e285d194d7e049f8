"""Children by the dozen: a warm process that has everything imported, nothing opened, and forks workers.

Belongs here: the process, its few words, and a handle on it for tests. Does not belong here: what a child
does (`worker`). A new interpreter costs a second of imports; a fork of this one some ten milliseconds.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child left: by a signal, with a status, or not yet (it was stopped)."""

    status: int

    @property
    def was_killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def is_stopped(self) -> bool:
        return os.WIFSTOPPED(self.status)

    @property
    def is_well(self) -> bool:
        return os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0


class Nursery:
    """The warm process as tests hold it."""

    def __init__(self, errors: Path) -> None:
        self.errors = errors

    def __enter__(self) -> Self:
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.nursery"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
        assert self._answer() == "ready", self.errors.read_text()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def fork(self, order: str) -> int:
        """Start a child on *order* (`worker.Order.dump`); its process id."""
        return int(self._ask({"fork": json.loads(order)}))

    def wait(self, child: int) -> Ended:
        """Wait until *child* ended or stopped itself."""
        return Ended(int(self._ask({"wait": child})))

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the nursery died: {self.errors.read_text()}"
        return json.loads(line)


def main() -> None:
    """Serve until the owner closes our input; children that are left then die with us."""
    from resources.media import Sandbox
    from tests.faults.worker import Order, work

    children: set[int] = set()
    with Sandbox() as sandbox:
        sandbox.wall_level()
        gc.collect()
        gc.freeze()
        _say("ready")
        for line in sys.stdin:
            question = json.loads(line)
            if "wait" in question:
                _, status = os.waitpid(question["wait"], os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    children.discard(question["wait"])
                _say(status)
                continue
            child = os.fork()
            if child == 0:
                _live(Order(**question["fork"]), sandbox, work)
            children.add(child)
            _say(child)
        for child in children:
            os.kill(child, signal.SIGKILL)


def _live(order: Any, sandbox: Any, work: Any) -> None:
    """A child: nothing of its parent's conversation is its own."""
    status = 4
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        status = work(order, sandbox)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
