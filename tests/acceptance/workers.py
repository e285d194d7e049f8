"""Workers that run the real steps and stop before every durable step until they are let on, or killed.

Belongs here: gates around the adapters of one worker, and its thread. Does not belong here: what a worker
does, or in which order workers are let on (`test_lifecycle_machine`).

One thread of all runs at a time, so that a sequence of rules is the same sequence of durable steps again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.domain.errors import ReelwrightError
from resources.adapters import Adapters
from resources.database.database import Database
from resources.object_store.protocol import Put
from resources.tag_index.protocol import Change, WriteResult

SECONDS = 30


class Killed(BaseException):
    """The worker ends here, as by SIGKILL: nothing of it runs on but the unwinding."""


class Gate:
    """Where a worker waits before each durable step."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waits: str | None = None
        self._may_go = self._is_dead = self._is_done = False

    @property
    def is_done(self) -> bool:
        return self._is_done

    def stop(self, step: str) -> None:
        """Called by the worker; raises Killed instead of going on."""
        if threading.current_thread().name == "leases":
            return  # the keeper has a time of its own, far longer than any example
        with self._changed:
            self._waits = step
            self._changed.notify_all()
            self._wait(lambda: self._may_go or self._is_dead)
            self._may_go, self._waits = False, None
            if self._is_dead:
                raise Killed

    def let_on(self) -> None:
        """One durable step; returns when the worker waits again or has ended."""
        with self._changed:
            self._may_go = not self._is_done
            self._changed.notify_all()
            self._wait(lambda: self._is_done or (self._waits is not None and not self._may_go))

    def kill(self) -> None:
        with self._changed:
            self._is_dead = True
            self._changed.notify_all()
            self._wait(lambda: self._is_done)

    def wait_first(self) -> None:
        with self._changed:
            self._wait(lambda: self._is_done or self._waits is not None)

    def done(self) -> None:
        with self._changed:
            self._is_done = True
            self._changed.notify_all()

    def _wait(self, condition: Callable[[], bool]) -> None:
        if not self._changed.wait_for(condition, SECONDS):
            raise TimeoutError("a worker neither waits nor ends")


class GatedDatabase(Database):
    """Every transaction is a durable step."""

    def __init__(self, plain: Database, gate: Gate) -> None:
        super().__init__(plain.engine, plain.clock)
        self._gate = gate

    def run(self, work: Any) -> Any:
        self._gate.stop("commit")
        return super().run(work)


@dataclass(frozen=True)
class GatedStore:
    plain: Any
    gate: Gate

    def put_if_absent(self, key: str, path: Path, **said: Any) -> Put:
        self.gate.stop("put")
        put: Put = self.plain.put_if_absent(key, path, **said)
        return put

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@dataclass(frozen=True)
class GatedIndex:
    plain: Any
    gate: Gate

    def put(self, changes: Sequence[Change]) -> tuple[WriteResult, ...]:
        self.gate.stop("index")
        return tuple(self.plain.put(changes))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@dataclass(frozen=True)
class GatedProvider:
    plain: Any
    gate: Gate

    async def submit(self, client: Any, job: Any) -> Any:
        self.gate.stop("send")
        return await self.plain.submit(client, job)

    async def look_up(self, client: Any, handles: Sequence[str]) -> Any:
        self.gate.stop("look")
        return await self.plain.look_up(client, handles)

    async def find(self, client: Any, references: Sequence[str], *, since: datetime) -> Any:
        self.gate.stop("find")
        return await self.plain.find(client, references, since=since)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@dataclass
class Worker:
    """One process of Reelwright: adapters of its own behind one gate, and a thread."""

    adapters: Adapters
    work: Callable[[Adapters], Any]
    name: str
    gate: Gate = field(default_factory=Gate)
    trouble: BaseException | None = None

    def __post_init__(self) -> None:
        gated = replace(
            self.adapters,
            database=GatedDatabase(self.adapters.database, self.gate),
            store=GatedStore(self.adapters.store, self.gate),  # type: ignore[arg-type]
            index=GatedIndex(self.adapters.index, self.gate),
            providers={
                name: GatedProvider(one, self.gate) for name, one in self.adapters.providers.items()
            },
        )  # fmt: skip
        self.thread = threading.Thread(target=self._run, args=(gated,), name=self.name, daemon=True)
        self.thread.start()
        self.gate.wait_first()

    def _run(self, gated: Adapters) -> None:
        try:
            self.work(gated)
        except (Killed, ReelwrightError):
            pass  # the work is due again by itself
        except BaseException as error:
            self.trouble = error
        finally:
            self.gate.done()

    @property
    def is_done(self) -> bool:
        return self.gate.is_done

    def let_on(self, steps: int = 1) -> None:
        """*steps* durable steps, fewer when it ends before; raises what no step may raise."""
        for _ in range(steps):
            if self.is_done:
                break
            self.gate.let_on()
        self._raise()

    def finish(self) -> None:
        self.let_on(10_000)

    def kill(self) -> None:
        self.gate.kill()
        self.thread.join(SECONDS)
        self._raise()

    def _raise(self) -> None:
        if self.trouble is not None:
            raise self.trouble
