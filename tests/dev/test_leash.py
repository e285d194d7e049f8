"""Programs on a leash end with whoever holds it, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

LEASH = [sys.executable, "-m", "pipeline.cli.leash", os.devnull]
#: Starts a child of its own, says both numbers, and lives on; `stubborn` ones hear no signal.
FAMILY = """
import os, signal, subprocess, sys, time
from pathlib import Path
if "stubborn" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def leashed(*program: str, stdin: int | None = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*LEASH, *program], stdin=stdin, start_new_session=True)


def family(told: Path) -> list[psutil.Process]:
    until = time.monotonic() + 30
    while not told.exists() or not told.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    return [psutil.Process(int(pid)) for pid in told.read_text().split()]


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_program_that_ends_hands_its_status_on() -> None:
    leash = leashed(sys.executable, "-c", "raise SystemExit(7)")

    assert leash.wait(30) == 7
    assert leash.stdin is not None
    leash.stdin.close()


def test_a_program_that_is_killed_hands_the_signal_on() -> None:
    leash = leashed(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")

    assert leash.wait(30) == 128 + signal.SIGKILL
    assert leash.stdin is not None
    leash.stdin.close()


def test_letting_go_ends_the_program_and_what_it_left_behind(tmp_path: Path) -> None:
    leash = leashed(sys.executable, "-c", FAMILY, str(tmp_path / "told"))
    found = family(tmp_path / "told")
    assert leash.stdin is not None
    leash.stdin.close()

    assert leash.wait(30) == 0
    assert all(map(is_gone, found))


def test_killing_the_holder_ends_the_program(tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = [*LEASH, sys.executable, "-c", FAMILY, str(told)]
    script = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen({command!r}, stdin=subprocess.PIPE, start_new_session=True)\n"
        "time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], cwd=Path.cwd())
    found = family(told)
    holder.kill()
    holder.wait()
    _, alive = psutil.wait_procs(found, timeout=30)

    assert alive == []


def test_a_signal_lets_go_too(tmp_path: Path) -> None:
    leash = leashed(sys.executable, "-c", FAMILY, str(tmp_path / "told"))
    found = family(tmp_path / "told")
    os.kill(leash.pid, signal.SIGTERM)

    assert leash.wait(30) == 0
    assert leash.stdin is not None
    leash.stdin.close()
    assert all(map(is_gone, found))


def test_a_program_that_hears_no_signal_is_killed(tmp_path: Path) -> None:
    shorter = (
        "import os, sys; from pipeline.cli import leash; leash.STOP_SECONDS = 0.5;"
        "sys.exit(leash.main(os.devnull, sys.argv[1:]))"
    )
    leash = subprocess.Popen(
        [sys.executable, "-c", shorter, sys.executable, "-c", FAMILY, str(tmp_path / "told"), "stubborn"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    found = family(tmp_path / "told")
    assert leash.stdin is not None
    leash.stdin.close()

    assert leash.wait(30) == 0
    assert all(map(is_gone, found))
