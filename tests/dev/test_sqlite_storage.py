"""Dagster's SQLite files are opened once a process, and are the same that Dagster itself writes."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from pipeline.cli.processes import project_file
from resources import dagster_sqlite
from resources.dagster_sqlite import KeptEvents, KeptRuns, KeptSchedules
from tests.dagster_home import instance_of

SHIPPED, DAGSTERS_OWN = "shipped", "telemetry: {enabled: false}"


@dg.op
def nothing() -> None: ...


@dg.job
def some_lot() -> None:
    nothing()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return configured(tmp_path, SHIPPED)


@pytest.fixture
def migrations_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows whenever a chain of migrations is read."""
    read: list[str] = []
    original = ScriptDirectory.from_config.__func__  # type: ignore[attr-defined]

    def counted(cls: type[ScriptDirectory], config: object) -> ScriptDirectory:
        read.append(str(config))
        return original(cls, config)  # type: ignore[no-any-return]

    monkeypatch.setattr(ScriptDirectory, "from_config", classmethod(counted))
    return read


def configured(folder: Path, how: str) -> Path:
    text = project_file("dagster.yaml").read_text() if how == SHIPPED else how
    (folder / "dagster.yaml").write_text(text)
    return folder


def look_at_everything(instance: dg.DagsterInstance) -> None:
    """What a tick asks: runs, states of sensors, events that span runs."""
    instance.get_runs()
    instance.all_instigator_state()
    instance.get_latest_materialization_event(dg.AssetKey("renditions"))


def test_the_shipped_configuration_names_it(home: Path) -> None:
    with instance_of(home) as instance:
        assert isinstance(instance.run_storage, KeptRuns)
        assert isinstance(instance.event_log_storage, KeptEvents)
        assert isinstance(instance.schedule_storage, KeptSchedules)


def test_a_second_opening_reads_no_migrations(home: Path, migrations_read: list[str]) -> None:
    with instance_of(home) as instance:
        look_at_everything(instance)
    first = len(migrations_read)
    with instance_of(home) as instance:
        look_at_everything(instance)

    assert first >= 3
    assert len(migrations_read) == first


def test_engines_are_made_once_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with instance_of(home) as instance:
        look_at_everything(instance)
        made = dagster_sqlite._engine.cache_info().misses
        monkeypatch.setattr(sa, "create_engine", None)  # any call would raise
        look_at_everything(instance)

    assert dagster_sqlite._engine.cache_info().misses == made


@pytest.mark.parametrize(("first", "second"), [(SHIPPED, DAGSTERS_OWN), (DAGSTERS_OWN, SHIPPED)])
def test_the_files_are_dagsters_own(tmp_path: Path, first: str, second: str) -> None:
    with instance_of(configured(tmp_path, first)) as instance:
        run = instance.create_run_for_job(some_lot)
        instance.report_engine_event("began", run)
        instance.report_runless_asset_event(dg.AssetMaterialization("renditions"))
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.db")}
    with instance_of(configured(tmp_path, second)) as instance:
        assert [one.run_id for one in instance.get_runs()] == [run.run_id]
        assert [one.message for one in instance.all_logs(run.run_id)] == ["began"]
        assert instance.get_latest_materialization_event(dg.AssetKey("renditions")) is not None

    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*.db")} == files


def test_a_file_that_was_taken_away_is_made_anew(home: Path) -> None:
    with instance_of(home) as instance:
        instance.create_run_for_job(some_lot)
    for path in home.rglob("*.db*"):
        path.unlink()
    with instance_of(home) as instance:
        look_at_everything(instance)

        assert instance.get_runs() == []
