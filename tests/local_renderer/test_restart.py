"""Kills, restarts, second renderers: nothing taken is lost or made under another id (G3, L10)."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from resources.local_renderer.job_store import JobStore
from resources.local_renderer.store_folder import StoreFolder
from resources.local_renderer.upkeep import forget_assets
from resources.local_renderer.wanted import Wanted
from tests.local_renderer.renderer_process import PROGRAM, Renderer, frames, picture, wanted


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Renderer]:
    renderer = Renderer(tmp_path / "store", "--workers", "1")
    yield renderer
    if renderer.process.returncode is None:
        renderer.end()


def long_job(renderer: Renderer) -> dict[str, object]:
    image = renderer.upload(picture((120, 20, 120)))
    return wanted(image, width=320, height=180, settings={"fps": 30}, duration_seconds=10)


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_was_running_ends_well_after_a_restart_under_its_id_and_key(
    started: Renderer, number: signal.Signals
) -> None:
    body = long_job(started)
    job_id = started.submit(body, key="once").json["id"]
    started.wait(job_id, lambda job: job["progress"] > 0.1)
    family = psutil.Process(started.process.pid).children(recursive=True)
    code = started.end(number)
    left = eventually(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family))
    started.restart()
    again = started.submit(body, key="once")
    job = started.wait(job_id)

    assert code == (0 if number is signal.SIGTERM else -signal.SIGKILL)
    assert left, "a rendering child outlived its renderer"
    assert (again.status, again.json["id"]) == (200, job_id)
    assert job["status"] == "succeeded"
    assert len(frames(started.ask("GET", job["output"]["url"]).body)) == 300
    assert [path.name for path in (started.store / "outputs").iterdir()] == [f"{job_id}.mp4"]


def test_kills_at_any_moment_lose_no_job_and_make_none_twice(started: Renderer) -> None:
    image = started.upload(picture((20, 120, 20)))
    ids = {}
    for n, pause in enumerate([0.0, 0.05, 0.2, 0.45, 0.7]):
        ids[n] = started.submit(wanted(image, caption=str(n)), key=f"k{n}").json["id"]
        time.sleep(pause)
        started.end(signal.SIGKILL)
        started.restart()
    jobs = [started.wait(job_id) for job_id in ids.values()]

    assert {job["status"] for job in jobs} == {"succeeded"}
    assert {n: started.submit(wanted(image, caption=str(n)), key=f"k{n}").json["id"] for n in ids} == ids
    assert len(started.ask("GET", "/jobs").json["jobs"]) == 5


def test_urls_and_outputs_survive_a_restart_and_deleted_ones_stay_gone(started: Renderer) -> None:
    image = started.upload(picture((20, 20, 120)))
    kept, deleted = (started.render(wanted(image, caption=text)) for text in "ab")
    started.ask("DELETE", f"/jobs/{deleted['id']}/output")
    started.end(signal.SIGKILL)
    port = started.port
    started.restart()
    urls = [job["output"]["url"].replace(str(port), str(started.port)) for job in (kept, deleted)]

    assert [started.ask("GET", url).status for url in urls] == [200, 410]
    assert stat.S_IMODE((started.store / "secret").stat().st_mode) == 0o600


def test_what_a_killed_renderer_left_half_made_is_cleared(started: Renderer) -> None:
    started.end(signal.SIGKILL)
    for litter in ("outputs/unknown.mp4", "assets/.abc.part", "work/old-1/output.mp4"):
        (started.store / litter).parent.mkdir(exist_ok=True)
        (started.store / litter).write_bytes(b"half")
    started.restart()

    assert [list((started.store / name).iterdir()) for name in ("outputs", "assets", "work")] == [[], [], []]


def test_a_second_renderer_on_the_same_store_is_refused_by_name(started: Renderer) -> None:
    second = subprocess.run(
        [*PROGRAM, "--port", "0", "--store", str(started.store)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert second.returncode == 2
    assert f"in use by another renderer (process {started.process.pid})" in second.stderr
    assert "its own folder" in second.stderr
    assert started.ask("GET", "/health").status == 200


def test_a_port_that_is_taken_is_refused_by_name(started: Renderer, tmp_path: Path) -> None:
    second = subprocess.run(
        [*PROGRAM, "--port", str(started.port), "--store", str(tmp_path / "other")],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip

    assert second.returncode == 2
    assert f"cannot start on port {started.port}" in second.stderr


def test_with_parent_it_ends_when_its_parent_dies(tmp_path: Path) -> None:
    command = [*PROGRAM, "--port", "0", "--store", str(tmp_path), "--with-parent"]
    script = f"import subprocess; p = subprocess.Popen({command!r}); print(p.pid, flush=True); p.wait()"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    said = sorted(parent.stdout.readline() for _ in range(2))
    renderer = psutil.Process(int(said[0]))
    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert eventually(lambda: not renderer.is_running() or renderer.status() == psutil.STATUS_ZOMBIE)


def test_uploads_that_no_job_waits_for_are_forgotten_after_a_day(tmp_path: Path) -> None:
    folder = StoreFolder(tmp_path)
    folder.prepare()
    store = JobStore(folder.database, 10)
    store.take("k", Wanted("r", "kenburns-1", 25, 1.1, ("a" * 64,), "", "en", 160, 90, 1), 1)
    for name, age_seconds in (("a", 90_000), ("b", 90_000), ("c", 3_600)):
        folder.asset(name * 64).write_bytes(b"x")
        os.utime(folder.asset(name * 64), (1e9 - age_seconds, 1e9 - age_seconds))

    assert forget_assets(store, folder, int(1e15)) == 1
    assert sorted(path.name[0] for path in folder.assets()) == ["a", "c"]
    store.close()
