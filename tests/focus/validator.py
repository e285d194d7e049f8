"""`python -m tests.focus.validator`: the FinOps Foundation's FOCUS validator, in an environment of its own.

Belongs here: installing it, running it, reading what it says. Does not belong here: our own gate
(`resources.reports.focus_check`), which is the one that counts.

It is no part of our lock: it needs Python 3.12, numpy 1 and pandas 2. It opens a file of its own relative to
the working folder, writes its log there, and ends with 0 whatever it finds; so it runs in its site-packages
and its words are read. The rules 1.2.0.1 lie in the wheel; nothing is downloaded by it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.focus.python312 import NoPython312, environment, python312
from tests.services.go import CACHE as PROGRAMS

LOCK = Path(__file__).with_name("validator.lock")
RULES = "1.2.0.1"
UV = Path(sys.executable).with_name("uv")
#: Each contradicts the other, unconditionally: one of the two fails, whatever a file says.
CONTRADICTION = frozenset({"InvoiceId-C-004-C", "InvoiceId-C-005-C"})
_TOTAL = re.compile(r"Total: (\d+) \| Pass: (\d+) \| Fail: (\d+) \| Skipped: (\d+)")
_FAILED = re.compile(r"(?m)^\S+ (\S+): FAIL\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What it said of a file."""

    total: int
    passed: int
    failed: frozenset[str]

    @property
    def unexpected(self) -> frozenset[str]:
        """Rules that fail and are not the one that must; both of the two would be one too many."""
        return self.failed - CONTRADICTION if len(self.failed & CONTRADICTION) == 1 else self.failed


def installed() -> Path:
    """The environment's folder; made once for a lock and an interpreter."""
    python = python312()
    digest = hashlib.sha256(LOCK.read_bytes() + str(python).encode()).hexdigest()[:12]
    home = PROGRAMS / f"focus-validator-{digest}"
    if not (home / ".ready").is_file():
        _install(home, python)
    return home


def _install(home: Path, python: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    settings = {**environment(python), "UV_PYTHON_DOWNLOADS": "never"}
    settings.pop("VIRTUAL_ENV", None)
    subprocess.run([UV, "venv", "-q", "--python", python, home], check=True, env=settings)
    subprocess.run(
        [UV, "pip", "sync", "-q", "--python", home / "bin" / "python", "--require-hashes", LOCK],
        check=True, env=settings,
    )  # fmt: skip
    (home / ".ready").touch()


def validate(file: Path) -> Verdict:
    """What the validator says of *file*, CSV or Parquet."""
    home = installed()
    python = home / "bin" / "python"
    done = subprocess.run(
        [
            home / "bin" / "focus-validator", "--data-file", file.resolve(), "--validate-version", RULES,
            "--focus-dataset", "CostAndUsage", "--block-download",
        ],
        cwd=home / "lib" / "python3.12" / "site-packages", env=environment(python), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return verdict(done.stdout + done.stderr)


def verdict(said: str) -> Verdict:
    """Reads its words; ValueError where there is no result in them, or one that contradicts itself."""
    found = _TOTAL.search(said)
    if found is None:
        raise ValueError(f"the validator gave no result:\n{said[-2000:]}")
    total, passed, failures, _ = map(int, found.groups())
    failed = frozenset(_FAILED.findall(said))
    if len(failed) != failures:
        raise ValueError(f"{failures} failures are counted and {len(failed)} named")
    return Verdict(total, passed, failed)


def main() -> int:
    began = time.monotonic()
    try:
        home = installed()
    except NoPython312 as error:
        print(error, file=sys.stderr)
        return 2
    print(f"FOCUS validator: {home}, {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
