"""A code location whose one run waits until the file that WAITS_FOR names is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import dagster as dg

#: For whoever runs without a test.
LONGEST_SECONDS = 120.0


@dg.op
def wait() -> None:
    until = time.monotonic() + LONGEST_SECONDS
    while not Path(os.environ["WAITS_FOR"]).exists() and time.monotonic() < until:
        time.sleep(0.1)


@dg.job(executor_def=dg.in_process_executor)
def waiting() -> None:
    wait()


defs = dg.Definitions(jobs=[waiting])
