"""What the machine lacks is named before any test begins, and an old Go is no Go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import go
from tests.services.programs import REMEDIES

ROOT = Path(__file__).parents[2]


def a_go(folder: Path, said: str) -> str:
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho {said}\n")
    program.chmod(0o755)
    return str(program)


def test_what_is_missing_is_named_with_its_remedy(tmp_path: Path) -> None:
    """On a machine that has nothing on PATH and nothing of an earlier run."""
    environment = os.environ | {"PATH": str(tmp_path), "HOME": str(tmp_path)}

    told = subprocess.run(
        [sys.executable, "-m", "tests.services.programs"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert told.returncode == 2
    assert told.stderr.splitlines() == [f"{name} is missing: {remedy}" for name, remedy in REMEDIES.items()]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "version"),
    [("go version go1.26.8 linux/amd64", (1, 26)), ("go version go1.19.8 linux/amd64", (1, 19)),
     ("devel", (0, 0))],
)  # fmt: skip
def test_a_go_is_taken_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: tuple[int, int]
) -> None:
    program = a_go(tmp_path, said)
    monkeypatch.setattr(go, "PLACES", (program,))
    monkeypatch.setattr(go, "_from_pypi", lambda: Path("from PyPI"))

    assert go.version_of(program) == version
    assert go.go() == (Path(program) if version >= go.LEAST else Path("from PyPI"))
