"""The architecture is a test: the table of rooms in pyproject.toml holds, covers everything, and bites."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import grimp
import pytest

from tests.architecture.room import ROOTS, lies_in

ROOT = Path(__file__).parents[2]
PACKAGES = ("pipeline", "resources", "sensors")

#: What somebody might write in a hurry: the module it is written into, and the import.
PLANTED: Mapping[str, str] = {
    "pipeline/domain/tags.py": "sqlalchemy",
    "pipeline/documents/brief.py": "resources.media",
    "pipeline/steps/operate/retry.py": "resources.connect",
    "pipeline/steps/answer/status.py": "dagster",
    "pipeline/cli/status.py": "sensors",
    "resources/media/videos.py": "resources.database.engine",
    "resources/providers/local.py": "resources.local_renderer.server",
    "resources/tag_index/sql.py": "resources.database.engine",
    "resources/local_renderer/server.py": "pipeline.steps.answer.status",
}


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([program, "--no-cache"], cwd=folder, capture_output=True, text=True, timeout=120)


def _rooms() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [contract["room"] for contract in settings["tool"]["importlinter"]["contracts"]]


def test_every_room_imports_what_its_line_allows_and_nothing_else() -> None:
    linted = _lint(ROOT)

    assert linted.returncode == 0, linted.stdout


def test_every_module_lies_in_exactly_one_room_and_the_roots_import_nothing() -> None:
    graph = grimp.build_graph(*PACKAGES)
    rooms = _rooms()
    homes = {module: [room for room in rooms if lies_in(module, room)] for module in graph.modules}
    homeless = {module for module, found in homes.items() if len(found) != 1}

    assert homeless == ROOTS
    assert not any(graph.find_modules_directly_imported_by(root) for root in homeless)


@pytest.fixture(scope="module")
def with_planted_imports(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter says of a copy of the tree into which each of PLANTED was written."""
    copy = tmp_path_factory.mktemp("tree")
    for package in (*PACKAGES, "tests/architecture"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/__init__.py", copy / "tests")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for module, imported in PLANTED.items():
        with (copy / module).open("a") as source:
            source.write(f"\nimport {imported}\n")
    linted = _lint(copy)
    assert linted.returncode == 1, linted.stdout + linted.stderr
    return linted.stdout


@pytest.mark.parametrize(("module", "imported"), PLANTED.items())
def test_a_planted_import_is_named(with_planted_imports: str, module: str, imported: str) -> None:
    importer = module.removesuffix(".py").replace("/", ".")

    assert f"{importer} -> {imported}" in " ".join(with_planted_imports.split())
