"""Two machines on one SQLite file: the second is refused by name, the first comes back after a restart."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.errors import BadSettings
from resources.database.engine import open_engine
from resources.database.host import Host, claim, this_host

OURS = Host("render-1", "a" * 32, "boot-1")
THEIRS = Host("render-2", "b" * 32, "boot-9")


def test_opening_a_database_says_which_machine_has_it(tmp_path: Path) -> None:
    open_engine(f"sqlite:///{tmp_path}/reelwright.db").dispose()

    assert json.loads((tmp_path / "reelwright.db.host").read_text())["name"] == this_host().name
    assert [one.name for one in tmp_path.iterdir()] == ["reelwright.db.host"]


def test_another_machine_is_refused_by_name_with_what_to_do(tmp_path: Path) -> None:
    database = tmp_path / "reelwright.db"
    claim(database, THEIRS)

    with pytest.raises(BadSettings, match="'render-2'") as refused:
        open_engine(f"sqlite:///{database}")
    assert refused.value.setting == "database_url"
    assert f"delete {database}.host" in refused.value.remedy
    assert "PostgreSQL" in refused.value.remedy


@pytest.mark.parametrize(
    "again", [OURS, replace(OURS, boot="boot-2"), replace(OURS, name="container-7", machine="")]
)
def test_the_same_machine_comes_back_after_a_restart_and_in_its_containers(
    tmp_path: Path, again: Host
) -> None:
    claim(tmp_path / "reelwright.db", OURS)
    claim(tmp_path / "reelwright.db", again)

    assert Host(**json.loads((tmp_path / "reelwright.db.host").read_text())) == again


@pytest.mark.parametrize(
    "other", [replace(THEIRS, machine=OURS.machine), replace(THEIRS, name=OURS.name), Host("other", "", "")]
)
def test_a_machine_of_the_same_image_or_of_the_same_name_is_another_one(tmp_path: Path, other: Host) -> None:
    claim(tmp_path / "reelwright.db", OURS)

    with pytest.raises(BadSettings, match="render-1"):
        claim(tmp_path / "reelwright.db", other)


def test_of_two_that_come_at_once_one_has_it(tmp_path: Path) -> None:
    def tries(host: Host) -> bool:
        try:
            claim(tmp_path / "reelwright.db", host)
        except BadSettings:
            return False
        return True

    with ThreadPoolExecutor(8) as all_at_once:
        hosts = [Host(f"render-{n}", "", f"boot-{n}") for n in range(8)]
        taken = list(all_at_once.map(tries, hosts))

    assert sum(taken) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["reelwright.db.host"]


def test_a_claim_that_cannot_be_read_is_nobodys_to_guess(tmp_path: Path) -> None:
    (tmp_path / "reelwright.db.host").write_text("half")

    with pytest.raises(BadSettings, match="does not say which machine"):
        claim(tmp_path / "reelwright.db", OURS)
