"""A run of Dagster's that cannot open what it stands on: one clear line with its remedy, and no secret."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipeline.definitions import defs
from resources.dagster_resources import SensorAdapters

PASSWORD = "s3cret-of-the-run"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"postgresql://app:{PASSWORD}@127.0.0.1:{free.getsockname()[1]}/app"
    monkeypatch.setenv("REELWRIGHT_DATABASE_URL", url)
    monkeypatch.setenv("REELWRIGHT_HOME", str(tmp_path / "home"))


def _is_plain(error: Any) -> None:
    said = error.message.strip()
    assert "DatabaseUnavailable: database: it does not answer" in said
    assert "start the server" in said
    assert len(said.splitlines()) == 1
    assert error.cause is None
    assert PASSWORD not in str(error)


@pytest.mark.usefixtures("nowhere")
def test_a_run_says_it_in_one_line() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def("submit_lot")
        done = job.execute_in_process(instance=instance, raise_on_error=False)
    [failed] = [one for one in done.all_events if one.event_type_value == "RESOURCE_INIT_FAILURE"]

    assert not done.success
    _is_plain(failed.engine_event_data.error)


@pytest.mark.usefixtures("nowhere")
def test_a_tick_says_it_in_one_line() -> None:
    with pytest.raises(dg.DagsterError) as failed, dg.build_resources({"adapters": SensorAdapters()}):
        pass

    cause = failed.value.__cause__
    assert "it does not answer" in str(cause)
    assert "start the server" in str(cause)
    assert cause is not None
    assert cause.__cause__ is None
