"""One machine to a SQLite file: who has it is written beside it, and another machine is refused by name.

Belongs here: who this machine is, and its claim on a file. Does not belong here: how a database is opened
(`engine`).

SQLite's locks and its shared memory hold within one kernel. Two machines on one file each believe that they
are alone, on a shared disk too that no list of network file systems knows. Containers of one machine share
its kernel and so its claim. A claim does not end with a process: a machine that started again knows itself by
its machine id and name.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.domain.errors import BadSettings

#: The same as long as one kernel runs, in all its containers.
BOOT = Path("/proc/sys/kernel/random/boot_id")
MACHINE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Host:
    """A machine; an id that the platform does not tell is empty."""

    name: str
    machine: str
    boot: str

    def is_same(self, other: Host) -> bool:
        """Under one kernel, or the same machine after it started again."""
        is_one_kernel = self.boot != "" and self.boot == other.boot
        return is_one_kernel or (self.machine, self.name) == (other.machine, other.name)


def this_host() -> Host:
    # A laptop's domain changes with its network, the first label hardly ever.
    return Host(platform.node().partition(".")[0], _read(MACHINE), _read(BOOT))


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def claim(database: Path, host: Host | None = None) -> None:
    """Write down that this machine has *database*; BadSettings when another one has it."""
    us, beside = host or this_host(), Path(f"{database}.host")
    if not beside.exists():
        _lay(us, beside, os.link)
    holder = _holder(database, beside)
    if not us.is_same(holder):
        raise BadSettings(
            "database_url",
            f"{database} belongs to the machine {holder.name!r}, and this is {us.name!r}: SQLite is for one"
            " machine",
            f"use PostgreSQL for more than one; if {holder.name!r} will not use it any more, delete {beside}",
        )
    if us != holder:
        _lay(us, beside, os.replace)


def _lay(us: Host, beside: Path, how: Callable[[Path, Path], None]) -> None:
    """Whole or not at all: by a link, of which the first wins, or in place of our own older one."""
    written = beside.with_name(f"{beside.name}.{secrets.token_hex(4)}")
    written.write_text(json.dumps(asdict(us)), "utf-8")
    try:
        with suppress(FileExistsError):
            how(written, beside)
    finally:
        written.unlink(missing_ok=True)


def _holder(database: Path, beside: Path) -> Host:
    try:
        return Host(**json.loads(beside.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        problem = f"{beside} does not say which machine has {database}"
        raise BadSettings("database_url", problem, f"delete {beside} if no other machine uses it") from error
