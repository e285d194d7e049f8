"""One code server of `waiting` beside a test, and runs of it.

Belongs here: processes, and launching without a daemon. Does not belong here: what is looked for (tests).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import psutil
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget

from tests.services.deploy.composed import ROOT
from tests.services.deploy.installation import end, serves
from tests.services.deploy.waiting import waiting
from tests.survivors import ends_with_us

MODULE = "tests.services.deploy.waiting"
SECONDS = 60.0


@contextmanager
def process(argv: list[str], environment: Mapping[str, str], log: Path) -> Iterator[psutil.Process]:
    """Killed at the end with all that it started."""
    with log.open("ab") as output:
        started = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, start_new_session=True,
        )  # fmt: skip
    ends_with_us(started.pid)
    known = psutil.Process(started.pid)
    try:
        yield known
    finally:
        kill(known)
        started.wait()


def kill(process: psutil.Process) -> None:
    """SIGKILL to it and all below it at once, as when its container ends."""
    try:
        end([process, *process.children(recursive=True)])
    except psutil.NoSuchProcess:
        return


@contextmanager
def code_server(host: str, port: int, environment: Mapping[str, str], log: Path) -> Iterator[psutil.Process]:
    argv = [sys.executable, "-m", "dagster", "api", "grpc", "-m", MODULE, "-h", host, "-p", str(port)]
    with process(argv, environment, log) as server:
        wait_until(lambda: serves(host, port), log)
        yield server


def wait_until(holds: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until, log.read_text()[-4000:]
        time.sleep(0.2)


def launched(instance: dg.DagsterInstance, host: str, port: int, log: Path) -> dg.DagsterRun:
    """A run of `waiting` that works."""
    target = GrpcServerTarget(host=host, port=port, socket=None, location_name="waiting")
    with WorkspaceProcessContext(instance, target) as context:
        workspace = context.create_request_context()
        job = workspace.get_code_location("waiting").get_repository("__repository__").get_full_job("waiting")
        run = instance.create_run_for_job(
            waiting, remote_job_origin=job.get_remote_origin(), job_code_origin=job.get_python_origin()
        )
        instance.launch_run(run.run_id, workspace)
    wait_until(lambda: stands(instance, run) is dg.DagsterRunStatus.STARTED, log)
    return again(instance, run)


def again(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRun:
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found


def stands(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRunStatus:
    return again(instance, run).status
