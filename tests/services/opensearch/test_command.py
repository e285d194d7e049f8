"""The command line on an index in OpenSearch: refused until it is built; doctor says how it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from pipeline.cli.main import app
from pipeline.steps.operate import rebuild_index as rebuilding
from tests.cli.desk import Desk
from tests.services.opensearch.server import Server

ALIAS = "commands"


@pytest.fixture
def desk(
    migrated_sqlite: Path,
    tmp_path: Path,
    opensearch: Server,
    bare: OpenSearch,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rebuilding, "LINGER_SECONDS", 0.0)
    path = tmp_path / "reelwright.db"
    shutil.copy(migrated_sqlite, path)
    made = Desk(tmp_path, f"sqlite:///{path}")

    def run(*words: str, url: str = f"{opensearch.url}/{ALIAS}") -> Any:
        environment = {**made.environment, "REELWRIGHT_INDEX_URL": url}
        return made.runner.invoke(app, list(words), env=environment)

    yield run
    bare.indices.delete(index=f"{ALIAS}-*")


def test_an_index_is_built_by_one_command_and_used_from_then_on(desk: Any, bare: OpenSearch) -> None:
    refused = desk("search", "parcel")
    assert refused.exit_code != 0
    assert "no alias commands" in refused.stderr
    assert "reelwright rebuild" in refused.stderr

    built = desk("rebuild", "--json")
    again = desk("rebuild")

    assert json.loads(built.stdout)["filled"] == 0
    assert again.exit_code == 0, again.stderr
    assert set(bare.indices.get(index=f"{ALIAS}-*")) == {f"{ALIAS}-000002"}
    index = next(
        one for one in json.loads(desk("doctor", "--json").stdout)["checks"] if one["name"] == "tag index"
    )
    assert index["level"] == "ok"


def test_a_rebuild_is_given_up_by_the_same_command(desk: Any, bare: OpenSearch) -> None:
    desk("rebuild")

    assert json.loads(desk("rebuild", "--abandon", "--json").stdout) == {"abandoned": False}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1/tags", "is not reached"),
        ("https://127.0.0.1:{port}/tags", "cannot be trusted"),
    ],
)
def test_doctor_says_in_one_line_what_is_wrong(desk: Any, opensearch: Server, url: str, said: str) -> None:
    checked = json.loads(desk("doctor", "--json", url=url.format(port=opensearch.port)).stdout)["checks"]
    index = next(one for one in checked if one["name"] == "tag index")

    assert index["level"] == "fail"
    assert said in index["detail"]
    assert index["remedy"]


def test_doctor_sees_that_the_index_is_full(desk: Any, bare: OpenSearch) -> None:
    desk("rebuild")
    bare.indices.put_settings(index=ALIAS, body={"index.blocks.read_only_allow_delete": True})

    checked = json.loads(desk("doctor", "--json").stdout)["checks"]
    index = next(one for one in checked if one["name"] == "tag index")

    assert index["level"] == "fail"
    assert "read-only" in index["detail"]
    assert "free space" in index["remedy"]


def test_the_sql_index_names_its_own_command(desk: Any) -> None:
    refused = desk("rebuild", url="sql")

    assert refused.exit_code == 2
    assert "backfill index" in refused.stderr
