"""Deliver a brief from a person's own folder, as if it had been dropped into the intake (I1).

Belongs here: copying brief and images to the intake, and takes. Does not belong here: what is done with them
there (`ingest`).

The place is named by content, so that the same delivery twice is one, nothing is copied twice, and nothing
that lies in the intake is overwritten.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pipeline.documents.brief import read_brief
from pipeline.domain.brief import Brief
from pipeline.domain.errors import BadDocument, BadInput, NotAllowed, UnknownSubject
from pipeline.domain.lifecycle import SourceSetState
from pipeline.domain.renditions import INTAKE, RECEIPT_ENDINGS
from pipeline.steps.produce.ingest import ingest_brief, stable_now
from pipeline.steps.produce.planning import Plan, PlanningRules, plan_takes
from pipeline.steps.produce.private_folder import private_folder
from pipeline.steps.produce.receipts import Receipt, receipt_of, words_of
from pipeline.steps.produce.sources import Intake
from resources.database.campaigns import lock_campaign
from resources.database.database import Database, Transaction
from resources.database.intake import record_seen
from resources.database.planning import want_takes, wishes_of
from resources.database.revisions import revision_by_id, want_receipt
from resources.object_store.protocol import Stored

YAML_TYPE, ANY_TYPE = "application/yaml", "application/octet-stream"

_S = SourceSetState


def submit_brief(intake: Intake, path: Path) -> Receipt:
    """Deliver the brief at *path* with the images beside it; the receipt is written beside it too.

    Raises BadInput for what refuses it, after writing NAME.errors.txt there. The same call again changes
    nothing; after an image was added or replaced it delivers that.
    """
    receipt_file, errors_file = (path.with_name(path.stem + ending) for ending in RECEIPT_ENDINGS)
    try:
        text = _text_of(path)
        brief = read_brief(text, name=path.name)
        receipt = _ingested(intake, _copy(intake, brief, text, path.parent), path)
    except BadInput as refusal:
        _write(errors_file, words_of(refusal).encode())
        raise
    with suppress(OSError):
        errors_file.unlink(missing_ok=True)
    _write(receipt_file, receipt.content())
    return receipt


def _ingested(intake: Intake, key: str, path: Path) -> Receipt:
    """Whoever delivers from a folder knows that file, and not its copy in the intake."""
    try:
        return ingest_brief(intake, key)
    except BadDocument as refusal:
        raise refusal.named(path.name) from refusal


def take(
    database: Database, rules: PlanningRules, revision: str, variants: Collection[str], *, actor: str
) -> Plan | None:
    """Ask for fresh videos of the newest revision, for *variants* (keys; none named means all) (L5).

    An approved one plans them at once; one that is not decided yet remembers the wish and returns None.
    """

    def work(tx: Transaction) -> Plan | None:
        campaign = lock_campaign(tx, revision.split("/")[0])
        row = revision_by_id(tx.connection, revision)
        if campaign is None or row is None:
            raise UnknownSubject("revision", revision)
        if row.number != campaign.newest_revision or row.state in (_S.REJECTED, _S.WITHDRAWN):
            problem = f"it is {row.state}, the newest is revision {campaign.newest_revision}"
            raise NotAllowed(revision, problem, "ask for takes of the newest revision")
        wishes = [wish for wish in wishes_of(tx, revision) if not variants or wish.variant in variants]
        unknown = sorted(set(variants) - {wish.variant for wish in wishes})
        if unknown:
            raise UnknownSubject("variant", ", ".join(unknown))
        want_receipt(tx, revision)
        if row.state != _S.APPROVED:
            want_takes(tx, [wish.id for wish in wishes])
            return None
        return plan_takes(tx, row, wishes, rules, actor=actor)

    return database.run(work)


def receipt_for(database: Database, revision: str) -> Receipt:
    """The receipt of a revision as it stands now."""
    with database.reading() as connection:
        if revision_by_id(connection, revision) is None:
            raise UnknownSubject("revision", revision)
        return receipt_of(connection, revision, database.clock(connection))


def _text_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownSubject("brief", f"{path} ({error.strerror})") from error


def _copy(intake: Intake, brief: Brief, text: bytes, folder: Path) -> str:
    """Put images, then the brief, into a place named by their content; returns the brief's key."""
    images = _images_beside(folder, brief.creative.sources)
    sha256s = {name: _sha256(path) for name, path in images.items()}
    place = f"{INTAKE}/{brief.tenant}/{brief.campaign}-r{brief.revision}-{_place_of(sha256s)}"
    keys = [_put(intake, f"{place}/{name}", path, sha256s[name], ANY_TYPE) for name, path in images.items()]
    digest = hashlib.sha256(text).hexdigest()
    with private_folder(intake.spool) as private:
        spooled = private / "brief.yaml"
        spooled.write_bytes(text)  # the bytes that were read and checked, whatever the file holds by now
        key = _put(intake, f"{place}/brief-{digest[:12]}.yaml", spooled, digest, YAML_TYPE)
    _remember(intake, [*keys, key])
    return key


def _images_beside(folder: Path, names: Sequence[str]) -> Mapping[str, Path]:
    """The named images that are there, by the brief's spelling; a file system may spell names otherwise."""
    there = {unicodedata.normalize("NFC", path.name): path for path in folder.iterdir() if path.is_file()}
    return {name: there[name] for name in names if name in there}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _place_of(sha256s: Mapping[str, str]) -> str:
    named = "\n".join(f"{sha256} {name}" for name, sha256 in sorted(sha256s.items()))
    return hashlib.sha256(named.encode()).hexdigest()[:12]


def _put(intake: Intake, key: str, path: Path, sha256: str, media_type: str) -> str:
    intake.store.put_if_absent(key, path, sha256=sha256, size=path.stat().st_size, media_type=media_type)
    return key


def _remember(intake: Intake, keys: Sequence[str]) -> None:
    stored: list[Stored] = [one for key in keys if (one := intake.store.head(key)) is not None]
    intake.database.run(lambda tx: record_seen(tx, stable_now(stored)))


def _write(path: Path, content: bytes) -> None:
    """A folder that takes no receipt costs its author nothing: another lies in the intake."""
    with suppress(OSError):
        path.write_bytes(content)
