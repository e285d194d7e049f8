"""`python -m tests.services.programs`: have the servers' programs before any test begins.

Belongs here: naming what this machine lacks, and installing all at once. Does not belong here: how each is
installed (`versitygw`, `opensearch.server`; PostgreSQL comes with the environment).

A build of four minutes inside a test would run into that test's time limit, and a missing program would be
told once a test.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from tests.services import versitygw
from tests.services.opensearch import server as opensearch

#: What stays to be installed by whoever owns the machine, and how.
REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "mvn": "OpenSearch comes from Maven Central: apt-get install --no-install-recommends maven",
        "redis-server": "Celery's broker: apt-get install --no-install-recommends redis-server",
        "openssl": "the tests of certificates make one: apt-get install --no-install-recommends openssl",
    }
)
PROGRAMS: Mapping[str, Callable[[], Path]] = MappingProxyType(
    {
        f"versitygw {versitygw.VERSION}": versitygw.binary,
        f"OpenSearch {opensearch.VERSION}": opensearch.installed,
    }
)


def missing() -> Sequence[str]:
    """One line for each program that is not there, with the remedy."""
    wanted = [name for name in REMEDIES if name != "mvn" or not opensearch.is_installed()]
    return [f"{name} is missing: {REMEDIES[name]}" for name in wanted if shutil.which(name) is None]


def install() -> None:
    """Build one server while the other is downloaded; nothing to do when both are there."""
    with ThreadPoolExecutor(len(PROGRAMS)) as threads:
        for done in [threads.submit(_install, name) for name in PROGRAMS]:
            done.result()


def _install(name: str) -> None:
    began = time.monotonic()
    where = PROGRAMS[name]()
    print(f"{name}: {where}, {time.monotonic() - began:.0f} s", flush=True)


def main() -> int:
    lacking = missing()
    for line in lacking:
        print(line, file=sys.stderr)
    if lacking:
        return 2
    install()
    return 0


if __name__ == "__main__":
    sys.exit(main())
