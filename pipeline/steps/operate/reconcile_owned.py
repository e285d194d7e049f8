"""Looks at what is owned or lies around: entries, pictures, remote jobs, temporary objects, spool (E6).

Belongs here: those looks and their repairs. Does not belong here: what moves work on (`reconcile_work`), or
removing anything that is owned (retention).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipeline.steps.operate.check import seen_jobs
from pipeline.steps.operate.reconciled import ACTOR, ROWS, SETTLED, Done, Finding, Item
from pipeline.steps.operate.reindex import differing
from pipeline.steps.operate.rethumbnail import RENEWED, restore_pictures
from pipeline.steps.produce.ingest import micros
from pipeline.steps.produce.private_folder import sweep_private_folders
from pipeline.steps.produce.spool import sweep_spool
from pipeline.steps.produce.telling import Heard, tell
from resources.adapters import Adapters
from resources.database.attempts import attempts_by_id
from resources.database.database import Database, Transaction
from resources.database.index_entries import due_entries, entry_rows
from resources.database.invariants import SeenJob
from resources.database.invariants.owning import IMPORT_WINDOW
from resources.database.leftovers import known_jobs, older_transforms, unused_objects
from resources.database.sampling import window
from resources.database.schema import index_entries
from resources.database.sends import record_remote_job
from resources.database.upkeep import make_entry_due, refused_entries, silent_entries

#: Entries that one reconciliation looks for in the index itself (the rule of the window: `sampling`).
ENTRIES = 500
#: Sets of pictures that one reconciliation makes whole; each decodes a video.
SETS = 50


def entries(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Tell the index what it was not told, or does not say although it once did."""
    database = adapters.database
    with database.reading() as connection:
        behind = {row.id: "due never" for row in silent_entries(connection, ROWS)}
        overdue = due_entries(connection, now - SETTLED, ROWS)
        seen = window(connection, _told(), index_entries.c.id, size=ENTRIES, now=now)
        refused = refused_entries(connection, ROWS)
    behind |= {row.id: "due for long" for row in overdue}
    sampled = [row.id for row in seen.rows if row.id not in behind]
    behind |= differing(database, adapters.index, sampled) if sampled else {}
    yield from _tell(adapters, behind)
    for row in refused:
        why = f"the index refuses it: {row.refused_reason}"
        yield _of_entry(row, Done.LISTED, why, f"version {row.version}, not shown")


def _told() -> sa.Select[Any]:
    """Entries of which the index is believed to say the newest."""
    return sa.select(index_entries).where(index_entries.c.synced_version == index_entries.c.version)


def _tell(adapters: Adapters, behind: dict[str, str]) -> Iterator[Finding]:
    if not behind:
        return
    with adapters.database.reading() as connection:
        rows = entry_rows(connection, behind)

    def make_due(tx: Transaction) -> set[str]:
        return {row.id for row in rows.values() if not make_entry_due(tx, row)}

    overtaken = adapters.database.run(make_due)
    told = tell(adapters.database, adapters.index, [name for name in rows if name not in overtaken])
    for name, row in rows.items():
        before, why = f"{row.standing}, {behind[name]}", "the index does not say its newest version"
        if name in overtaken:
            yield _of_entry(row, Done.OVERTAKEN, why, before)
            continue
        heard = told[name].heard
        done = Done.MENDED if heard is Heard.VISIBLE else Done.WAITS
        yield _of_entry(row, done, why, before, f"{heard} {told[name].reason}".strip())


def _of_entry(row: sa.Row[Any], done: Done, why: str, before: str, after: str = "") -> Finding:
    return Finding(Item.ENTRIES, done, row.attempt, why, before, after, row.campaign, int(row.version))


def pictures(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Make sets of pictures whole that lost one; those under an older set stay for a backfill."""
    words = {RENEWED: Done.MENDED, "skipped": Done.WAITS, "failed": Done.FAILED}
    for result in restore_pictures(adapters, actor=ACTOR, at_most=SETS).results:
        after = result.reason or f"complete under {adapters.transforms.version}"
        why, before = "a picture of its set is gone", "its manifest is not complete"
        yield Finding(Item.PICTURES, words[result.word], result.subject, why, before, after, result.campaign)


def jobs(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Keep as evidence what providers list under our references and we do not know."""
    named = seen_jobs(adapters)
    with adapters.database.reading() as connection:
        known = {
            (provider, handle)
            for provider in {job.provider for job in named}
            for handle in known_jobs(connection, provider, _handles(named, provider))
        }
        owners = attempts_by_id(connection, sorted({job.reference for job in named}))
    for job in named:
        if (job.provider, job.handle) not in known:
            yield _unknown_job(adapters.database, job, owners.get(job.reference))


def _handles(named: Sequence[SeenJob], provider: str) -> list[str]:
    return [job.handle for job in named if job.provider == provider]


def _unknown_job(database: Database, job: SeenJob, row: sa.Row[Any] | None) -> Finding:
    """A lost submission binds its job by itself; any other job may be one too many, and costs."""
    subject, before = f"{job.provider} {job.handle}", f"carries {job.reference}"
    if row is None:
        return Finding(Item.JOBS, Done.LISTED, subject, "no attempt has this reference", before)
    if row.submission == "unknown":
        why = "its submission is unknown; the next look binds it"
        return Finding(Item.JOBS, Done.WAITS, subject, why, before, "", row.campaign, int(row.version))
    database.run(lambda tx: record_remote_job(tx, row, job.handle, found_by="listing", bound=False))
    why, after = "a second job of one attempt", "kept as evidence; ask the provider about its bill"
    return Finding(Item.JOBS, Done.MENDED, subject, why, before, after, row.campaign, int(row.version))


def temporary(adapters: Adapters, now: int) -> Iterator[Finding]:
    """Delete what killed writes left in the store, once no import can still be running."""
    for one in adapters.store.list_temporary():
        if micros(one.modified_at) < now - IMPORT_WINDOW:
            adapters.store.delete_temporary(one.key)
            before = f"{one.size} bytes of {one.modified_at.isoformat(timespec='seconds')}"
            why = "left by a write that was killed"
            yield Finding(Item.TEMPORARY, Done.MENDED, one.key, why, before, "deleted")


def spool(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """Remove what dead workers left in this machine's spool."""
    swept = {
        "files of attempts": sweep_spool(adapters.database, adapters.spool),
        "folders of intakes": sweep_private_folders(adapters.spool),
    }
    for what, number in swept.items():
        if number:
            why = "left by workers that are gone"
            yield Finding(Item.SPOOL, Done.MENDED, what, why, f"{number} there", "removed")


def versions(adapters: Adapters, now: int) -> Iterator[Finding]:  # noqa: ARG001 - one signature for all looks
    """List older transform versions; `reelwright backfill thumbnails` moves on, retention removes."""
    in_force = adapters.transforms.version
    with adapters.database.reading() as connection:
        found = older_transforms(connection, in_force)
    for row in found:
        before = f"{row.pictures} pictures, {row.size_bytes} bytes, {row.behind} attempts show it"
        yield Finding(Item.VERSIONS, Done.LISTED, row.version, f"{in_force} is in force", before)


def unused(adapters: Adapters, now: int) -> Iterator[Finding]:
    """List owned objects that nobody needs; only retention removes them."""
    with adapters.database.reading() as connection:
        found = unused_objects(connection, before=now - IMPORT_WINDOW, limit=ROWS)
    for row in found:
        made = datetime.fromtimestamp(row.created_at // 1_000_000, UTC).isoformat()
        before = f"{row.kind}, {row.size_bytes} bytes of {made}"
        why = "nothing uses it"
        yield Finding(Item.UNUSED, Done.LISTED, row.id, why, before, "", row.campaign or "", row.version)
