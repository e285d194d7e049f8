"""Whether the kept rows prove what made a video: each hash is reckoned anew from its parts.

Belongs here: what is proven, and what is missing. Does not belong here: the chain of all receipts, which
`reelwright retention prove` walks; here a receipt is held against its own hash and the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Creative, Generation, Variants
from pipeline.domain.lifecycle import ObjectState, Submission
from pipeline.domain.renditions import (
    Variant,
    asset_set_sha256,
    creative_sha256,
    fingerprint,
    rendition_id,
)
from pipeline.steps.produce.making import SHORT_SIDE
from resources.database import explained
from resources.database.receipts import is_altered

Rows = Sequence[sa.Row[Any]]


@dataclass(frozen=True, slots=True)
class Proof:
    """`because` says in a sentence why it is provable or not; `missing` is empty when it is."""

    provable: bool
    because: str
    proven: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    holds: bool
    proven: str
    missing: str


def prove(
    connection: sa.Connection, row: sa.Row[Any], attempt: str | None, wanting: Rows, sources: Rows,
    judged: Rows, made: Rows, jobs: Rows, owned: Rows, receipts: Rows,
) -> Proof:  # fmt: skip
    """Hold every link of the chain from brief to bytes against the next one."""
    named = next((one for one in made if one.id == attempt), None)
    object_ = next((one for one in owned if named is not None and one.id == named.object), None)
    by_subject = {one.subject: one for one in receipts}
    found = [
        *_identity(row, wanting),
        *_briefs(connection, row, wanting),
        _approval(wanting, judged),
        *_sources(connection, row, sources, by_subject),
        _sent(named, jobs),
        _bytes(connection, object_, by_subject),
    ]
    missing = tuple(one.missing for one in found if not one.holds)
    because = "; ".join(missing) or "every input, decision and hash that it needs is kept and fits"
    return Proof(not missing, because, tuple(one.proven for one in found if one.holds), missing)


def _identity(row: sa.Row[Any], wanting: Rows) -> Iterator[Finding]:
    campaign = row.campaign.removeprefix(f"{row.tenant}.")
    try:
        variant = Variant.from_key(row.variant)
    except ValueError:
        yield Finding(False, "", f"{row.variant!r} is no variant, so that no fingerprint can be reckoned")
        return
    settings = _settings(row, wanting)
    reckoned = fingerprint(
        tenant=row.tenant, campaign=campaign, variant=variant, source_sha256s=row.sources, copy=row.copy,
        provider=row.provider, model=row.model, settings=settings, profile_version=row.profile_version,
        take=row.take,
    )  # fmt: skip
    yield Finding(
        reckoned == row.fingerprint and _told(settings) == row.settings,
        "the fingerprint is that of the kept sources, copy, provider, model, settings, profile and take",
        "the fingerprint is not that of the kept parts",
    )
    yield Finding(
        row.id == rendition_id(row.tenant, campaign, variant, row.fingerprint),
        "the rendition's name is that of its fingerprint",
        "the rendition's name is not that of its fingerprint",
    )


def _settings(row: sa.Row[Any], wanting: Rows) -> Mapping[str, Any]:
    """As the brief has them: with the size in pixels, which no provider is told under that name."""
    kept = [one.creative for one in wanting if one.id == row.first_revision]
    found: Mapping[str, Any] = kept[0].get("generation", {}).get("settings", {}) if kept else {}
    return found


def _told(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in settings.items() if name != SHORT_SIDE}


def _briefs(connection: sa.Connection, row: sa.Row[Any], wanting: Rows) -> Iterator[Finding]:
    if not wanting:
        yield Finding(False, "", f"no brief is kept of revision {row.first_revision}")
    for one in wanting:
        yield Finding(
            _is_of_brief(one),
            f"the brief of {one.id} has its hash",
            f"the brief of {one.id} has another hash",
        )
        hashes = explained.set_hashes(connection, one.id)
        reckoned = asset_set_sha256(hashes, one.creative.get("copy", {}))
        yield Finding(
            reckoned == one.asset_set_sha256 and hashes == row.sources,
            f"the source set of {one.id} has its hash, and is the video's",
            f"the source set of {one.id} has another hash, or is not the video's",
        )


def _is_of_brief(revision: sa.Row[Any]) -> bool:
    kept = revision.creative
    try:
        variants = Variants(**{name: tuple(one) for name, one in kept["variants"].items()})
        creative = Creative(tuple(kept["sources"]), kept["copy"], variants, Generation(**kept["generation"]))
    except (KeyError, TypeError):
        return False
    return bool(creative_sha256(creative) == revision.creative_sha256)


def _approval(wanting: Rows, judged: Rows) -> Finding:
    ids = {one.id for one in wanting}
    approved = [
        one for one in judged
        if one.kind == "moderation" and one.verdict == "approved" and one.subject_id in ids
    ]  # fmt: skip
    who = f"{approved[-1].actor} approved {approved[-1].subject_id}" if approved else ""
    return Finding(bool(approved), who, "no moderation decision approves a revision that wants it")


def _sources(
    connection: sa.Connection, row: sa.Row[Any], sources: Rows, receipts: dict[str, sa.Row[Any]]
) -> Iterator[Finding]:
    by_hash = {one.sha256: one for one in sources}
    for sha256 in dict.fromkeys(row.sources):
        source = by_hash.get(sha256)
        if source is None:
            yield Finding(False, "", f"source {sha256} has no record")
        else:
            yield _kept(connection, f"source {source.id}", source.object, source.state, sha256, receipts)


def _sent(attempt: sa.Row[Any] | None, jobs: Rows) -> Finding:
    if attempt is None:
        return Finding(False, "", "no attempt was made")
    bound = [one.handle for one in jobs if one.attempt == attempt.id]
    holds = attempt.submission == str(Submission.ACCEPTED) and attempt.handle in bound and len(bound) == 1
    return Finding(
        holds,
        f"{attempt.id} was accepted once, as job {attempt.handle} of {attempt.provider}",
        f"{attempt.id} has no single accepted job: submission {attempt.submission}, {len(bound)} jobs",
    )


def _bytes(
    connection: sa.Connection, object_: sa.Row[Any] | None, receipts: dict[str, sa.Row[Any]]
) -> Finding:
    if object_ is None:
        return Finding(False, "", "it owns no video")
    return _kept(connection, f"video {object_.id}", object_.id, object_.state, object_.sha256, receipts)


def _kept(
    connection: sa.Connection, what: str, object_: str, state: str, sha256: str,
    receipts: dict[str, sa.Row[Any]],
) -> Finding:  # fmt: skip
    """Owned by its hash; if it was purged, with a receipt that is whole and says that hash."""
    if state != str(ObjectState.PURGED):
        return Finding(True, f"{what} is owned under SHA-256 {sha256}, {state}", "")
    receipt = receipts.get(object_)
    if receipt is None:
        return Finding(False, "", f"{what} was purged without a receipt")
    is_whole = not is_altered(receipt) and json.loads(receipt.body).get("sha256") == sha256
    follows = receipt.previous == explained.hash_of_receipt(connection, receipt.number - 1)
    return Finding(
        is_whole and follows,
        f"{what} was purged: receipt {receipt.number} {receipt.sha256} names SHA-256 {sha256}",
        f"receipt {receipt.number} of {what} was altered, or does not follow the one before it",
    )
