"""Dagster's instance of a home, opened beside the processes that work in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg


@contextmanager
def instance_of(folder: Path) -> Iterator[dg.DagsterInstance]:
    """The instance whose `dagster.yaml` lies in *folder*; its storage asks the environment where it is."""
    before = os.environ.get("DAGSTER_HOME")
    os.environ["DAGSTER_HOME"] = str(folder)
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            yield instance
    finally:
        if before is None:
            del os.environ["DAGSTER_HOME"]
        else:
            os.environ["DAGSTER_HOME"] = before
