"""A private folder in the spool for one piece of work, and sweeping away those of dead processes.

Belongs here: making, naming and removing such folders. Does not belong here: what is put into them, or the
spool files of claimed attempts (`spool`).

A name carries the process that made it: what is left of one that runs no more is nobody's.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from pipeline.steps.produce.spool import spool_trouble

_NAME = re.compile(r"intake-(?P<pid>\d+)-.+")


@contextmanager
def private_folder(spool: Path) -> Iterator[Path]:
    """A new, empty folder below *spool*, gone afterwards. Trouble with the disk is StoreUnavailable."""
    with spool_trouble(spool):
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=spool, prefix=f"intake-{os.getpid()}-") as folder:
            yield Path(folder)


def sweep_private_folders(spool: Path) -> int:
    """Remove what killed processes left; returns how many folders."""
    if not spool.is_dir():
        return 0
    left = [path for path in spool.iterdir() if (found := _NAME.fullmatch(path.name)) and _is_dead(found)]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return len(left)


def _is_dead(found: re.Match[str]) -> bool:
    return not psutil.pid_exists(int(found["pid"]))
