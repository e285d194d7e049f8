"""A test session that is killed leaves no server and no folder behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
SESSION = """
import json, time
from tests.postgres import running_postgres
from tests.services.opensearch.server import running_opensearch
from tests.services.versitygw import running_versitygw

with running_postgres() as postgres, running_versitygw() as s3, running_opensearch() as opensearch:
    s3.kill(); s3.start()
    roots = [str(one.root) for one in (postgres, s3, opensearch)]
    pids = [postgres.pid, s3._process.pid, opensearch._process.pid]
    print(json.dumps({"pids": pids, "roots": roots}), flush=True)
    ENDS
"""


def _started(ends: str) -> tuple[subprocess.Popen[str], list[int], list[Path]]:
    program = SESSION.replace("ENDS", ends)
    session = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert session.stdout is not None
    said = json.loads(session.stdout.readline())
    return session, said["pids"], [Path(root) for root in said["roots"]]


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "ended"])
def test_no_server_and_no_folder_outlives_the_session(is_killed: bool) -> None:
    session, pids, roots = _started("time.sleep(600)" if is_killed else "pass")
    assert session.stdout is not None
    if is_killed:
        assert all(map(psutil.pid_exists, pids)), "they were not running"
        assert all(root.is_dir() for root in roots)
        os.kill(session.pid, signal.SIGKILL)
    session.wait(60)
    session.stdout.close()

    until = time.monotonic() + 30
    while any(map(_runs, pids)) or any(root.exists() for root in roots):
        assert time.monotonic() < until, [pids, roots]
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    """A zombie whom nobody reaps has ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
