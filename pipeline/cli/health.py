"""What `reelwright doctor` looks at: each thing that Reelwright stands on, tried for real.

Belongs here: one function a check, settings in, finding out, nothing left behind. Does not belong here: how
findings are shown (`doctor`), or checks over what the rows say (asset checks).

A check that cannot be made is a finding too: no check hides another.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa

from pipeline.cli import machine
from pipeline.cli.findings import Finding, Level
from pipeline.cli.opening import require_database
from pipeline.documents.settings import Settings
from pipeline.domain.errors import ReelwrightError, StoreConflict
from pipeline.domain.tags import query
from resources.connect import object_store, tag_index
from resources.database.database import Database
from resources.database.migrate import require_current
from resources.database.safety import CLOCK_SECONDS, require_safe, seconds_apart
from resources.database.trouble import unavailable
from resources.object_store.protocol import ObjectStore, Put

#: No slug begins so: what a check writes and asks for can be no tenant's.
NOBODY = "_doctor"
LOW_BYTES, TOO_LOW_BYTES = 5 * 2**30, 2**29
CLOCK_WARN_SECONDS = 2.0

Check = Callable[[Settings], Finding]


def check_all(settings: Settings) -> Iterator[Finding]:
    """Every check in turn; one that cannot be made fails by itself."""
    for name, check in CHECKS.items():
        try:
            yield check(settings)
        except ReelwrightError as error:
            yield Finding(name, Level.FAIL, str(error), error.remedy or "see the message")
        except sa.exc.DBAPIError as error:
            named = unavailable(error)
            yield Finding(name, Level.FAIL, str(named), named.remedy)
        except (OSError, sa.exc.SQLAlchemyError, subprocess.SubprocessError) as error:
            said = " ".join(str(error).split())
            yield Finding(name, Level.FAIL, f"{type(error).__name__}: {said}", "see the message")


def database(settings: Settings) -> Finding:
    """Opens, has this release's revision, and commits durably (the engine refuses anything less)."""
    with _database(settings) as opened:
        require_safe(opened, allow_unsafe=settings.allow_unsafe_database)
        revision = require_current(opened)
        with opened.reading() as connection:
            kind = connection.dialect.name
            durable = _durability(connection)
    return Finding("database", Level.OK, f"{kind} at revision {revision}, {durable}")


def _durability(connection: sa.Connection) -> str:
    if connection.dialect.name == "sqlite":
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        full = connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        return f"journal {mode}, synchronous {'full' if full else 'not full'}"
    return f"synchronous_commit {connection.exec_driver_sql('SHOW synchronous_commit').scalar()}"


def clock(settings: Settings) -> Finding:
    """Reelwright's time is the database's (L12); files, signed URLs and providers live by this machine's."""
    with _database(settings) as opened:
        apart = seconds_apart(opened)
    level = _level(abs(apart), CLOCK_WARN_SECONDS, CLOCK_SECONDS)
    remedy = "" if level is Level.OK else "synchronise the clocks of this machine and the database (NTP)"
    detail = f"{apart:+.3f} s from this machine's to the database's; at most {CLOCK_SECONDS:.0f}"
    return Finding("clock", level, detail, remedy)


def store(settings: Settings) -> Finding:
    """Writes, refuses other bytes under the same key, reads back, deletes."""
    opened, key = object_store(settings), f"{NOBODY}/{secrets.token_hex(8)}"
    try:
        is_created = _put(opened, key, b"first") is Put.CREATED
        overwrites = _overwrites(opened, key)
        is_whole = opened.sha256(key) == hashlib.sha256(b"first").hexdigest()
        apart = _behind(opened, key)
    finally:
        opened.delete(key)
    if not is_created or overwrites or not is_whole:
        detail = "put-if-absent overwrote, or other bytes came back"
        return Finding("object store", Level.FAIL, detail, "use a store that honours conditional writes")
    if apart > CLOCK_SECONDS:
        detail = f"its clock is {apart:.0f} s from this machine's; at most {CLOCK_SECONDS:.0f}"
        return Finding("object store", Level.FAIL, detail, "synchronise both clocks (NTP)")
    return Finding("object store", Level.OK, "writable; other bytes under a known key are refused")


def _behind(opened: ObjectStore, key: str) -> float:
    """Seconds between now and the time that the store gives to what was written just now."""
    written = opened.head(key)
    return 0.0 if written is None else abs(time.time() - written.modified_at.timestamp())


def _overwrites(opened: ObjectStore, key: str) -> bool:
    try:
        _put(opened, key, b"other")
    except StoreConflict:
        return False
    return True


def _put(opened: ObjectStore, key: str, content: bytes) -> Put:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "content")
        path.write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        return opened.put_if_absent(
            key, path, sha256=sha256, size=len(content), media_type="application/octet-stream"
        )


def index(settings: Settings) -> Finding:
    with _database(settings) as opened:
        require_current(opened)
        asked = tag_index(settings, opened)
        asked.require_writable()
        page = asked.search(NOBODY, query("doctor"), limit=1)
    return Finding("tag index", Level.OK, f"{settings.index_url} answers, {page.total} entries of nobody")


def disk(settings: Settings) -> Finding:
    """Where spool and (embedded) database and objects grow."""
    settings.spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryFile(dir=settings.spool) as probe:
        probe.write(b"writable")
    free = shutil.disk_usage(settings.home).free
    level = _level(-free, -LOW_BYTES, -TOO_LOW_BYTES)
    remedy = "" if level is Level.OK else f"free space below {settings.home}, or set REELWRIGHT_HOME"
    return Finding("disk", level, f"{free / 2**30:.1f} GiB free below {settings.home}", remedy)


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    """Opened only where it is."""
    require_database(settings)
    opened = Database.at(settings.database)
    try:
        yield opened
    finally:
        opened.close()


def _level(measured: float, warn: float, fail: float) -> Level:
    if measured > fail:
        return Level.FAIL
    return Level.WARN if measured > warn else Level.OK


#: In the order of the report: what others stand on first.
CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "database": database,
        "clock": clock,
        "object store": store,
        "tag index": index,
        "disk": disk,
        "ffmpeg": machine.ffmpeg,
        "fonts": machine.fonts,
        "sandbox": machine.sandbox,
        "providers": machine.providers,
        "renderer": machine.renderer,
        "dagster": machine.dagster,
    }
)
