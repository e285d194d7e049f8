"""The few workers that take queued jobs and have a child process render each.

Belongs here: starting, watching, stopping children, and what a job becomes by it. Does not belong here:
pixels (render), HTTP (server).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.domain.errors import ReelwrightError
from resources.local_renderer.inspection import SourceUnusable, require_as_wanted, upright_stills
from resources.local_renderer.job_store import JobStore
from resources.local_renderer.jobs import Job
from resources.local_renderer.store_folder import Kept, StoreFolder
from resources.local_renderer.wanted import as_json
from resources.media import Sandbox

_CHILD = "resources.local_renderer.render"
_STORE_PAUSE_SECONDS = 1.0
_WALL_PER_CPU = 4  #: rendering yields to everything else on a busy machine

_End = Callable[[str, int], bool]  #: writes how a job ended: (job id, now)


@dataclass(slots=True)
class _Running:
    """A job in work, known to this process alone."""

    progress: float = 0.0
    process: asyncio.subprocess.Process | None = None
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How rendering went: an output in its place, or a code with a message."""

    kept: Kept | None = None
    error: tuple[str, str] = ("", "")


class ChildFailed(ReelwrightError):
    """The rendering child gave no output; the text says what it said, or how it ended."""


@dataclass(slots=True)
class Workers:
    store: JobStore
    folder: StoreFolder
    count: int
    sandbox: Sandbox
    clock: Callable[[], int]  #: UTC microseconds
    disk_pause_seconds: float = 5.0  #: how long a job waits before it is tried again on a full disk
    _running: dict[str, _Running] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(), name=f"renderer-{n}") for n in range(self.count)]

    async def stop(self) -> None:
        """Kill the children and put their jobs back into the queue."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        """Something was queued."""
        self._wake.set()

    def progress(self, job_id: str) -> float:
        running = self._running.get(job_id)
        return running.progress if running else 0.0

    def cancel(self, job_id: str) -> None:
        running = self._running.get(job_id)
        if running is not None:
            running.is_cancelled = True
            _kill(running.process)

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            try:
                job = self.store.start_next(self.clock())
            except sqlite3.OperationalError:
                await asyncio.sleep(_STORE_PAUSE_SECONDS)
                continue
            if job is None:
                await self._wake.wait()
            else:
                self._wake.set()  # more may wait for the workers that sleep
                await self._make(job)

    async def _make(self, job: Job) -> None:
        running = self._running[job.id] = _Running()
        work = self.folder.work / f"{job.id}-{os.getpid()}"
        try:
            end = await self._end_of(job, running, work)
        except asyncio.CancelledError:
            end = self.store.cancelled if running.is_cancelled else self.store.queue_again
            end(job.id, self.clock())
            raise
        finally:
            self._running.pop(job.id, None)
            shutil.rmtree(work, ignore_errors=True)
        await self._record(end, job.id)

    async def _watch(self, job: Job, running: _Running, stills: Sequence[Path], work: Path) -> Path:
        """Have a child render it; gives its output. Raises `ChildFailed`."""
        cpu_seconds = cpu_limit_seconds(job)
        wall_seconds = cpu_seconds * _WALL_PER_CPU
        process = running.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "VIPS_CONCURRENCY": "1"},
        )
        try:
            if running.is_cancelled:
                raise ChildFailed("cancelled before it began")
            _send(process, _order(job, stills, work, cpu_seconds))
            return await asyncio.wait_for(_listen(process, running), wall_seconds)
        except TimeoutError as error:
            raise ChildFailed(f"took longer than {wall_seconds} seconds") from error
        finally:
            _kill(process)
            await process.wait()

    async def _end_of(self, job: Job, running: _Running, work: Path) -> _End:
        """Render it, and say how the record must end.

        A cancellation that came after the output was made is too late, and the job says so by success.
        """
        verdict = await self._verdict(job, running, work)
        if verdict.kept is not None:
            return functools.partial(self.store.succeed, kept=verdict.kept)
        code, message = verdict.error
        if code == "render_failed" and not running.is_cancelled and self.folder.is_short_of_disk():
            print(f"reelwright-renderer: the disk is full; job {job.id} waits: {message}", file=sys.stderr)
            await asyncio.sleep(self.disk_pause_seconds)
            return self.store.cancelled if running.is_cancelled else self.store.queue_again
        if running.is_cancelled:
            return self.store.cancelled
        return functools.partial(self.store.fail, code=code, message=message)

    async def _verdict(self, job: Job, running: _Running, work: Path) -> _Verdict:
        assets = [self.folder.asset(sha256) for sha256 in job.wanted.images]
        try:
            work.mkdir(parents=True)
            stills = await asyncio.to_thread(upright_stills, self.sandbox, assets, work)
            output = await self._watch(job, running, stills, work)
            await asyncio.to_thread(require_as_wanted, self.sandbox, job.wanted, output)
            return _Verdict(kept=await asyncio.to_thread(self.folder.keep_output, output, job.id))
        except SourceUnusable as error:
            return _Verdict(error=("invalid_input", str(error)[:500]))
        except (OSError, ReelwrightError) as error:
            return _Verdict(error=("render_failed", str(error)[:500]))

    async def _record(self, end: _End, job_id: str) -> None:
        """The work is done; a full disk only delays the record of it."""
        while True:
            try:
                end(job_id, self.clock())
                return
            except sqlite3.OperationalError:
                await asyncio.sleep(_STORE_PAUSE_SECONDS)


def cpu_limit_seconds(job: Job) -> int:
    """Half a minute and a quarter of a second a megapixel frame: more than ten times what it takes."""
    megapixels = job.wanted.width * job.wanted.height / 1e6
    return 30 + round(job.wanted.frame_count * max(megapixels, 0.25) / 4)


def _order(job: Job, stills: Sequence[Path], work: Path, cpu_seconds: int) -> bytes:
    images = [str(path) for path in stills]
    order = {"wanted": as_json(job.wanted), "images": images, "folder": str(work), "cpu_seconds": cpu_seconds}
    return json.dumps(order).encode() + b"\n"


def _send(process: asyncio.subprocess.Process, order: bytes) -> None:
    if process.stdin is None:
        raise AssertionError("standard input was asked for")
    process.stdin.write(order)  # left open: it is the child's life line


async def _listen(process: asyncio.subprocess.Process, running: _Running) -> Path:
    if process.stdout is None:
        raise AssertionError("standard output was asked for")
    async for line in process.stdout:
        said = json.loads(line)
        running.progress = said.get("progress", running.progress)
        if "done" in said:
            return Path(said["done"])
        if "error" in said:
            raise ChildFailed(said["error"])
    raise ChildFailed(f"the rendering process died without a word (exit code {await process.wait()})")


def _kill(process: asyncio.subprocess.Process | None) -> None:
    """The child leads its own group, so FFmpeg goes with it."""
    if process is not None and process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
