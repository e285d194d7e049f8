"""The folder that a renderer owns: layout, lock, durable files.

    lock       held by the one running renderer
    jobs.db    the job store
    secret     key that signs output URLs, readable by its owner alone
    assets/    uploaded stills by SHA-256
    outputs/   ID.mp4, complete or absent
    work/      one folder a running job, emptied at start
    fonts/     fontconfig's file and cache

Belongs here: paths and bytes. Does not belong here: what a job is.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pipeline.domain.errors import BadSettings
from resources.local_renderer.refusals import Refused

MAX_ASSET_BYTES = 64 << 20
_LEAST_FREE_BYTES = 32 << 20  #: below it, a failure is the disk's and not the job's


@dataclass(frozen=True, slots=True)
class Kept:
    """An output in its place."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoreFolder:
    root: Path

    @property
    def database(self) -> Path:
        return self.root / "jobs.db"

    @property
    def fonts(self) -> Path:
        return self.root / "fonts"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def asset(self, sha256: str) -> Path:
        return self.root / "assets" / sha256

    def assets(self) -> list[Path]:
        return [path for path in (self.root / "assets").iterdir() if not path.name.startswith(".")]

    def output(self, job_id: str) -> Path:
        return self.root / "outputs" / f"{job_id}.mp4"

    def is_short_of_disk(self) -> bool:
        return shutil.disk_usage(self.root).free < _LEAST_FREE_BYTES

    def prepare(self) -> None:
        """Make the folders and drop what a killed predecessor left half-made."""
        shutil.rmtree(self.work, ignore_errors=True)
        for name in ("assets", "outputs", "work"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for half in (self.root / "assets").glob(".*.part"):
            half.unlink(missing_ok=True)

    def secret(self) -> bytes:
        """Made once, so that URLs stay valid over a restart."""
        path = self.root / "secret"
        if not path.exists():
            half = self.root / ".secret.part"
            half.unlink(missing_ok=True)
            handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(32))
            _promote(half, path)
        return path.read_bytes()

    def keep_output(self, made: Path, job_id: str) -> Kept:
        """Move a proven file to its place, durably."""
        with made.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size_bytes = made.stat().st_size
        _promote(made, self.output(job_id))
        return Kept(size_bytes, sha256)

    async def keep_asset(self, sha256: str, chunks: AsyncIterator[bytes]) -> bool:
        """True when it is new. Raises `Refused` and keeps nothing when the bytes are others, or too many."""
        half = self.root / "assets" / f".{secrets.token_hex(8)}.part"
        try:
            with half.open("wb") as file:
                found = await _write(file.fileno(), chunks)
            if found != sha256:
                raise Refused("hash_mismatch", f"the bytes hash to {found}, not to {sha256}")
            is_new = not self.asset(sha256).exists()
            _promote(half, self.asset(sha256))
        finally:
            half.unlink(missing_ok=True)
        return is_new


class StoreLock:
    """Held while the renderer runs. The system frees it when the process ends, however it ends."""

    def __init__(self, folder: StoreFolder) -> None:
        folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder.root / "lock"
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self) -> StoreLock:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._handle, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._handle)
            raise BadSettings(
                "--store",
                f"{self._path.parent} is in use by another renderer (process {holder})",
                "stop that renderer, or give this one its own folder",
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def is_disk_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


async def _write(handle: int, chunks: AsyncIterator[bytes]) -> str:
    digest, size_bytes = hashlib.sha256(), 0
    async for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > MAX_ASSET_BYTES:
            raise Refused("too_large", f"an asset has at most {MAX_ASSET_BYTES >> 20} MiB")
        digest.update(chunk)
        view = memoryview(chunk)
        while view:  # a short write is allowed, and happens on a disk that fills up
            view = view[os.write(handle, view) :]
    return digest.hexdigest()


def _promote(half: Path, whole: Path) -> None:
    """Complete or absent, also after a power cut: file, name and folder are flushed in this order."""
    _flush(half)
    half.replace(whole)
    _flush(whole.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
