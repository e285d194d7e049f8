"""A studio on either database, or on any other shelf, and media that the real sandbox has looked at once.

Belongs here: making studios for rules and tests. Does not belong here: what happens in one.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.errors import ReelwrightError
from pipeline.steps.produce import derive as derive_step
from pipeline.steps.produce import lot
from pipeline.steps.produce import verify as verify_step
from resources.database import database as database_module
from resources.database import schema
from resources.database.database import Database
from resources.database.engine import READ_ONLY
from resources.media import Sandbox, examine_video
from resources.media import derive as derive_pictures
from resources.object_store.local import LocalStore
from resources.tag_index.sql import SqlTagIndex
from tests.acceptance.memory_provider import Remote
from tests.acceptance.studio import Shelf, Studio
from tests.conftest import Clock
from tests.postgres import Server
from tests.steps.author import picture
from tests.steps.output_site import video


@dataclass(frozen=True)
class Media:
    """What the real sandbox said of each body; examining the same bytes again says the same again."""

    bodies: Mapping[str, bytes]
    picture: bytes


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Media]:
    folder = tmp_path_factory.mktemp("media")
    good = video(folder, width=160, height=90)
    bodies = {"good": good, "other": video(folder, width=160, height=90, mark=7), "cut": good[:-900]}
    image = picture(folder / "depot.png", size=(64, 36)).read_bytes()
    with Sandbox() as sandbox, pytest.MonkeyPatch.context() as patched:
        _remember(patched, sandbox, folder)
        patched.setattr(lot, "GROUP", 1)
        patched.setattr(derive_step, "WORKERS", 1)
        patched.setattr(database_module, "PAUSE_SECONDS", 0.0)
        yield Media(bodies, image)


def _remember(patched: pytest.MonkeyPatch, sandbox: Sandbox, folder: Path) -> None:
    """The real sandbox sees each body once: its answers by the hash of what it was shown."""
    examine, derive = examine_video, derive_pictures
    answers: dict[str, Any] = {}

    def once(key: str, call: Callable[[], Any]) -> Any:
        if key not in answers:
            try:
                answers[key] = call()
            except ReelwrightError as refusal:
                answers[key] = refusal
        if isinstance(answers[key], ReelwrightError):
            raise answers[key]
        return answers[key]

    def examined(_: Any, path: Path, *, sha256: str) -> Any:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
        return once(f"facts {seen} {sha256}", lambda: examine(sandbox, path, sha256=sha256))

    def derived(_: Any, path: Path, transforms: Any, into: Path) -> Any:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
        kept = folder / seen
        kept.mkdir(exist_ok=True)
        files = once(f"pictures {seen}", lambda: derive(sandbox, path, transforms, kept))
        shutil.copytree(kept, into, dirs_exist_ok=True)
        return files

    patched.setattr(verify_step, "examine_video", examined)
    patched.setattr(derive_step, "derive", derived)


@dataclass
class Studios:
    """Studios one after the other over one engine, so that statements are compiled once for all of them."""

    database: Database
    media: Media
    folder: Path
    open_shelf: Callable[[Path], Shelf]

    def open(self) -> Studio:
        """A studio in which nothing has happened yet."""
        self._wipe()
        self.database.clock = clock = Clock()
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        shelf = self.open_shelf(folder)
        return Studio(self.database, shelf, clock, folder, Remote(self.media.bodies), self.media.picture)

    def _wipe(self) -> None:
        names = ["search_text", *(table.name for table in reversed(schema.metadata.sorted_tables))]
        with self.database.engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"TRUNCATE {', '.join(names)} RESTART IDENTITY CASCADE")
                return
            for name in names:
                connection.execute(sa.delete(sa.table(name)))


@contextmanager
def _studios(url: str, media: Media, folder: Path) -> Iterator[Studios]:
    """Objects below each studio's folder, the index in its database."""
    database = Database.at(url)
    index = SqlTagIndex(database.engine, database.engine.execution_options(**READ_ONLY))
    yield Studios(database, media, folder, lambda folder: Shelf(LocalStore(folder / "objects"), index))
    database.close()


@pytest.fixture(scope="module")
def fast_folder() -> Iterator[Path]:
    """In memory where there is such a place: rules prove order, not disks."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def sqlite_studios(media: Media, migrated_sqlite: Path, fast_folder: Path) -> Iterator[Studios]:
    shutil.copy(migrated_sqlite, fast_folder / "reelwright.db")
    with _studios(f"sqlite:///{fast_folder / 'reelwright.db'}", media, fast_folder) as studios:
        yield studios


@pytest.fixture(scope="module")
def postgresql_studios(media: Media, postgres: Server, fast_folder: Path) -> Iterator[Studios]:
    with studios_database(postgres, fast_folder) as url, _studios(url, media, fast_folder) as studios:
        yield studios


@contextmanager
def studios_database(postgres: Server, folder: Path) -> Iterator[str]:
    """The URL of a migrated database for whoever works in *folder*."""
    name = f"studios_{folder.name}"
    admin = sa.create_engine(postgres.url(), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}" TEMPLATE template_reelwright STRATEGY WAL_LOG')
    yield postgres.url(name)
    with admin.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def studio(sqlite_studios: Studios) -> Studio:
    return sqlite_studios.open()
