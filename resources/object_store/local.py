"""Objects as files below one folder: the embedded default.

Belongs here: keys to paths, durable writes, listing. Does not belong here: any rule about what is kept.

A put copies into `.tmp/` below the same root (a hard link cannot cross file systems), checks the digest on
the way, flushes, links to the final name (link(2) fails when the name exists: put-if-absent without a race)
and flushes every folder on the way. Folders are opened one by one without following links, so that no link
planted in the intake leads out of the root. Keys are file names as they are: on a file system that folds
case (macOS by default), two intake names that differ by case alone are one file, as its owner sees there.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from pipeline.domain.errors import BadKey, StoreConflict, StoreUnavailable, UnknownSubject
from resources.object_store.local_files import digest, flush, no_folder, reading, unavailable, writing
from resources.object_store.protocol import (
    INTAKE_PREFIX,
    READABLE,
    Bytes,
    Put,
    Stored,
    check_key,
    check_receipt_key,
)

TEMPORARY = ".tmp"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Non-blocking, so that a pipe planted in the intake cannot hang a reader.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_GONE = (FileNotFoundError, NotADirectoryError)


class LocalStore:
    """ObjectStore in one folder, which may itself be a link; it is made at the first write."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_if_absent(
        self,
        key: str,
        path: Path,
        *,
        sha256: str,
        size: int,
        media_type: str,  # noqa: ARG002  a file has no place for it; content says it again
    ) -> Put:
        wanted = Bytes(size, sha256)
        with writing(key), self._folder_of(key, create=True) as (folder, name):
            result = self._found(folder, name, key, wanted)
            if result is None:
                with path.open("rb") as source, self._copied(source, wanted) as temporary:
                    result = self._link(temporary, folder, name) or self._found(folder, name, key, wanted)
            flush(folder)
        if result is None:
            raise StoreUnavailable("unreachable", f"object {key} came and went while it was written")
        return result

    def _found(self, folder: int, name: str, key: str, wanted: Bytes) -> Put | None:
        """What already holds the name; its bytes are flushed, as their writer may have been killed."""
        try:
            held = _opened(folder, name)
        except FileNotFoundError:
            return None
        with held:
            if digest(held) != wanted:
                raise StoreConflict(key)
            flush(held.fileno())
        return Put.ALREADY_SAME

    @staticmethod
    def _link(temporary: Path, folder: int, name: str) -> Put | None:
        try:
            os.link(temporary, name, dst_dir_fd=folder)
        except FileExistsError:
            return None
        return Put.CREATED

    @contextmanager
    def _copied(self, source: BinaryIO, wanted: Bytes | None) -> Iterator[Path]:
        """A flushed copy under a name of its own, gone afterwards unless this process is killed."""
        (self._root / TEMPORARY).mkdir(parents=True, exist_ok=True)
        temporary = self._root / TEMPORARY / f"{os.getpid()}-{secrets.token_hex(12)}"
        try:
            with os.fdopen(os.open(temporary, _CREATE, 0o644), "wb") as copy:
                copied = digest(source, copy)
                copy.flush()
                flush(copy.fileno())
            if wanted is not None and copied != wanted:
                problem = f"the file to store has {copied.size} bytes, {copied.sha256}, not what was said"
                raise StoreUnavailable("checksum_mismatch", problem)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def put_receipt(self, key: str, content: bytes) -> None:
        check_receipt_key(key)
        with writing(key), self._folder_of(key, create=True) as (folder, name):
            if _holds(folder, name, content):
                return
            with self._copied(io.BytesIO(content), None) as temporary:
                os.replace(temporary, name, dst_dir_fd=folder)
            flush(folder)

    def head(self, key: str) -> Stored | None:
        try:
            with self.open(key) as stream:
                return _stored(key, os.fstat(stream.fileno()))
        except UnknownSubject:
            return None

    def exists(self, key: str) -> bool:
        return self.head(key) is not None

    def sha256(self, key: str) -> str:
        with self.open(key) as stream, reading(key):
            return digest(stream).sha256

    @contextmanager
    def open(self, key: str) -> Iterator[BinaryIO]:
        with reading(key), self._folder_of(key) as (folder, name):
            stream = _opened(folder, name)
        with stream:
            yield stream

    def read_range(self, key: str, start: int, length: int) -> bytes:
        with self.open(key) as stream, reading(key):
            stream.seek(start)
            return stream.read(length)

    def get_to(self, key: str, path: Path) -> Bytes:
        with self.open(key) as stream, writing(key), path.open("wb") as copy:
            return digest(stream, copy)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        with reading(prefix), suppress(*_GONE), self._folder(()) as root:
            yield from _walk(root, "", prefix, after)

    def delete(self, key: str) -> bool:
        try:
            with reading(key), self._folder_of(key) as (folder, name):
                os.unlink(name, dir_fd=folder)
                flush(folder)
        except UnknownSubject:
            return False
        return True

    def delete_all(self, keys: Collection[str]) -> Mapping[str, bool | str]:
        """A folder is flushed once for all of its keys: nothing is said to be gone before that."""
        folders: dict[str, list[str]] = {}
        for key in keys:
            folders.setdefault(check_key(key).rpartition("/")[0], []).append(key)
        answers: dict[str, bool | str] = {}
        for several in folders.values():
            answers |= self._deleted(several)
        return answers

    def left_of(self, keys: Collection[str]) -> Mapping[str, str]:
        return {key: READABLE for key in keys if self.exists(key)}

    def _deleted(self, keys: Sequence[str]) -> Mapping[str, bool | str]:
        """Keys of one folder."""
        try:
            with reading(keys[0]), self._folder_of(keys[0]) as (folder, _):
                answers = {key: _unlinked(folder, key.rpartition("/")[2]) for key in keys}
                flush(folder)
        except UnknownSubject:
            return dict.fromkeys(keys, False)
        except StoreUnavailable as error:
            return dict.fromkeys(keys, error.reason)
        return answers

    def old_versions(self, prefix: str) -> Iterator[Stored]:  # noqa: ARG002  a folder keeps none
        return iter(())

    def signed_url(self, key: str, *, seconds: int, media_type: str, disposition: str) -> None:  # noqa: ARG002
        check_key(key)

    def close(self) -> None:
        """Nothing is open between calls."""

    def list_temporary(self) -> Iterator[Stored]:
        with reading(TEMPORARY), suppress(*_GONE), self._folder((TEMPORARY,)) as folder:
            yield from _walk(folder, f"{TEMPORARY}/", "", "")

    def delete_temporary(self, key: str) -> bool:
        folder, _, name = check_key(key).rpartition("/")
        if folder != TEMPORARY:
            raise BadKey(key, "is not the key of a temporary object")
        try:
            (self._root / TEMPORARY / name).unlink()
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _folder_of(self, key: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that holds *key*, and the name of its file there."""
        *parts, name = check_key(key).split("/")
        if (*parts, name)[0] == TEMPORARY:
            raise BadKey(key, f"starts with {TEMPORARY}, which the store keeps for itself")
        if create:
            self._make_root()
        with self._folder(parts, create=create) as folder:
            yield folder, name

    @contextmanager
    def _folder(self, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
        folder = self._opened_root()
        try:
            for part in parts:
                folder = _step_down(folder, part, create=create)
            yield folder
        finally:
            os.close(folder)

    def _opened_root(self) -> int:
        """FileNotFoundError before the first write; a root that is no folder is no store at all."""
        try:
            return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except NotADirectoryError as error:
            raise no_folder(self._root) from error

    def _make_root(self) -> None:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise no_folder(self._root) from error


def _step_down(folder: int, part: str, *, create: bool) -> int:
    """Trade an open folder for one inside it. A new one is flushed into its parent, and so is one that
    another process may have made and not lived to flush."""
    if create:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
        flush(folder)
    inner = os.open(part, _FOLDER, dir_fd=folder)
    os.close(folder)
    return inner


def _unlinked(folder: int, name: str) -> bool | str:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        return unavailable(error).reason
    return True


def _opened(folder: int, name: str) -> BinaryIO:
    descriptor = os.open(name, _READ, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, "not a regular file", name)
    return os.fdopen(descriptor, "rb")


def _holds(folder: int, name: str, content: bytes) -> bool:
    """Whether a receipt already says this; a link or folder in its place does not."""
    try:
        with _opened(folder, name) as held:
            return held.read(len(content) + 1) == content
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR):
            return False
        raise


def _walk(folder: int, base: str, prefix: str, after: str) -> Iterator[Stored]:
    """Files below *folder* in key order; code points sort as UTF-8 bytes do. Links are not followed, and
    names that no key can hold (control characters, not UTF-8) are not listed: no brief can name them."""
    with os.scandir(folder) as entries:
        names = sorted(e.name + "/" * e.is_dir(follow_symlinks=False) for e in entries)
    for name in names:
        key = base + name
        if not name.endswith("/"):
            if key.startswith(prefix) and key > after:
                yield from _listed(folder, name, key)
        elif key != f"{TEMPORARY}/" and _may_hold(key, prefix, after):
            with suppress(*_GONE):
                yield from _walk_into(folder, name[:-1], key, prefix, after)


def _walk_into(folder: int, name: str, base: str, prefix: str, after: str) -> Iterator[Stored]:
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield from _walk(inner, base, prefix, after)
    finally:
        os.close(inner)


def _may_hold(base: str, prefix: str, after: str) -> bool:
    matches = base.startswith(prefix) or prefix.startswith(base)
    return matches and (base > after or after.startswith(base))


def _listed(folder: int, name: str, key: str) -> Iterator[Stored]:
    with suppress(BadKey, *_GONE):
        check_key(key)
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            yield _stored(key, status)


def _stored(key: str, status: os.stat_result) -> Stored:
    modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
    return Stored(key, status.st_size, modified_at, is_stable=not key.startswith(INTAKE_PREFIX))
