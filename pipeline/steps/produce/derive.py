"""Make the pictures of every owned video, once per bytes and transform version (D1).

Belongs here: the order of work for one stored attempt, and what is committed. Does not belong here: making
pictures (`resources.media`), or what an old transform version means (checks).

Pictures are durable in the store before the one commit that makes the manifest complete. A repeated try
makes the same bytes and finds them there; a manifest of equal bytes of the same tenant is shared.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import (
    DatabaseUnavailable,
    LostRace,
    MediaRefused,
    MediaUnproven,
    SandboxFailed,
    StoreConflict,
    StoreUnavailable,
    UnknownSubject,
)
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import Parked
from pipeline.domain.media import DerivativeFile, TransformSet
from pipeline.domain.polling import backoff_seconds
from pipeline.domain.renditions import derivative_key
from pipeline.steps.produce.lot import ItemResult
from pipeline.steps.produce.spool import spooled
from resources.database.counters import count_up
from resources.database.database import Database, Transaction
from resources.database.derivatives import Picture, manifests, record_manifest
from resources.database.objects import (
    NewObject,
    Use,
    descend,
    hold_objects,
    objects_by_id,
    own,
    purges_before_put,
    use,
)
from resources.database.outputs import is_to_be_shown, outputs
from resources.database.transitions import Transition, apply_one
from resources.media import Sandbox, derive, examine_image
from resources.object_store.protocol import ObjectStore

logger = logging.getLogger(__name__)

SECOND = 1_000_000
#: Crashes of the media child that are believed to be chance.
WORK_TRIES = 3
#: Videos that are decoded side by side; each is one child of the sandbox.
WORKERS = max(1, min(4, os.cpu_count() or 1))
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 10.0, 600.0
_MEDIA_TYPES = {"webp": "image/webp", "jpeg": "image/jpeg"}


class Underivable(Exception):
    """These bytes will give no pictures, however often they are tried."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


def derive_group(
    database: Database,
    rows: Sequence[sa.Row[Any]],
    *,
    store: ObjectStore,
    sandbox: Sandbox,
    transforms: TransformSet,
    spool: Path,
    actor: str = "deriver",
) -> list[ItemResult]:
    """Derive claimed *rows* (attempts in `stored` without a manifest); one result each.

    Words: `derived`, `rests` (nobody wants it shown), `parked` (underivable), `postponed`, `lost`.
    """
    deriving = Deriving(database, store, sandbox, transforms, spool, actor)
    with database.reading() as connection:
        sources = objects_by_id(connection, {row.object for row in rows})
        standing = outputs(connection, [row.id for row in rows])

    def one(row: sa.Row[Any]) -> ItemResult:
        if is_to_be_shown(standing[row.id]):
            return deriving.one(row, sources[row.object])
        return deriving.rest(row)

    with ThreadPoolExecutor(WORKERS) as workers:
        return list(workers.map(one, rows))


@dataclass(frozen=True, slots=True)
class Made:
    """One picture, durable under its key; `sha256` and `size_bytes` are of what lies there."""

    file: DerivativeFile
    key: str
    sha256: str
    size_bytes: int
    purges_before: int  #: of its key, before it was put there


@dataclass(frozen=True, slots=True)
class Deriving:
    """Making the pictures of claimed attempts, and what becomes of those of a derive lot."""

    database: Database
    store: ObjectStore
    sandbox: Sandbox
    transforms: TransformSet
    spool: Path
    actor: str

    def one(self, row: sa.Row[Any], source: sa.Row[Any]) -> ItemResult:
        try:
            made = self.pictures(row, source)
            return self._commit(row, lambda tx: self._complete(tx, row, source, made), "derived")
        except Underivable as refusal:
            return self._park(row, refusal.reason, str(refusal))
        except SandboxFailed as failure:
            return self._try_again(row, failure.reason, str(failure))
        except StoreUnavailable as error:
            return self._postpone(row, error.reason, {})
        except DatabaseUnavailable:
            raise
        except Exception as error:
            logger.error("derivation of %s failed", row.id, exc_info=error)
            return self._try_again(row, f"unexpected_{type(error).__name__}", str(error))

    def _try_again(self, row: sa.Row[Any], reason: str, problem: str) -> ItemResult:
        """What one item brings out must not hold up the others; bounded, then a person looks."""
        if row.work_tries + 1 >= WORK_TRIES:
            return self._park(row, reason, problem)
        return self._postpone(row, reason, {"work_tries": row.work_tries + 1})

    def rest(self, row: sa.Row[Any]) -> ItemResult:
        """Not selected, or its rendition is not wanted: it is kept for audit and shown to nobody (L4)."""
        facts = {"next_action_at": None}
        resting = Transition("attempt", row, None, self.actor, "not_wanted", facts=facts, release=True)
        return self._commit(row, lambda tx: apply_one(tx, resting), "rests")

    def pictures(self, row: sa.Row[Any], source: sa.Row[Any]) -> Sequence[Made]:
        """Every picture of the set, durable in the store; empty where the manifest is complete already.

        Raises Underivable, SandboxFailed and StoreUnavailable.
        """
        with self.database.reading() as connection:
            is_complete = self._manifest(connection, source) is not None
        return () if is_complete else self._make(row, source)

    def _manifest(self, connection: sa.Connection, source: sa.Row[Any]) -> Sequence[sa.Row[Any]] | None:
        """The pictures of these bytes under this version when the set has its full number, else None."""
        of = source.tenant, source.sha256
        found = manifests(connection, self.transforms.version, {of}).get(of, [])
        complete = {row.name for row in found} >= {one.name for one in self.transforms.derivatives}
        return found if complete else None

    def _make(self, row: sa.Row[Any], source: sa.Row[Any]) -> Sequence[Made]:
        with spooled(self.spool, row, "source") as video, spooled(self.spool, row, "pictures") as folder:
            try:
                read = self.store.get_to(source.key, video)
                if read.sha256 != source.sha256:
                    raise Underivable("owned_bytes_changed", f"{source.key} holds other bytes than recorded")
                files = derive(self.sandbox, video, self.transforms, folder)
            except UnknownSubject as error:
                raise Underivable("owned_bytes_gone", str(error)) from error
            except (MediaRefused, MediaUnproven) as refusal:
                raise Underivable(refusal.reason, str(refusal)) from refusal
            keys = {file: self._key(source, file) for file in files}
            with self.database.reading() as connection:
                purges = purges_before_put(connection, keys.values())
            return [self._keep(folder, file, key, purges.get(key, 0)) for file, key in keys.items()]

    def _key(self, source: sa.Row[Any], file: DerivativeFile) -> str:
        extension = file.filename.rpartition(".")[2]
        return derivative_key(source.tenant, source.sha256, self.transforms.version, file.name, extension)

    def _keep(self, folder: Path, file: DerivativeFile, key: str, purges: int) -> Made:
        path = folder / file.filename
        try:
            self.store.put_if_absent(
                key, path, sha256=file.sha256, size=file.size_bytes, media_type=_MEDIA_TYPES[file.format]
            )
        except StoreConflict:
            return self._adopt(key, path, file, purges)
        return Made(file, key, file.sha256, file.size_bytes, purges)

    def _adopt(self, key: str, path: Path, file: DerivativeFile, purges: int) -> Made:
        """Another release of the encoder may have been here: its picture stays when it is the right one."""
        self.store.get_to(key, path)
        try:
            facts = examine_image(self.sandbox, path)
        except MediaRefused as refusal:
            raise Underivable("key_holds_other_bytes", f"{key}: {refusal}") from refusal
        found = (facts.display_width, facts.display_height, facts.container)
        if found != (file.width, file.height, file.format):
            raise Underivable("key_holds_other_bytes", f"{key} is another picture: {found}")
        return Made(file, key, facts.sha256, facts.size_bytes, purges)

    def _complete(self, tx: Transaction, row: sa.Row[Any], source: sa.Row[Any], made: Sequence[Made]) -> None:
        """Manifest, objects, uses and the fact that says so: all or nothing."""
        apply_one(tx, self._derived(row))
        self.record(tx, row, source, made)

    def record(self, tx: Transaction, row: sa.Row[Any], source: sa.Row[Any], made: Sequence[Made]) -> None:
        """Own what was *made*, complete the manifest, and note that this attempt needs its pictures."""
        if made:
            ids = own(tx, [_object(source, one, self.transforms.version) for one in made])
            descend(tx, source.tenant, source.id, set(ids.values()))
            pictures = [_picture(one, ids[one.key]) for one in made]
            record_manifest(tx, source.tenant, source.sha256, self.transforms.version, pictures)
        hold_objects(tx, [one.object for one in self._manifest(tx.connection, source) or ()])
        pictures_now = self._manifest(tx.connection, source)
        if pictures_now is None:
            raise StoreUnavailable("manifest_changed", f"pictures of {source.key} were purged meanwhile")
        use(tx, [Use(one.object, "attempt", row.id, row.tenant) for one in pictures_now])

    def _derived(self, row: sa.Row[Any]) -> Transition:
        return Transition(
            "attempt",
            row,
            None,
            self.actor,
            "manifest_complete",
            facts={
                "derived_version": self.transforms.version,
                "work_tries": 0,
                "parked_reason": None,
                "next_action_at": None,
            },
            topics=(Topic.MANIFEST_COMPLETE,),
            detail={"transform_version": self.transforms.version},
            release=True,
        )

    def _park(self, row: sa.Row[Any], reason: str, problem: str) -> ItemResult:
        """Refused for good: it waits for a person, who sees why."""
        parked = Transition(
            "attempt",
            row,
            None,
            self.actor,
            reason,
            facts={
                "parked_reason": str(Parked.UNDERIVABLE),
                "outcome_reason": reason,
                "next_action_at": None,
            },
            detail={"problem": problem[:500]},
            release=True,
        )
        return self._commit(row, lambda tx: apply_one(tx, parked), "parked", reason)

    def _postpone(self, row: sa.Row[Any], reason: str, facts: Mapping[str, Any]) -> ItemResult:
        wait = backoff_seconds(
            row.work_tries,
            first=FIRST_WAIT_SECONDS,
            ceiling=LONGEST_WAIT_SECONDS,
            spread=random.random(),  # noqa: S311 - spreads load, guards nothing
        )

        def work(tx: Transaction) -> None:
            due = tx.now + int(wait * SECOND)
            all_facts = {**facts, "next_action_at": due}
            apply_one(tx, Transition("attempt", row, None, self.actor, reason, facts=all_facts, release=True))

        return self._commit(row, work, "postponed", reason)

    def _commit(
        self, row: sa.Row[Any], work: Callable[[Transaction], None], word: str, reason: str = ""
    ) -> ItemResult:
        try:
            self.database.run(work)
        except LostRace as lost:
            found = lost.found
            self.database.run(lambda tx: count_up(tx, f"attempt_{found}", row.tenant))
            return ItemResult(row.id, row.campaign, "lost", found)
        return ItemResult(row.id, row.campaign, word, reason)


def _object(source: sa.Row[Any], made: Made, version: str) -> NewObject:
    """Of the retention class of what it was made from."""
    return NewObject(
        tenant=source.tenant,
        campaign=source.campaign,
        kind="derivative",
        retention_class=source.retention_class,
        key=made.key,
        sha256=made.sha256,
        size_bytes=made.size_bytes,
        media_type=_MEDIA_TYPES[made.file.format],
        facts={"width": made.file.width, "height": made.file.height, "transform_version": version},
        purges_before=made.purges_before,
    )


def _picture(made: Made, object_: str) -> Picture:
    file = made.file
    return Picture(
        file.name, object_, file.width, file.height, file.format, made.size_bytes, file.at_source_width
    )
