"""A studio on either database, and media that the real sandbox has looked at once.

Belongs here: making studios for rules and tests. Does not belong here: what happens in one.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
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
from resources.media import Sandbox, examine_video
from resources.media import derive as derive_pictures
from tests.acceptance.memory_provider import Remote
from tests.acceptance.studio import Studio
from tests.conftest import Clock
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


def _open(url: str, folder: Path, media: Media, wipe: Callable[[], None]) -> Studio:
    clock = Clock()
    database = Database.at(url)
    database.clock = clock
    return Studio(database, clock, folder, Remote(media.bodies), wipe, media.picture)


def _fast_folder() -> Path:
    """In memory where there is such a place: a machine of rules proves order, not disks."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="reelwright-", dir=memory if memory.is_dir() else None))


def on_sqlite(template: Path, media: Media) -> Studio:
    folder = _fast_folder()
    shutil.copy(template, folder / "reelwright.db")
    return _open(f"sqlite:///{folder / 'reelwright.db'}", folder, media, lambda: None)


def on_postgresql(url: str, media: Media) -> Studio:
    def wipe() -> None:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            names = ", ".join(table.name for table in schema.metadata.sorted_tables)
            connection.exec_driver_sql(f"TRUNCATE {names}, search_text RESTART IDENTITY CASCADE")

    return _open(url, _fast_folder(), media, wipe)


@pytest.fixture
def studio(media: Media, migrated_sqlite: Path) -> Iterator[Studio]:
    opened = on_sqlite(migrated_sqlite, media)
    yield opened
    opened.close()
