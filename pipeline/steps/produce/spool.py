"""The spool: a private local folder where foreign bytes lie while they are judged (R1).

Belongs here: names of spool files, and sweeping away what dead workers left. Does not belong here: what is
put into them.

A name carries attempt and lease token, so that two workers never share a file, and a file whose token is no
longer the attempt's is known to be nobody's.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import StoreUnavailable
from resources.database.attempts import attempts_by_id
from resources.database.database import Database

_NAME = re.compile(r"(?P<attempt>[^.]+)\.(?P<token>\d+)\.(?:video|source|pictures)")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def spool_trouble(spool: Path) -> Iterator[None]:
    """What the disk refuses leaves as StoreUnavailable (`disk_full`, `spool_unusable`): ours to mend."""
    try:
        yield
    except OSError as error:
        full = error.errno in _FULL
        raise StoreUnavailable(
            "disk_full" if full else "spool_unusable",
            f"the spool {spool}: {error.strerror or error}",
            "free disk space" if full else "check that the spool folder exists and is writable",
        ) from error


@contextmanager
def spooled(spool: Path, row: sa.Row[Any], kind: str) -> Iterator[Path]:
    """A free name in the spool for one claimed attempt; whatever lies there is gone afterwards.

    *kind* is `video`, `source` or `pictures`. Trouble with the disk leaves as StoreUnavailable (`disk_full`,
    `spool_unusable`): ours, never the media's.
    """
    path = spool / f"{row.id}.{row.lease_token}.{kind}"
    try:
        with spool_trouble(spool):
            spool.mkdir(parents=True, exist_ok=True, mode=0o700)
            _remove(path)
            yield path
    finally:
        _remove(path)


def sweep_spool(database: Database, spool: Path) -> int:
    """Remove what dead workers left: their lease is over, or another worker has the attempt by now."""
    left = {path: found for path in _entries(spool) if (found := _NAME.fullmatch(path.name))}
    if not left:
        return 0
    with database.reading() as connection:
        now = database.clock(connection)
        rows = attempts_by_id(connection, sorted({found["attempt"] for found in left.values()}))
    dead = [path for path, found in left.items() if not _is_held(rows.get(found["attempt"]), found, now)]
    for path in dead:
        _remove(path)
    return len(dead)


def _entries(spool: Path) -> list[Path]:
    return sorted(spool.iterdir()) if spool.is_dir() else []


def _is_held(row: sa.Row[Any] | None, found: re.Match[str], now: int) -> bool:
    return row is not None and row.lease_token == int(found["token"]) and row.lease_until >= now


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
