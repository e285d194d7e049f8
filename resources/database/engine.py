"""Opening a database so that a commit is durable, a lock wait is bounded, and both are checked.

Belongs here: connection settings of both dialects and the refusal of unsafe ones (L10). Does not
belong here: any statement about Reelwright's tables.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url

from pipeline.domain.errors import BadSettings
from resources.database.host import claim

BUSY_TIMEOUT_MS = 5_000
#: PostgreSQL: a client that hangs inside a transaction frees its row locks after this long.
IDLE_IN_TRANSACTION_MS = 10_000
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 60_000
CONNECT_SECONDS = 10
#: PostgreSQL: connections that a process keeps, and those beside them that it opens at need and closes again.
POOL_SIZE, POOL_OVERFLOW = 5, 5
#: A thread waits so long for one of them.
POOL_WAIT_SECONDS = 30

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smbfs",
        "smb3",
        "afpfs",
        "webdav",
        "9p",
        "fuse.sshfs",
        "glusterfs",
        "fuse.glusterfs",
        "ceph",
        "fuse.ceph",
        "lustre",
        "gpfs",
        "beegfs",
        "afs",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "fuse.rclone",
        "fuse.mount-s3",
        "fuse.davfs2",
    }
)

#: Execution option of connections that only read: SQLite then takes no write lock.
READ_ONLY = {"reelwright_read_only": True}


def open_engine(url: str) -> sa.Engine:
    """An engine for *url* (`sqlite:///path` or `postgresql://…`); raises `BadSettings` on an unsafe one."""
    parsed = normalised(url)
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.get_backend_name() == "postgresql":
        return _open_postgresql(parsed)
    raise BadSettings(
        "database_url",
        f"{parsed.get_backend_name()} is not supported",
        "use sqlite:///PATH or postgresql://USER@HOST/NAME",
    )


def normalised(url: str) -> URL:
    """The URL with its driver named: a bare `postgresql://` means psycopg 3 in SQLAlchemy 2.1."""
    try:
        parsed = make_url(url)
    except sa.exc.ArgumentError as error:
        raise BadSettings("database_url", "not a database URL", "use sqlite:///PATH") from error
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg2")
    return parsed


def _open_sqlite(url: URL) -> sa.Engine:
    if not url.database or url.database == ":memory:":
        raise BadSettings("database_url", "an in-memory database is not durable", "name a file")
    refuse_network_file_system(Path(url.database))
    if Path(url.database).parent.is_dir():
        claim(Path(url.database))
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, see _begin_sqlite
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    if sys.platform == "darwin":
        cursor.execute("PRAGMA fullfsync=ON")
    found = tuple(
        cursor.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys")
    )
    cursor.close()
    if found != ("wal", 2, 1):
        raise BadSettings(
            "database_url",
            f"SQLite runs with journal_mode, synchronous, foreign_keys = {found}",
            "put the database on a local file system that supports WAL",
        )


def _begin_sqlite(connection: sa.Connection) -> None:
    # A deferred transaction that turns into a writer cannot wait for the lock; an immediate one can.
    read_only = connection.get_execution_options().get("reelwright_read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _open_postgresql(url: URL) -> sa.Engine:
    options = " ".join(
        f"-c {name}={value}"
        for name, value in (
            ("statement_timeout", STATEMENT_TIMEOUT_MS),
            ("lock_timeout", LOCK_TIMEOUT_MS),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS),
            ("timezone", "UTC"),
            ("plan_cache_mode", "force_generic_plan"),  # of what `frozen` prepares
        )
    )
    engine = sa.create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        pool_timeout=POOL_WAIT_SECONDS,
        pool_pre_ping=True,
        executemany_mode="values_plus_batch",  # INSERT … ON CONFLICT too: not a round trip a row
        executemany_batch_page_size=500,
        connect_args={
            "options": options,
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "reelwright",
        },
    )
    event.listen(engine, "connect", _check_postgresql)
    return engine


def _check_postgresql(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        found = cursor.fetchone()[0]
    connection.rollback()
    if found == "off":
        raise BadSettings(
            "database_url",
            "PostgreSQL runs with synchronous_commit = off: a commit may be forgotten after a paid send",
            "set synchronous_commit = on for this role or database",
        )


def refuse_network_file_system(path: Path) -> None:
    """Raise `BadSettings` when *path* lies on a network file system: SQLite's locks lie there."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    mounts = sorted(psutil.disk_partitions(all=True), key=lambda part: len(part.mountpoint))
    kinds = [part.fstype for part in mounts if place.is_relative_to(part.mountpoint)]
    if kinds and kinds[-1].lower() in NETWORK_FILE_SYSTEMS:
        raise BadSettings(
            "database_url",
            f"{path} lies on a network file system ({kinds[-1]})",
            "use a local disk for SQLite, or PostgreSQL for more than one machine",
        )
