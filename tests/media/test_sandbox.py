"""The bounded child: one file's crash, hang or hunger is that file's, and nothing is left behind (R7)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pipeline.domain.errors import MediaRefused, MediaUnproven, SandboxFailed
from resources.media import Limits, Sandbox, examine_image, examine_video
from tests.media.cases import DATA
from tests.media.clips import Clip

SMALL = DATA / "one_frame.mp4"
PICTURE = DATA / "exif_6.jpg"


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Takes about a second to decode: time enough to find its child and do something to it."""
    path = tmp_path_factory.mktemp("long") / "clip.mp4"
    return Clip(codec="mpeg4", width=1280, height=720, frames=300, keyframe_every=25).write(path)


@pytest.fixture
def own() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def warm_process() -> psutil.Process:
    found = [child for child in psutil.Process().children() if "resources.media.warm" in child.cmdline()]
    return max(found, key=lambda child: child.create_time())


def once_a_child_runs(act: Callable[[psutil.Process], None]) -> threading.Thread:
    """Do something to the first child of the newest warm parent, from beside."""
    warm = warm_process()

    def watch() -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            children = warm.children()
            if children and children[0].status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.1)
                act(children[0])
                return
            time.sleep(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_crashed_child_is_named_and_the_next_file_is_read(own: Sandbox, long_clip: Path) -> None:
    examine_video(own, SMALL)
    watcher = once_a_child_runs(lambda child: child.send_signal(signal.SIGSEGV))

    with pytest.raises(SandboxFailed) as caught:
        examine_video(own, long_clip)
    watcher.join()

    assert caught.value.reason == "crashed"
    assert examine_video(own, SMALL).frame_count == 1


def test_a_hung_child_is_ended_and_named(long_clip: Path) -> None:
    hasty = Limits(base_seconds=0.5, pixels_per_second=1e12)
    with Sandbox(hasty) as own:
        examine_video(own, SMALL)
        watcher = once_a_child_runs(lambda child: child.suspend())

        with pytest.raises(SandboxFailed) as caught:
            examine_video(own, long_clip)
        watcher.join()

        assert caught.value.reason == "timed_out"
        assert gone(lambda: warm_process().children())


def test_a_child_that_computes_for_too_long_is_ended_by_the_kernel(long_clip: Path) -> None:
    hasty = Limits(base_seconds=0.05, seconds_per_mib=0, pixels_per_second=1e12, wall_factor=1)
    with Sandbox(hasty) as own, pytest.raises(SandboxFailed) as caught:
        examine_video(own, long_clip)

    assert caught.value.reason == "timed_out"


def test_a_file_that_wants_more_memory_than_it_justifies_is_named(own: Sandbox) -> None:
    large = DATA / "progressive_9500x9500.jpg"
    tight = Limits(base_memory_bytes=1 << 20, memory_bytes_per_pixel=0)

    if own.wall_level().memory_bounded:
        with Sandbox(tight) as bounded, pytest.raises(SandboxFailed) as caught:
            examine_image(bounded, large)
        assert caught.value.reason == "out_of_memory"
    assert examine_image(own, large).stored_width == 9500


def test_a_bomb_is_refused_by_a_child_that_could_not_hold_it() -> None:
    tight = Limits(base_memory_bytes=16 << 20, memory_bytes_per_pixel=0)

    with Sandbox(tight) as bounded, pytest.raises(MediaRefused, match="the limit is"):
        examine_image(bounded, DATA / "bomb_30000x30000_1bit.png")


def test_a_dead_warm_parent_is_replaced(own: Sandbox) -> None:
    examine_image(own, PICTURE)
    first = warm_process()
    first.kill()
    first.wait(5)

    facts = examine_image(own, PICTURE)

    assert facts.container == "jpeg"
    assert warm_process().pid != first.pid


def test_a_warm_parent_killed_at_work_is_a_named_failure(own: Sandbox, long_clip: Path) -> None:
    examine_video(own, SMALL)
    warm = warm_process()
    watcher = once_a_child_runs(lambda _: warm.kill())

    with pytest.raises(SandboxFailed) as caught:
        examine_video(own, long_clip)
    watcher.join()

    assert caught.value.reason == "no_answer"
    assert examine_video(own, SMALL).frame_count == 1


def test_many_threads_share_one_warm_parent(own: Sandbox) -> None:
    with ThreadPoolExecutor(8) as pool:
        facts = list(pool.map(lambda _: examine_image(own, PICTURE), range(40)))

    assert len(set(facts)) == 1
    assert (
        len([child for child in psutil.Process().children() if "resources.media.warm" in child.cmdline()])
        <= 2
    )


def test_no_descriptor_and_no_process_is_left_behind(own: Sandbox, tmp_path: Path) -> None:
    examine_image(own, PICTURE)
    warm = warm_process()

    assert gone(warm.children)
    ours, theirs = psutil.Process().num_fds(), warm.num_fds()
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(SMALL.read_bytes()[:900])

    for _ in range(10):
        examine_image(own, PICTURE)
        with pytest.raises(MediaUnproven):
            examine_video(own, broken)
        with pytest.raises(MediaRefused):
            examine_image(own, DATA / "bomb_header_60000x60000.png")

    assert gone(warm.children)
    assert psutil.Process().num_fds() == ours
    assert gone(lambda: warm.num_fds() > theirs)


def test_close_ends_the_warm_parent_and_its_children(long_clip: Path) -> None:
    own = Sandbox()
    examine_video(own, SMALL)
    warm = warm_process()
    watcher = once_a_child_runs(lambda _: own.close())

    with pytest.raises(SandboxFailed):
        examine_video(own, long_clip)
    watcher.join()

    assert not warm.is_running()


def test_the_warm_parent_dies_with_its_owner(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, psutil, signal, sys\n"
        "from resources.media import Sandbox, examine_image\n"
        "sandbox = Sandbox()\n"
        "examine_image(sandbox, pathlib.Path(sys.argv[1]))\n"
        "print(psutil.Process().children()[0].pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    owner = subprocess.run(
        [sys.executable, "-c", program, str(PICTURE)], capture_output=True, text=True, check=False, timeout=60
    )

    warm = int(owner.stdout)

    assert owner.returncode == -signal.SIGKILL
    assert gone(lambda: psutil.pid_exists(warm))


def test_a_forked_copy_starts_a_warm_parent_of_its_own(own: Sandbox) -> None:
    program = (
        "import os, pathlib, sys\n"
        "from resources.media import Sandbox, examine_image\n"
        "sandbox, path = Sandbox(), pathlib.Path(sys.argv[1])\n"
        "examine_image(sandbox, path)\n"
        "pid = os.fork()\n"
        "facts = examine_image(sandbox, path)\n"
        "sandbox.close()\n"
        "if pid == 0: os._exit(0 if facts.container == 'jpeg' else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )

    done = subprocess.run([sys.executable, "-c", program, str(PICTURE)], check=False, timeout=60)

    assert done.returncode == 0


def test_a_child_has_no_environment_and_no_network(own: Sandbox, long_clip: Path) -> None:
    seen: list[tuple[bytes, str]] = []
    examine_video(own, SMALL)
    watcher = once_a_child_runs(
        lambda child: (
            seen.append(
                (
                    Path(f"/proc/{child.pid}/environ").read_bytes(),
                    Path(f"/proc/{child.pid}/net/dev").read_text(),
                )
            )
            if sys.platform == "linux"
            else None
        )
    )
    examine_video(own, long_clip)
    watcher.join()

    alone = own.wall_level().network == "none"
    for environment, devices in seen:
        names = {line.split(":")[0].strip() for line in devices.splitlines()[2:]}
        assert b"HOME" not in environment
        assert names <= {"lo"} or not alone


def test_a_named_pipe_is_refused_without_waiting(own: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")

    with pytest.raises(MediaRefused, match="no regular file"):
        examine_video(own, tmp_path / "pipe.mp4")


def test_one_small_picture_costs_milliseconds(own: Sandbox) -> None:
    examine_image(own, PICTURE)
    seconds = []

    for _ in range(20):
        began = time.monotonic()
        examine_image(own, PICTURE)
        seconds.append(time.monotonic() - began)

    assert min(seconds) < 0.05  # 6 ms on an idle core; a fresh interpreter takes 250


def gone(found: Callable[[], object]) -> bool:
    deadline = time.monotonic() + 5
    while found() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not found()
