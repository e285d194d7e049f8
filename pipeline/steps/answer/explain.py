"""What made a video: every input and decision that the database kept, whether or not the bytes are there.

Belongs here: which video a name means, and its facts by heading. Does not belong here: whether they hang
together (`explain_proof`), money (`explain_money`), tables.

Copy is shown as its hash alone, and so is every text with a space in the settings: they may be prompts (A4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import AmbiguousName, UnknownSubject
from pipeline.domain.units import utc
from pipeline.steps.answer.explain_money import Money, money_of
from pipeline.steps.answer.explain_proof import Proof, prove
from pipeline.steps.answer.find import MAX_NAMED, find_attempt, find_rendition
from resources.database import explained

Record = Mapping[str, Any]
Records = tuple[Record, ...]

_FINGERPRINT = (
    "fingerprint", "variant", "provider", "model", "profile_version", "take", "width", "height",
    "duration_seconds",
)  # fmt: skip
_ATTEMPT = (
    "id", "number", "state", "submission", "handle", "idempotency_key", "request_fingerprint", "provider",
    "model", "outcome_class", "outcome_reason", "object", "derived_version", "spend", "created_at",
    "submitted_at", "ended_at",
)  # fmt: skip
_SOURCE = ("id", "sha256", "media_type", "object", "key", "store_version", "size_bytes", "state", "purged_at")
_OBJECT = (
    "id", "key", "sha256", "size_bytes", "store_version", "media_type", "retention_class", "state",
    "created_at", "purged_at",
)  # fmt: skip
_PICTURE = ("source_sha256", "transform_version", "name", "object", "key", "sha256", "state", "purged_at")
_ENTRY = ("id", "object", "standing", "version", "synced_version", "tags_version")
_PUBLICATION = (
    "number",
    "move",
    "rendition",
    "object",
    "tags_version",
    "from_at",
    "until_at",
    "actor",
    "reason",
)
_ITEM = (
    "plan", "number", "kind", "subject", "policy", "policy_sha256", "policy_row", "row_version", "reason",
    "anchor_at", "due_at", "standing", "why", "made_by", "made_at", "marked_at", "purge_after",
    "completed_at",
)  # fmt: skip
_HOLD = (
    "id", "matter", "scope", "subject", "placed_by", "reason", "placed_at", "released_by", "release_reason",
    "released_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of one video, by heading."""

    asked: str
    rendition: str
    attempt: str | None  #: the one that was named, or the selected one
    proof: Proof
    inputs: Record
    revisions: Records
    sources: Records
    moderation: Records
    fingerprint: Record
    attempts: Records
    sends: Records
    remote_jobs: Records
    observations: Records
    selections: Records
    objects: Records
    derivatives: Records
    index: Records
    wants: Records
    publications: Records
    acceptance: Records
    retention: Records
    approvals: Records
    receipts: Records
    tombstones: Records
    holds: Records
    money: Money


def explain(connection: sa.Connection, name: str) -> Explanation:
    """What the rows say of the video that *name* means; AmbiguousName of an object that several share."""
    rendition, attempt = _named(connection, name)
    row = explained.rendition_row(connection, rendition)
    made = explained.attempts_of(connection, rendition)
    ids = [one.id for one in made]
    wanting = explained.wanting_revisions(connection, row.campaign, rendition, row.first_revision)
    sources = explained.sources_of(connection, row.tenant, row.sources)
    owned = explained.objects_of(connection, [one.object for one in made if one.object])
    pictures = explained.derivatives_of(connection, row.tenant, [one.sha256 for one in owned])
    sent, jobs, seen = explained.told_of(connection, ids)
    entries = explained.entries_of(connection, rendition)
    moves, wants = explained.shown_of(connection, row.slot, rendition)
    decisions = explained.decided(connection, [one.id for one in wanting] + ids)
    judged = [one for one in decisions if one.subject_kind == "revision"]
    about = {one.object for one in (*sources, *pictures)} | {one.id for one in owned}
    items, approvals, receipts = explained.retention_of(connection, about)
    held = (row.tenant, row.campaign, rendition, *(one.id for one in sources))
    found = prove(connection, row, attempt, wanting, sources, judged, made, jobs, owned, receipts)
    return Explanation(
        asked=name,
        rendition=rendition,
        attempt=attempt,
        proof=found,
        inputs={
            "campaign": row.campaign, "slot": row.slot, "locale": row.locale,
            "copy_sha256": _sha256(row.copy), "first_revision": row.first_revision,
        },
        revisions=_records(
            wanting, "id", "origin", "state", "creative_sha256", "asset_set_sha256", "actor", "created_at"
        ),
        sources=_in_scene_order(row.sources, _records(sources, *_SOURCE)),
        moderation=tuple(_judgement(one) for one in judged),
        fingerprint={**_record(row, _FINGERPRINT), "settings": _without_texts(row.settings)},
        attempts=_records(made, *_ATTEMPT),
        sends=_records(sent, "attempt", "n", "result", "reason", "at", "answered_at"),
        remote_jobs=_records(jobs, "attempt", "provider", "handle", "found_by", "bound", "at"),
        observations=_records(seen, "attempt", "handle", "standing", "word", "outcome_class", "reason", "at"),
        selections=_records(
            explained.selections_of(connection, rendition),
            "number", "attempt", "instead_of", "actor", "reason", "at",
        ),
        objects=tuple({**_record(one, _OBJECT), "quality": _quality(one.facts)} for one in owned),
        derivatives=_records(pictures, *_PICTURE),
        index=_records(entries, *_ENTRY),
        wants=_records(wants, "number", "actor", "reason", "at"),
        publications=_records(moves, *_PUBLICATION),
        acceptance=tuple(_judgement(one) for one in decisions if one.subject_kind == "attempt"),
        retention=_records(items, *_ITEM),
        approvals=_records(approvals, "plan", "role", "actor", "reason", "at"),
        receipts=_records(receipts, "number", "subject", "plan", "item", "previous", "sha256", "at"),
        tombstones=_records([one for one in entries if one.standing == "tombstone"], *_ENTRY),
        holds=_records(explained.holds_on(connection, row.tenant, held), *_HOLD),
        money=money_of(connection, rendition),
    )  # fmt: skip


def _named(connection: sa.Connection, name: str) -> tuple[str, str | None]:
    """Rendition and attempt; an object means the attempt that owns it or what it was made from."""
    object_ = explained.object_named(connection, name)
    if object_ is None:
        return _by_name(connection, name)
    found = explained.attempts_with(connection, object_)
    videos = {one.rendition: one.id for one in found}
    if not videos:
        raise UnknownSubject("video of the object", name, "it is an object that no video was made of")
    if len(videos) > 1:
        raise AmbiguousName(name, list(videos)[:MAX_NAMED], "explain one of the videos that it belongs to")
    return next(iter(videos.items()))


def _by_name(connection: sa.Connection, name: str) -> tuple[str, str | None]:
    try:
        rendition = find_rendition(connection, name)
    except UnknownSubject as error:
        remedy = (
            "name a slot, a rendition, an attempt, or an object by its id or key; `reelwright status` lists"
        )
        raise UnknownSubject("video", name, remedy) from error
    named = find_attempt(connection, name).id if rendition.attempt else None
    return rendition.id, named


def _records(rows: Iterable[sa.Row[Any]], *columns: str) -> Records:
    return tuple(_record(row, columns) for row in rows)


def _record(row: sa.Row[Any], columns: Iterable[str]) -> Record:
    return {name: _read(name, getattr(row, name)) for name in columns}


def _read(name: str, value: Any) -> Any:
    is_time = name in ("at", "purge_after") or name.endswith("_at")
    return utc(value) if is_time and value is not None else value


def _in_scene_order(sha256s: Iterable[str], found: Records) -> Records:
    """Each source of the video; one without an asset has nothing but its hash."""
    by_hash = {one["sha256"]: one for one in found}
    return tuple(by_hash.get(one, {"id": None, "sha256": one, "state": "no record"}) for one in sha256s)


def _judgement(row: sa.Row[Any]) -> Record:
    rules = [f"{one['rule']} in {one['subject']}" for one in row.detail.get("findings", ())]
    said = ("subject_id", "kind", "verdict", "policy_version", "round", "actor", "reason", "at")
    return {**_record(row, said), "rules": rules}


def _quality(facts: Mapping[str, Any]) -> Any:
    """What the profile's checks found, by version of the profile."""
    return facts.get("quality", {})


def _without_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_texts(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_texts(one) for one in value]
    return f"sha256:{_sha256(value)}" if isinstance(value, str) and " " in value else value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
