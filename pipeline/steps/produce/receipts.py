"""Receipts beside the brief, so that its author learns the outcome where the author works (I1).

Belongs here: what a receipt says, when it is written again, and the plain words of a refusal. Does not belong
here: what happened (the steps that make a receipt due).

A receipt is made from the database alone, so that writing it again after a crash gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Submit
from pipeline.domain.errors import BadDocument, BadKey, ReelwrightError
from pipeline.domain.lifecycle import SourceSetState, Word
from pipeline.domain.outcomes import STAYS_WRONG
from pipeline.domain.renditions import RECEIPT_ENDINGS
from pipeline.steps.answer.status import Wanted, WishStatus, projected
from resources.database.database import Database
from resources.database.decisions import newest_decision
from resources.database.revisions import (
    dropped_slots,
    due_receipts,
    receipt_written,
    revision_with_newest,
    sources_of,
)
from resources.object_store.protocol import ObjectStore

RECEIPT_ENDING, ERRORS_ENDING = RECEIPT_ENDINGS


@dataclass(frozen=True, slots=True)
class VariantReceipt:
    """One wanted video: how it stands, and what its author can do when it does not go on by itself."""

    variant: str
    word: str
    why: tuple[str, ...]
    origin: str | None  #: made, or carried forward at no cost; None before the approval
    rendition: str | None
    video: str | None  #: key of the published video
    outcome: str | None = None  #: how its attempt ended, as a code
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class SourceReceipt:
    name: str
    standing: str
    reason: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """How one revision stands. `outcome` is what this delivery came to; it is not part of the file."""

    campaign: str
    revision: int
    state: str
    newest_revision: int
    decision: Mapping[str, str] | None
    sources: tuple[SourceReceipt, ...]
    variants: tuple[VariantReceipt, ...]
    still_published: tuple[str, ...]  #: variants that this revision dropped and that stay in view
    faults: tuple[str, ...]
    next_steps: tuple[str, ...]
    outcome: str = ""
    path: str = ""  #: key of the receipt in the store

    @property
    def revision_id(self) -> str:
        return f"{self.campaign}/r{self.revision}"

    def as_json(self) -> dict[str, Any]:
        plain = asdict(self)
        del plain["outcome"], plain["path"]
        return plain

    def content(self) -> bytes:
        return (json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n").encode()


def receipt_path(brief_path: str) -> str:
    return _beside(brief_path, RECEIPT_ENDING)


def errors_path(brief_path: str) -> str:
    return _beside(brief_path, ERRORS_ENDING)


def _beside(brief_path: str, ending: str) -> str:
    folder, slash, name = brief_path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return f"{folder}{slash}{stem}{ending}"


def receipt_of(connection: sa.Connection, revision_id: str, now: int) -> Receipt:
    """The receipt of a revision as it stands."""
    revision = revision_with_newest(connection, revision_id)
    wanted = Wanted(campaign=revision.campaign, revision=revision.number)
    sources = tuple(
        SourceReceipt(row.name, row.standing, row.reason, row.problem)
        for row in sources_of(connection, revision_id)
    )
    return Receipt(
        campaign=revision.campaign,
        revision=revision.number,
        state=revision.state,
        newest_revision=revision.newest_revision,
        decision=_decision(connection, revision_id),
        sources=sources,
        variants=tuple(_variant(one) for one in projected(connection, wanted, now)),
        still_published=tuple(dropped_slots(connection, revision)),
        faults=tuple(f"{one.name}: {one.problem or one.standing}" for one in sources if one.reason),
        next_steps=_next_steps(revision, sources),
        path=receipt_path(revision.intake_path) if revision.intake_path else "",
    )


def write_due_receipts(database: Database, store: ObjectStore, limit: int = 500) -> int:
    """Write every receipt that fell due; returns how many. What stands there already is not written again."""
    with database.reading() as connection:
        now = database.clock(connection)
        due = due_receipts(connection, now, limit)
    for revision in due:
        write_receipt(database, store, revision)
    return len(due)


def write_receipt(database: Database, store: ObjectStore, revision: sa.Row[Any]) -> Receipt:
    """Write the receipt of *revision*, a row as it was when its receipt fell due."""
    with database.reading() as connection:
        receipt = receipt_of(connection, revision.id, database.clock(connection))
    content = receipt.content()
    if receipt.path:
        _put(store, receipt.path, content)
    sha256 = hashlib.sha256(content).hexdigest()
    database.run(lambda tx: receipt_written(tx, revision, sha256))
    return receipt


def write_refusal(store: ObjectStore, brief_path: str, refusal: ReelwrightError) -> None:
    """All that a refused brief leaves: what is wrong with it, in plain words."""
    _put(store, errors_path(brief_path), words_of(refusal).encode())


def remove_refusal(store: ObjectStore, brief_path: str) -> None:
    """A brief that was corrected has no errors any more."""
    path = errors_path(brief_path)
    if store.head(path) is not None:
        store.delete(path)


def words_of(refusal: ReelwrightError) -> str:
    lines = [str(refusal)]
    if isinstance(refusal, BadDocument):
        lines = [
            f"{refusal.name} cannot be used as it stands:",
            "",
            *(f"- {fault}" for fault in refusal.faults),
        ]
    if refusal.remedy:
        lines += ["", f"What to do: {refusal.remedy}"]
    return "\n".join(lines) + "\n"


def _put(store: ObjectStore, path: str, content: bytes) -> None:
    """A name too long for a receipt beside it gets none; `status` says the same."""
    try:
        store.put_receipt(path, content)
    except BadKey:
        return


def _decision(connection: sa.Connection, revision_id: str) -> Mapping[str, str] | None:
    row = newest_decision(connection, "moderation", "revision", revision_id)
    if row is None:
        return None
    return {
        "verdict": row.verdict,
        "reason": row.reason,
        "policy_version": row.policy_version,
        "actor": row.actor,
    }


def _variant(one: WishStatus) -> VariantReceipt:
    return VariantReceipt(
        variant=one.variant,
        word=str(one.word),
        why=one.why,
        origin=one.origin,
        rendition=one.rendition,
        video=one.object_key if one.word is Word.READY else None,
        outcome=one.outcome if one.word in _REMEDIES else None,
        remedy=_remedy(one),
    )


def _remedy(one: WishStatus) -> str | None:
    if one.word is Word.FAILED and one.outcome in STAYS_WRONG:
        return "the provider refuses what the brief asks for, and would again: change it, raise `revision`"
    return _REMEDIES.get(one.word)


#: What is never made again silently (L5), and who may ask for it.
_REMEDIES: Mapping[Word, str] = MappingProxyType(
    {
        Word.FAILED: "`reelwright retry` makes a new attempt, `submit --take` a new video",
        Word.CANCELLED: "`reelwright retry` makes a new attempt, `submit --take` a new video",
        Word.DECLINED: "`submit --take` makes a new video",
        Word.EXPIRED: "`submit --take` makes a new video",
    }
)


def _next_steps(revision: sa.Row[Any], sources: Sequence[SourceReceipt]) -> tuple[str, ...]:
    steps: list[str] = []
    if revision.number < revision.newest_revision:
        steps.append(f"revision {revision.newest_revision} is newer; its settings hold")
    if revision.state == SourceSetState.UPLOADED:
        steps += [
            _SOURCE_STEPS[one.standing].format(one.name) for one in sources if one.standing in _SOURCE_STEPS
        ]
        if not steps and revision.submit_mode == Submit.MANUAL:
            steps.append(f"everything is there: `reelwright submit {revision.campaign} --now` starts it")
    if revision.state in _STATE_STEPS:
        steps.append(_STATE_STEPS[revision.state])
    return tuple(steps)


_SOURCE_STEPS: Mapping[str, str] = MappingProxyType(
    {
        "missing": "put {} beside the brief",
        "growing": "wait until {} is copied whole",
        "refused": "replace {}",
    }
)
_STATE_STEPS: Mapping[str, str] = MappingProxyType(
    {
        SourceSetState.MODERATING: "moderation decides; a person does when the policy cannot",
        SourceSetState.REJECTED: "change the brief under a new revision, or ask for a review",
        SourceSetState.WITHDRAWN: "deliver a new revision to go on",
    }
)
