"""What every run loads before it works: it is paid for at each run's start."""

from __future__ import annotations

import json
import subprocess
import sys

LOADED = """
import gc, json, sys
import pipeline.definitions
print(json.dumps({"modules": sorted(sys.modules), "tracked": len(gc.get_objects())}))
"""


def test_a_run_loads_nothing_that_few_runs_use_and_collects_nothing_that_stays() -> None:
    said = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    loaded = json.loads(said.stdout)

    unwanted = {"av", "PIL", "pandas", "duckdb", "boto3", "opensearchpy", "fastapi", "uvicorn", "typer"}
    unwanted |= {"xlsxwriter"}
    assert unwanted.isdisjoint(loaded["modules"])
    assert loaded["tracked"] < 1_000  # of more than 100,000
