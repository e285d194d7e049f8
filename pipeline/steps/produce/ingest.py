"""Ingest briefs: look into the intake, record what is stable, take up images, answer beside the brief (I1).

Belongs here: the order of things from a dropped file to a receipt. Does not belong here: what a brief changes
(`record_brief`), pictures (`sources`), or the decision (`moderate`).

Folder, command line and sensor lead to `ingest_brief`. A brief that is refused leaves only its receipt; one
whose lot was killed halfway is simply due again, and doing it again changes nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.documents.brief import read_brief
from pipeline.documents.yaml_source import MAX_BYTES
from pipeline.domain.brief import Brief
from pipeline.domain.errors import (
    BadDocument,
    BadInput,
    Fault,
    ReelwrightError,
    UnknownSubject,
    WrongTenant,
)
from pipeline.domain.follow_ons import Stage
from pipeline.steps.produce.lot import ItemResult, LotReport
from pipeline.steps.produce.private_folder import sweep_private_folders
from pipeline.steps.produce.receipts import (
    Receipt,
    remove_refusal,
    write_receipt,
    write_refusal,
)
from pipeline.steps.produce.record_brief import Delivery, Recorded, record_brief
from pipeline.steps.produce.sources import Intake, settle_sources
from resources.database.database import Database, Transaction
from resources.database.intake import (
    Seen,
    due_files,
    file_at,
    forget,
    known_files,
    name_of,
    record_handled,
    record_seen,
    record_stable,
    version_of,
    waiting_sources,
)
from resources.database.revisions import revision_by_id
from resources.object_store.protocol import INTAKE_PREFIX, ObjectStore, Stored

BRIEF_ENDINGS = (".yaml", ".yml")
ANSWER_ENDINGS = (".receipt.json", ".errors.txt")
LAYOUT = "intake/TENANT/FOLDER/NAME.yaml, its images beside it"
LOT_BRIEFS = 50

REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class IntakeLook:
    """What one look found: how many files lie there, and what a lot should take on."""

    files: int
    briefs: tuple[str, ...]  #: keys of briefs that are stable and not ingested
    revisions: tuple[str, ...]  #: revisions that wait for a source which can be judged now
    settling: int = 0  #: files that this look found new or changed: another look says whether they stay so

    @property
    def is_due(self) -> bool:
        return bool(self.briefs or self.revisions)


def look_at_intake(database: Database, store: ObjectStore) -> IntakeLook:
    """List the intake and remember what was seen; writes only what changed since the last look."""
    found = {one.path: one for one in map(_seen, store.list(INTAKE_PREFIX))}
    with database.reading() as connection:
        known = known_files(connection)
    changed = {path: one for path, one in found.items() if _is_news(one, known.get(path))}
    looked_again = [
        path for path, row in known.items() if row.stable_at is None and path in found and path not in changed
    ]
    gone = [path for path in known if path not in found]
    if changed or looked_again or gone:

        def work(tx: Transaction) -> None:
            record_seen(tx, changed.values())
            record_stable(tx, looked_again)
            forget(tx, gone)

        database.run(work)
    with database.reading() as connection:
        briefs = tuple(row.path for row in due_files(connection, BRIEF_ENDINGS))
        return IntakeLook(len(found), briefs, tuple(_due_revisions(connection)), _settling(changed))


def ingest_lot(intake: Intake, *, limit: int = LOT_BRIEFS, campaign: str | None = None) -> LotReport:
    """Take on up to *limit* due briefs and revisions, or the due revisions of one campaign alone.

    One that cannot be done now stays due.
    """
    began = time.monotonic()
    sweep_private_folders(intake.spool)
    look = look_at_intake(intake.database, intake.store)
    briefs = look.briefs if campaign is None else ()
    results = [_guarded(ingest_brief, intake, path) for path in briefs[:limit]]
    due = [one for one in look.revisions if campaign in (None, one.split("/")[0])]
    waiting = due[: limit - len(results)]
    results += [_guarded(settle_revision, intake, revision) for revision in waiting]
    return LotReport(Stage.INGEST, tuple(results), time.monotonic() - began)


def ingest_brief(intake: Intake, path: str) -> Receipt:
    """Ingest the brief at *path* and write its receipt; raises what refuses it, after saying so there."""
    with intake.database.reading() as connection:
        file = file_at(connection, path)
    if file is None:
        raise UnknownSubject("brief", path)
    try:
        delivery = _delivery(intake, path)
        recorded = intake.database.run(lambda tx: _record(tx, delivery, file, intake))
    except UnknownSubject:  # it was taken away since it was seen, and wants no answer
        raise
    except BadInput as refusal:
        write_refusal(intake.store, path, refusal)
        intake.database.run(lambda tx: record_handled(tx, file, REFUSED))
        raise
    settle_sources(intake, recorded.revision)
    remove_refusal(intake.store, path)
    return replace(_answer(intake, recorded.revision), outcome=str(recorded.outcome))


def settle_revision(intake: Intake, revision: str) -> Receipt:
    """Take up the sources of a revision that waited for them, and answer."""
    settle_sources(intake, revision)
    return _answer(intake, revision)


def _answer(intake: Intake, revision: str) -> Receipt:
    with intake.database.reading() as connection:
        row = revision_by_id(connection, revision)
    if row is None:
        raise UnknownSubject("revision", revision)
    return write_receipt(intake.database, intake.store, row)


def _guarded(work: Any, intake: Intake, subject: str) -> ItemResult:
    """One item of a lot: its failure is its own, named, and the others go on."""
    try:
        receipt: Receipt = work(intake, subject)
    except BadInput as refusal:
        return ItemResult(subject, "", REFUSED, type(refusal).__name__)
    except ReelwrightError as error:
        word = "postponed" if error.may_help else "failed"
        return ItemResult(subject, "", word, type(error).__name__)
    return ItemResult(subject, receipt.campaign, receipt.outcome or receipt.state)


def _record(tx: Transaction, delivery: Delivery, file: sa.Row[Any], intake: Intake) -> Recorded:
    recorded = record_brief(tx, delivery, intake.providers)
    record_handled(tx, file, str(recorded.outcome))
    return recorded


def _delivery(intake: Intake, path: str) -> Delivery:
    tenant, folder = _place(path)
    brief = _read(intake.store, path)
    if brief.tenant != tenant:
        raise WrongTenant(brief.tenant, tenant)
    return Delivery(brief, path, folder, intake.actor)


def _place(path: str) -> tuple[str, str]:
    """Tenant and folder of a brief's key; BadDocument where no brief belongs."""
    parts = path.split("/")
    if len(parts) != 4:
        fault = Fault("", "does not lie where briefs are read", allowed=LAYOUT)
        raise BadDocument(path, [fault], "move it there, its images too")
    if not path.endswith(".yaml"):
        fault = Fault(
            "", "is not named as briefs are", value=parts[-1], allowed="NAME.yaml, in small letters"
        )
        raise BadDocument(path, [fault], "give it a name that ends in .yaml")
    return parts[1], path.rpartition("/")[0]


def _read(store: ObjectStore, path: str) -> Brief:
    text = store.read_range(path, 0, MAX_BYTES + 1)
    return read_brief(text, name=path)


def _seen(stored: Stored) -> Seen:
    parts = stored.key.split("/")
    tenant = parts[1] if len(parts) > 2 else ""
    return Seen(stored.key, tenant, stored.size, micros(stored.modified_at), stored.is_stable)


def micros(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000 + at.microsecond


def _is_news(one: Seen, known: sa.Row[Any] | None) -> bool:
    return known is None or version_of(known) != one.version


def _settling(changed: Iterable[str]) -> int:
    """Our own answers beside a brief are no news."""
    return sum(not path.endswith(ANSWER_ENDINGS) for path in changed)


def _due_revisions(connection: sa.Connection) -> Iterator[str]:
    """Revisions with a source whose file is stable and not the one that was judged."""
    waiting = waiting_sources(connection)
    if not waiting:
        return
    stable = _stable_by_folder(known_files(connection))
    told: set[str] = set()
    for source in waiting:
        file = stable.get(source.intake_folder, {}).get(source.name)
        if file is None or source.revision in told:
            continue
        if (source.seen_size, source.seen_modified_at) != version_of(file):
            told.add(source.revision)
            yield source.revision


def _stable_by_folder(files: Mapping[str, sa.Row[Any]]) -> Mapping[str, Mapping[str, sa.Row[Any]]]:
    folders: dict[str, dict[str, sa.Row[Any]]] = defaultdict(dict)
    for path, row in files.items():
        if row.stable_at is not None:
            folders[path.rpartition("/")[0]][name_of(path)] = row
    return folders


def stable_now(stored: Sequence[Stored]) -> list[Seen]:
    """Files that were put whole by ourselves: no look has to prove it."""
    return [replace(_seen(one), is_stable=True) for one in stored]
