"""A run beside a code server of another machine: noticed when it is gone, and left alone while it lives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.launcher.base import WorkerStatus

from resources.dagster_launcher import WatchedRunLauncher
from tests.dagster_home import instance_of
from tests.services.deploy.composed import ROOT
from tests.services.deploy.installation import free_port
from tests.services.deploy.runs import code_server, kill, launched

#: Another name of this machine: nothing tells the launcher that processes there are its neighbours.
ELSEWHERE = "127.0.0.2"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster.yaml").symlink_to(ROOT / "dagster.yaml")
    with instance_of(tmp_path) as opened:
        yield opened


def test_its_code_server_is_asked_and_a_new_one_knows_nothing_of_it(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    port, log = free_port(), tmp_path / "log"
    environment = {"DAGSTER_HOME": str(tmp_path), "WAITS_FOR": str(tmp_path / "never")}

    def health(run: dg.DagsterRun) -> WorkerStatus:
        assert isinstance(instance.run_launcher, WatchedRunLauncher)
        return instance.run_launcher.check_run_worker_health(run).status

    with code_server(ELSEWHERE, port, environment, log) as server:
        run = launched(instance, ELSEWHERE, port, log)
        living = health(run)
        kill(server)
        silent = health(run)
    with code_server(ELSEWHERE, port, environment, log):
        restarted = health(run)

    assert (living, silent) == (WorkerStatus.RUNNING, WorkerStatus.RUNNING)
    assert restarted is WorkerStatus.FAILED
