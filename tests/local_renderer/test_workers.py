"""A child that fails is a named end of its job; a full disk is nobody's end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import pytest

from resources.local_renderer.job_store import JobStore
from resources.local_renderer.jobs import Job, Status
from resources.local_renderer.main import now_microseconds
from resources.local_renderer.store_folder import StoreFolder
from resources.local_renderer.wanted import Wanted
from resources.local_renderer.workers import Workers
from resources.media import Sandbox
from tests.local_renderer.renderer_process import picture


class FullOnce(StoreFolder):
    """A disk that has run full at the first look, and has room at the second."""

    def is_short_of_disk(self) -> bool:
        seen = self.root / "seen"
        is_first = not seen.exists()
        seen.touch()
        return is_first


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def ffmpeg_that(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))


def outcome(folder: StoreFolder, sandbox: Sandbox) -> Job:
    """Work one small job to its end."""
    folder.prepare()
    content = picture((100, 20, 20))
    sha256 = hashlib.sha256(content).hexdigest()
    folder.asset(sha256).write_bytes(content)
    store = JobStore(folder.database, 10)
    job_id = store.take("k", Wanted("r", "kenburns-1", 5, 1.1, (sha256,), "", "en", 96, 96, 1), 1).job.id
    try:
        return asyncio.run(_worked(Workers(store, folder, 1, sandbox, now_microseconds, 0.01), job_id))
    finally:
        store.close()


async def _worked(workers: Workers, job_id: str) -> Job:
    workers.start()
    while (job := workers.store.get(job_id)) is None or not job.has_ended:
        await asyncio.sleep(0.02)
    await workers.stop()
    return job


def test_ffmpegs_last_words_are_the_jobs_error(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ffmpeg_that(tmp_path, "echo 'no such encoder' >&2; exit 3", monkeypatch)
    job = outcome(StoreFolder(tmp_path / "store"), sandbox)

    assert job.status is Status.FAILED
    assert job.error is not None
    assert job.error[0] == "render_failed"
    assert "no such encoder" in job.error[1]


def test_an_output_that_is_not_what_was_asked_for_is_not_kept(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = imageio_ffmpeg.get_ffmpeg_exe()
    spoil = 'for word; do case "$word" in file:*) echo spoilt >> "${word#file:}"; esac; done'
    ffmpeg_that(tmp_path, f'"{real}" "$@"; {spoil}', monkeypatch)
    job = outcome(StoreFolder(tmp_path / "store"), sandbox)

    assert (job.status, job.sha256) == (Status.FAILED, None)
    assert list((tmp_path / "store" / "outputs").iterdir()) == []


def test_a_job_waits_while_the_disk_is_full(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = imageio_ffmpeg.get_ffmpeg_exe()
    ffmpeg_that(
        tmp_path,
        f'[ -e "{tmp_path}/tried" ] && exec "{real}" "$@"; touch "{tmp_path}/tried"; exit 1',
        monkeypatch,
    )
    job = outcome(FullOnce(tmp_path / "store"), sandbox)

    assert job.status is Status.SUCCEEDED
    assert (tmp_path / "store" / "outputs" / f"{job.id}.mp4").stat().st_size == job.size_bytes
