"""What is prepared and refused before anything starts, and how a program that ends is named."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipeline.cli import health
from pipeline.cli.dev import warn_of_disk
from pipeline.cli.processes import (
    dagster_home,
    environment_of,
    free_port,
    only_one,
    project_file,
)
from pipeline.cli.programs import start, stop, wait_for_answer
from pipeline.documents.settings import Settings, read_settings
from pipeline.domain.errors import BadSettings, NotAllowed


def test_a_second_one_in_the_same_home_is_refused_with_the_first_ones_number(tmp_path: Path) -> None:
    with (
        only_one(tmp_path),
        pytest.raises(NotAllowed, match=rf"runs already.*process {os.getpid()}"),
        only_one(tmp_path),
    ):
        pass


def test_after_its_end_the_next_one_may_start(tmp_path: Path) -> None:
    for _ in range(2):
        with only_one(tmp_path):
            assert (tmp_path / "dev.lock").read_text() == str(os.getpid())


def test_a_port_in_use_is_named_with_the_option_and_the_setting_that_change_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        remedies = {}
        for option in ("--port", "--api-port", "--renderer-port"):
            with pytest.raises(BadSettings, match=f"port {port} is in use") as refusal:
                free_port(option, port)
            remedies[option] = refusal.value.remedy

    assert all(option in remedy for option, remedy in remedies.items())
    assert "REELWRIGHT_DAGSTER_PORT" in remedies["--port"]
    assert "REELWRIGHT_API_PORT" in remedies["--api-port"]


def test_port_zero_takes_a_free_one() -> None:
    assert free_port("--port", 0) > 0


def test_an_almost_full_disk_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_disk(Settings(home=tmp_path))
    roomy = capsys.readouterr().err
    monkeypatch.setattr(health, "LOW_BYTES", 2**80)
    warn_of_disk(Settings(home=tmp_path))

    assert roomy == ""
    assert capsys.readouterr().err.startswith("warn: ")


def test_dagsters_folder_gets_the_projects_configuration(tmp_path: Path) -> None:
    for _ in range(2):
        folder = dagster_home(tmp_path)

    assert (folder / "dagster.yaml").resolve() == project_file("dagster.yaml")


def test_a_configuration_of_the_users_own_stays(tmp_path: Path) -> None:
    (tmp_path / "dagster").mkdir()
    own = tmp_path / "dagster" / "dagster.yaml"
    own.write_text("telemetry: {enabled: false}")
    dagster_home(tmp_path)

    assert own.read_text() == "telemetry: {enabled: false}"
    assert not own.is_symlink()


def test_children_read_the_same_settings_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(
        home=Path("here"), database_url=SecretStr("sqlite:////x.db"), transforms=Path("my.yaml"), actor="anna"
    )
    environment = environment_of(settings, "http://127.0.0.1:9")
    monkeypatch.chdir("/")
    read = read_settings(environment)

    assert read.home == tmp_path / "here"
    assert read.database == "sqlite:////x.db"
    assert read.transforms == tmp_path / "my.yaml"
    assert (read.actor, read.renderer_url) == ("anna", "http://127.0.0.1:9")


def test_a_program_that_ends_at_once_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    broken = [sys.executable, "-c", "raise SystemExit('no such workspace')"]
    child = start("dagster", broken, dict(os.environ), tmp_path, tmp_path / "dagster.log")
    try:
        with pytest.raises(
            NotAllowed, match="dagster: ended by itself with exit status 1\n  no such workspace"
        ):
            wait_for_answer(child, free_port("--port", 0))
    finally:
        stop([child])


def test_the_log_of_the_start_before_is_kept(tmp_path: Path) -> None:
    for word in ("first", "second"):
        program = [sys.executable, "-c", f"print({word!r})"]
        child = start("renderer", program, dict(os.environ), tmp_path, tmp_path / "renderer.log")
        child.process.wait(30)
        stop([child])

    assert (tmp_path / "renderer.log").read_text() == "second\n"
    assert (tmp_path / "renderer.previous.log").read_text() == "first\n"
