"""Lots on two Celery workers with a real broker; a worker that dies is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.launcher.base import WorkerStatus

from resources.dagster_celery import WatchedCeleryRunLauncher
from tests.dagster_home import instance_of
from tests.services.deploy.composed import BIN, ROOT
from tests.services.deploy.installation import Installation, free_port, installation
from tests.services.deploy.null_renderer import NAME, billing
from tests.services.deploy.redis import running_redis
from tests.services.deploy.runs import MODULE, code_server, kill, launched, process, wait_until

WORKERS = ("one", "two")
LOCALES, RATIOS = ("de-DE", "en-GB", "fr-FR"), ("16:9", "9:16")
PATH = f"{ROOT / 'deploy/celery'}:{ROOT}"


def worker(name: str) -> Sequence[str]:
    """As deploy/celery/run_launcher.yaml says."""
    argv = [str(BIN / "celery"), "-A", "dagster_celery.app", "worker", "--concurrency", "2"]
    return [*argv, "-n", f"{name}@%h", "--loglevel", "INFO"]


def broker(url: str) -> Mapping[str, str]:
    return {"DAGSTER_CELERY_BROKER": f"{url}/0", "DAGSTER_CELERY_BACKEND": f"{url}/1", "PYTHONPATH": PATH}


def on_celery(home: Path, configuration: Path) -> None:
    """The configuration with the launcher's block in place of its own."""
    read = [
        yaml.safe_load(path.read_text()) for path in (configuration, ROOT / "deploy/celery/run_launcher.yaml")
    ]
    (home / "dagster.yaml").write_text(yaml.safe_dump(read[0] | read[1]))


def done_by(house: Installation) -> Counter[str]:
    """Runs that each worker has ended."""
    return Counter({name: house.log(name).read_text().count("Task execute_job[") // 2 for name in WORKERS})


def test_lots_run_on_two_workers(tmp_path: Path) -> None:
    with (
        running_redis() as url,
        billing(tmp_path) as (renderer, providers),
        installation(tmp_path, REELWRIGHT_PROVIDERS=str(providers), **broker(url)) as house,
    ):
        on_celery(house.dagster_home, ROOT / "deploy/dagster.postgres.yaml")
        house.drop("spring", NAME, LOCALES, RATIOS)
        for name in WORKERS:
            house.start(name, worker(name))
        house.start("code-server")
        house.until_serving("127.0.0.1", house.moved.places["code-server:4266"])
        house.start("daemon")
        house.until_published("spring", len(LOCALES) * len(RATIOS))
        busier = done_by(house).most_common(1)[0][0]
        house.stop(busier)
        house.drop("summer", NAME, LOCALES, RATIOS)
        house.until_published("summer", len(LOCALES) * len(RATIOS))
        with house.instance() as instance:
            house.until(lambda: all(run.is_finished for run in instance.get_runs()), 60)
            statuses = {run.status for run in instance.get_runs()}

        assert min(done_by(house).values()) > 0
        assert statuses == {dg.DagsterRunStatus.SUCCESS}
        assert len(renderer.bill()) == 2 * len(LOCALES) * len(RATIOS)


def test_a_run_whose_worker_died_is_noticed_and_a_living_one_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    on_celery(tmp_path, ROOT / "dagster.yaml")
    with running_redis() as url:
        own = {**broker(url), "DAGSTER_HOME": str(tmp_path), "WAITS_FOR": str(tmp_path / "never")}
        port = free_port()
        for name in ("DAGSTER_CELERY_BROKER", "DAGSTER_CELERY_BACKEND"):
            monkeypatch.setenv(name, own[name])
        with (
            instance_of(tmp_path) as instance,
            code_server("127.0.0.1", port, own, log),
            process([*worker("one"), "-I", MODULE], own, log) as dying,
        ):
            launcher = instance.run_launcher
            assert isinstance(launcher, WatchedCeleryRunLauncher)
            wait_until(lambda: bool(launcher.celery.control.ping(timeout=1)), log)
            run = launched(instance, "127.0.0.1", port, log)
            living = launcher.check_run_worker_health(run).status
            kill(dying)
            dead = launcher.check_run_worker_health(run).status

    assert (living, dead) == (WorkerStatus.RUNNING, WorkerStatus.FAILED)
