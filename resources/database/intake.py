"""What was seen in the intake: files, and whether they still grow (I1).

Belongs here: statements over `intake_files`. Does not belong here: what a file means (`pipeline.steps`).

A file is stable after two looks at the same size and time that lie five seconds apart, by the database's
clock; a store that takes only whole objects says so itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import Stage
from pipeline.domain.lifecycle import SourceSetState
from resources.database.database import Transaction
from resources.database.pauses import ALL, pausing
from resources.database.schema import intake_files, revision_sources, revisions
from resources.database.upsert import insert_for

STABLE_AFTER = 5_000_000  #: microseconds between two equal looks

_SAME_VERSION = ("size_bytes", "modified_at")


@dataclass(frozen=True, slots=True)
class Seen:
    """One file as a look found it."""

    path: str  #: its key in the store
    tenant: str  #: the tenant whose place it lies in; empty outside of all
    size_bytes: int
    modified_at: int  #: UTC microseconds
    is_stable: bool  #: whole for certain, whatever the looks say

    @property
    def version(self) -> tuple[int, int]:
        return self.size_bytes, self.modified_at


def version_of(row: sa.Row[Any]) -> tuple[int, int]:
    return row.size_bytes, row.modified_at


def known_files(connection: sa.Connection) -> dict[str, sa.Row[Any]]:
    return {row.path: row for row in connection.execute(sa.select(intake_files))}


def file_at(connection: sa.Connection, path: str) -> sa.Row[Any] | None:
    return connection.execute(sa.select(intake_files).where(intake_files.c.path == path)).one_or_none()


def files_beside(connection: sa.Connection, folder: str) -> dict[str, sa.Row[Any]]:
    """Files directly in *folder* by their name in NFC, as briefs spell names."""
    start = f"{folder}/"
    wanted = sa.select(intake_files).where(intake_files.c.path.startswith(start, autoescape=True))
    rows = connection.execute(wanted).all()
    return {
        name_of(row.path): row
        for row in rows
        # SQLite's LIKE folds the case of ASCII letters
        if row.path.startswith(start) and "/" not in row.path[len(start) :]
    }


def name_of(path: str) -> str:
    return unicodedata.normalize("NFC", path.rpartition("/")[2])


def record_seen(tx: Transaction, files: Iterable[Seen]) -> None:
    """A new version of each file begins its own looks; nothing of it is handled yet.

    A version that was seen before stays as it is, unless it is known to be whole only now.
    """
    rows = [
        {
            "path": one.path,
            "tenant": one.tenant,
            "size_bytes": one.size_bytes,
            "modified_at": one.modified_at,
            "first_seen_at": tx.now,
            "stable_at": tx.now if one.is_stable else None,
            "handled_at": None,
            "outcome": None,
        }
        for one in files
    ]
    if not rows:
        return
    insert = insert_for(tx.connection, intake_files)
    changed = [column for column in rows[0] if column not in ("path", "tenant")]
    is_other = sa.or_(*(intake_files.c[name] != insert.excluded[name] for name in _SAME_VERSION))
    is_whole_now = sa.and_(intake_files.c.stable_at.is_(None), insert.excluded.stable_at.is_not(None))
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["path"],
            set_={name: insert.excluded[name] for name in changed},
            where=sa.or_(is_other, is_whole_now),
        ),
        rows,
    )


def record_stable(tx: Transaction, paths: Sequence[str]) -> None:
    """These looked the same long enough; the first look must lie far enough back in this transaction too."""
    if paths:
        tx.connection.execute(
            sa.update(intake_files)
            .where(
                intake_files.c.path.in_(paths),
                intake_files.c.stable_at.is_(None),
                intake_files.c.first_seen_at <= tx.now - STABLE_AFTER,
            )
            .values(stable_at=tx.now)
        )


def forget(tx: Transaction, paths: Sequence[str]) -> None:
    """Files that are gone; one that comes back is a new one."""
    if paths:
        tx.connection.execute(sa.delete(intake_files).where(intake_files.c.path.in_(paths)))


def record_handled(tx: Transaction, file: sa.Row[Any], outcome: str) -> None:
    """This version of a brief was ingested; a newer one that came meanwhile stays due."""
    tx.connection.execute(
        sa.update(intake_files)
        .where(
            intake_files.c.path == file.path,
            intake_files.c.size_bytes == file.size_bytes,
            intake_files.c.modified_at == file.modified_at,
        )
        .values(handled_at=tx.now, outcome=outcome)
    )


def due_files(connection: sa.Connection, endings: Sequence[str]) -> Sequence[sa.Row[Any]]:
    """Stable files with one of *endings* that were not handled, in the order in which they became stable."""
    wanted = sa.select(intake_files).where(
        intake_files.c.stable_at.is_not(None),
        intake_files.c.handled_at.is_(None),
        sa.or_(*(sa.func.lower(intake_files.c.path).like(f"%{ending}") for ending in endings)),
        ~_is_paused(intake_files.c.tenant),
    )
    return connection.execute(wanted.order_by(intake_files.c.stable_at, intake_files.c.path)).all()


def waiting_sources(connection: sa.Connection) -> Sequence[sa.Row[Any]]:
    """Every source of every revision in `uploaded`, with the folder in which it is looked for."""
    wanted = (
        sa.select(revision_sources, revisions.c.intake_folder)
        .join(revisions, revisions.c.id == revision_sources.c.revision)
        .where(revisions.c.state == str(SourceSetState.UPLOADED), ~_is_paused(revisions.c.tenant))
        .order_by(revisions.c.created_at, revision_sources.c.revision)
    )
    return connection.execute(wanted).all()


def _is_paused(tenant: sa.Column[str]) -> sa.ColumnElement[bool]:
    return pausing(Stage.INGEST, sa.literal(ALL), tenant)
