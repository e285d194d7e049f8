"""The real thing: `reelwright dev`, a dropped brief, its publication, and a clean end; then `demo` again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import psutil
import pytest
import yaml

from pipeline.domain.lifecycle import Word
from pipeline.steps.answer.standing import Part
from pipeline.steps.answer.status import Wanted, status
from pipeline.steps.operate.mark_partitions import is_green
from resources.database.database import Database
from tests.dagster_home import instance_of
from tests.steps.author import CAMPAIGN, brief, picture

REELWRIGHT = str(Path(sys.executable).with_name("reelwright"))
SMALL = {
    "copy": {"en-GB": "Your parcel, on time."},
    "variants": {"locales": ["en-GB"], "aspect_ratios": ["1:1"], "duration_seconds": [1]},
    "generation": {"provider": "local", "model": "kenburns-1", "settings": {"fps": 12, "short_side": 240}},
}


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.5)


def drop(home: Path) -> None:
    folder = home / "objects" / "intake" / "northwind" / "spring"
    picture(folder / "depot.jpg", "navy", (320, 240))
    picture(folder / "van.png", "maroon", (320, 240))
    (folder / "brief.yaml").write_text(yaml.safe_dump(brief(**SMALL), allow_unicode=True))


def green_partitions(home: Path) -> dict[str, set[str]]:
    with instance_of(home / "dagster") as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
        return {part: instance.get_materialized_partitions(dg.AssetKey(part)) for part in Part}


@pytest.mark.timeout(280)
def test_a_dropped_brief_is_published_and_everything_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("REELWRIGHT_HOME", str(home))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    command = [REELWRIGHT, "dev", "--port", "0", "--renderer-port", "0", "--api-port", "0"]
    dev = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert dev.stdout is not None
    try:
        for line in dev.stdout:
            if "Reelwright runs" in line:
                break
        second = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        drop(home)
        database = Database.at(f"sqlite:///{home}/reelwright.db")
        wanted = Wanted(campaign=CAMPAIGN)
        wait_until(lambda: [wish.word for wish in status(database, wanted)] == [Word.READY], 150)
        wait_until(lambda: is_green(database, CAMPAIGN), 60)
        family = psutil.Process(dev.pid).children(recursive=True)
        dev.send_signal(signal.SIGINT)
        rest = dev.communicate(timeout=60)[0]
        database.close()
    finally:
        dev.kill()
        dev.wait()
    _, alive = psutil.wait_procs(family, timeout=10)

    assert second.returncode == 1
    assert "it runs already" in second.stderr
    assert dev.returncode == 0
    assert rest.endswith("stopped\n")
    assert alive == []
    assert len(family) >= 6
    assert green_partitions(home) == {part: {CAMPAIGN} for part in Part}

    again = subprocess.run([REELWRIGHT, "demo"], capture_output=True, text=True, cwd=tmp_path, check=False)

    assert again.returncode == 0, again.stderr
    assert (
        "nothing was made or paid for twice: an earlier run completed this campaign with 1 starts"
        in again.stdout
    )
    assert "/1.mp4" in again.stdout
    assert os.path.relpath(home, tmp_path) in again.stdout
