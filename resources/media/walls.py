"""The walls around a child that parses untrusted media, and which of them this machine gives (SPEC R7).

Linux has all of them; macOS has no network namespace and does not bind address space. System call filters
and file system walls belong here too, called from `enclose`, which runs before a byte of the file is read.
"""

from __future__ import annotations

import ctypes
import enum
import os
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


class Network(enum.StrEnum):
    """Whether a child could reach anything over a network."""

    NONE = "none"  #: its own empty network namespace
    REACHABLE = "reachable"  #: the kernel refuses a namespace to this user; nothing opens a socket, though


@dataclass(frozen=True, slots=True)
class WallLevel:
    """What holds on this machine, for `doctor`."""

    network: Network
    memory_bounded: bool  #: address space is limited by the kernel
    dies_with_owner: bool  #: the kernel ends a child whose parent died; elsewhere it notices a closed pipe

    @property
    def complete(self) -> bool:
        return self.network is Network.NONE and self.memory_bounded and self.dies_with_owner

    def __str__(self) -> str:
        missing = [
            word
            for word, holds in (
                ("network namespace", self.network is Network.NONE),
                ("memory limit", self.memory_bounded),
                ("death signal", self.dies_with_owner),
            )
            if not holds
        ]
        return "all walls hold" if not missing else "without " + ", ".join(missing)


def leave_network() -> Network:
    """Move this process, and all it forks, into an empty network namespace where that is permitted.

    Once in the warm parent, not in each child: making a namespace costs more than forking. A user namespace
    needs a process of one thread, so this comes before any library is imported.
    """
    if sys.platform != "linux":
        return Network.REACHABLE
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        if libc.unshare(flags) == 0:
            return Network.NONE
    return Network.REACHABLE


def level(network: Network) -> WallLevel:
    linux = sys.platform == "linux"
    return WallLevel(network, memory_bounded=linux, dies_with_owner=linux)


def enclose(open_files: int) -> None:
    """Walls that never move, for a fresh child: no core, no file written, no privileges gained."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def bound_time(cpu_seconds: float, wall_seconds: float, max_cpu_seconds: float) -> None:
    """The kernel ends this process after that much more; callable again when more work is justified."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + cpu_seconds) + 1
    hard = int(max_cpu_seconds) + 5
    _, ceiling = resource.getrlimit(resource.RLIMIT_CPU)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def bound_memory(soft_bytes: int, max_bytes: int, mapped_before: int) -> None:
    """Address space beyond what was mapped at the fork; without effect where the kernel does not bind it."""
    if sys.platform != "linux":
        return
    soft, hard = mapped_before + soft_bytes, mapped_before + max_bytes
    _, ceiling = resource.getrlimit(resource.RLIMIT_AS)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    resource.setrlimit(resource.RLIMIT_AS, (min(soft, hard), hard))


def mapped_bytes() -> int:
    """Address space of this process; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
