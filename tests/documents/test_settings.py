"""Settings: none is needed; environment before file before default; nonsense is named with its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents.settings import FILE, read_settings
from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import BadSettings


def write(folder: Path, text: str) -> None:
    (folder / FILE).write_text(text, encoding="utf-8")


def test_nothing_needs_to_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read_settings({}, tmp_path)

    assert settings.home == tmp_path / ".reelwright"
    assert settings.database == f"sqlite:///{tmp_path}/.reelwright/reelwright.db"
    assert settings.objects == tmp_path / ".reelwright/objects"
    assert settings.spool == tmp_path / ".reelwright/spool"
    assert settings.index_url == "sql"
    assert settings.actor


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    write(tmp_path, "actor: ada\ndagster_port: 4000\nstore_url: file:///srv/objects\n")

    settings = read_settings({"REELWRIGHT_ACTOR": "grace", "REELWRIGHT_HOME": str(tmp_path / "h")}, tmp_path)

    assert settings.actor == "grace"
    assert settings.dagster_port == 4000
    assert settings.objects == Path("/srv/objects")
    assert settings.home == tmp_path / "h"


def test_an_empty_variable_is_no_setting(tmp_path: Path) -> None:
    write(tmp_path, "actor: ada\n")

    assert read_settings({"REELWRIGHT_ACTOR": ""}, tmp_path).actor == "ada"


def test_windows_are_on_this_machine_unless_people_reach_them_elsewhere(tmp_path: Path) -> None:
    here = read_settings({"REELWRIGHT_API_PORT": "4001"}, tmp_path)
    there = read_settings({"REELWRIGHT_API_URL": "https://ops.example.com/reelwright/"}, tmp_path)

    assert (here.dagster_window, here.api_window) == ("http://127.0.0.1:3000", "http://127.0.0.1:4001")
    assert there.api_window == "https://ops.example.com/reelwright"


def test_where_alerts_go_is_a_secret(tmp_path: Path) -> None:
    settings = read_settings({"REELWRIGHT_ALERTS": "https://hooks.example.com/s3cret"}, tmp_path)

    assert settings.alerts.get_secret_value() == "https://hooks.example.com/s3cret"
    assert "s3cret" not in repr(settings) + str(settings)


def test_a_password_is_used_and_never_shown(tmp_path: Path) -> None:
    url = "postgresql://reelwright:s3cret@db/reelwright"

    settings = read_settings({"REELWRIGHT_DATABASE_URL": url}, tmp_path)

    assert settings.database == url
    assert "s3cret" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("environment", "setting"),
    [
        ({"REELWRIGHT_DAGSTER_PORT": "many"}, "REELWRIGHT_DAGSTER_PORT"),
        ({"REELWRIGHT_DAGSTER_PORT": "0"}, "REELWRIGHT_DAGSTER_PORT"),
        ({"REELWRIGHT_ACTOR": "a b"}, "REELWRIGHT_ACTOR"),
        ({"REELWRIGHT_API_PORT": "65536"}, "REELWRIGHT_API_PORT"),
        ({"REELWRIGHT_API_URL": "ops.example.com"}, "REELWRIGHT_API_URL"),
        ({"REELWRIGHT_DAGSTER_URL": "https://ops.example.com/?token=1"}, "REELWRIGHT_DAGSTER_URL"),
        ({"REELWRIGHT_ALERT_REPEAT_HOURS": "0"}, "REELWRIGHT_ALERT_REPEAT_HOURS"),
        ({"REELWRIGHT_SETTINGS": "/nowhere/at/all.yaml"}, "REELWRIGHT_SETTINGS"),
    ],
)
def test_nonsense_in_the_environment_is_named_with_a_remedy(
    environment: dict[str, str], setting: str, tmp_path: Path
) -> None:
    with pytest.raises(BadSettings) as caught:
        read_settings(environment, tmp_path)

    assert caught.value.setting == setting
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["databse_url: x\n", "dagster_port: many\n", "- a\n", "actor: [\n"])
def test_nonsense_in_the_file_is_named_with_its_file(text: str, tmp_path: Path) -> None:
    write(tmp_path, text)

    with pytest.raises(BadSettings) as caught:
        read_settings({}, tmp_path)
    assert str(tmp_path / FILE) in caught.value.setting
    assert caught.value.remedy


def test_an_object_store_that_is_no_folder_is_named(tmp_path: Path) -> None:
    settings = read_settings({"REELWRIGHT_STORE_URL": "ftp://there"}, tmp_path)

    with pytest.raises(BadSettings) as caught:
        _ = settings.objects
    assert caught.value.setting == "store_url"


def test_a_bucket_leaves_the_folder_below_home_or_where_it_is_named(tmp_path: Path) -> None:
    alone = read_settings({"REELWRIGHT_STORE_URL": "s3://videos/ours"}, tmp_path)
    beside = read_settings(
        {"REELWRIGHT_STORE_URL": "s3://videos", "REELWRIGHT_INTAKE_FOLDER": "/srv/drop"}, tmp_path
    )

    assert alone.bucket == Bucket("videos", "ours")
    assert alone.objects == alone.home / "objects"
    assert alone.intake == "s3://videos/ours/intake"
    assert beside.objects == Path("/srv/drop")
    assert beside.intake == "/srv/drop/intake"
    assert read_settings({}, tmp_path).bucket is None


def test_a_bucket_that_cannot_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        _ = read_settings({"REELWRIGHT_STORE_URL": "s3://key:secret@videos"}, tmp_path).bucket
    assert caught.value.setting == "store_url"
