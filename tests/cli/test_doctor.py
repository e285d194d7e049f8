"""Doctor finds what is wrong, each check by itself, and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.cli import machine
from resources.database.database import Database
from resources.local_renderer import fonts
from tests.cli.desk import Desk
from tests.conftest import Clock


def _checks(desk: Desk) -> dict[str, dict[str, str]]:
    done = desk.run("doctor", "--json")
    return {one["name"]: one for one in json.loads(done.stdout)["checks"]}


def test_all_is_well_where_all_is_well(working: Desk) -> None:
    checks = _checks(working)

    assert {name: one["level"] for name, one in checks.items() if one["level"] == "fail"} == {}
    assert checks["renderer"]["level"] == "ok"
    assert checks["database"]["detail"].startswith(working.database_url.partition("+")[0].partition(":")[0])
    assert working.run("doctor").exit_code == 0


def test_what_it_wrote_it_took_away_again(desk: Desk) -> None:
    desk.run("doctor")
    left = [path for path in (desk.folder / "home").rglob("*") if path.is_file()]

    assert left == []


def test_a_missing_database_fails_and_is_not_made(desk: Desk) -> None:
    desk.database_url = f"sqlite:///{desk.folder}/other.db"
    done = desk.run("doctor")

    assert done.exit_code == 1
    assert "reelwright migrate" in done.stdout
    assert not (desk.folder / "other.db").exists()


def test_an_old_revision_fails_with_its_remedy(both: Desk) -> None:
    engine = sa.create_engine(both.database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    engine.dispose()
    database = _checks(both)["database"]

    assert database["level"] == "fail"
    assert "reelwright migrate" in database["remedy"]


def test_a_store_that_cannot_be_written_fails_and_hides_no_other_check(desk: Desk) -> None:
    (desk.folder / "home").mkdir()
    (desk.folder / "home" / "objects").write_text("a file stands where the folder should be")
    checks = _checks(desk)

    assert checks["object store"]["level"] == "fail"
    assert checks["object store"]["remedy"]
    assert checks["tag index"]["level"] == "ok"


def test_a_secret_that_is_not_set_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Path("pipeline/documents/defaults/provider_list.yaml")
    text = (Path(__file__).parents[2] / shipped).read_text().replace("# secret_env: SOME", "secret_env: SOME")
    (desk.folder / "providers.yaml").write_text(text)
    monkeypatch.setenv("REELWRIGHT_PROVIDERS", str(desk.folder / "providers.yaml"))
    monkeypatch.delenv("SOME_API_KEY", raising=False)
    checks = _checks(desk)

    assert checks["providers"]["level"] == "fail"
    assert "SOME_API_KEY" in checks["providers"]["remedy"]


def test_somebody_else_at_the_renderers_port_fails(desk: Desk, null_renderer: str) -> None:
    desk.renderer_url = f"{null_renderer}/elsewhere"
    found = _checks(desk)["renderer"]

    assert found["level"] == "fail"
    assert "404" in found["detail"]


def test_a_clock_that_is_an_hour_off_fails(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database.__init__, "__defaults__", (Clock(),))

    assert _checks(desk)["clock"]["level"] == "fail"


def test_doctor_looks_for_the_fonts_that_the_renderer_draws_with() -> None:
    assert machine.FONTS == fonts._PACKAGES
