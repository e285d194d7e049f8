"""The source set of a revision: what was judged, and its submission once it is whole (I1, I4).

Belongs here: the transactions after a look at sources, and the explicit submission. Does not belong here:
looking at pictures (`sources`), or deciding about them (`moderate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Submit
from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import Move, SourceSetState
from pipeline.domain.renditions import asset_set_sha256
from resources.database.campaigns import lock_campaign
from resources.database.database import Database, Transaction
from resources.database.planning import source_sha256s
from resources.database.revisions import revision_by_id, sources_of
from resources.database.source_sets import PRESENT, Judged, record_judged
from resources.database.transitions import Transition, apply_one

#: The reason at a source whose file was replaced after the set was submitted.
CHANGED_AFTER = "changed_after_submission"

_S = SourceSetState


def submit_revision(database: Database, revision_id: str, *, actor: str) -> bool:
    """Submit a complete set by command; False when it was submitted before (I1, `submit: manual`)."""

    def work(tx: Transaction) -> bool:
        revision = _locked(tx, revision_id)
        if revision is None:
            raise UnknownSubject("revision", revision_id)
        if revision.state in (_S.MODERATING, _S.APPROVED):
            return False
        if revision.state != _S.UPLOADED:
            raise NotAllowed(revision_id, f"it is {revision.state}", "deliver a new revision")
        waiting = [row for row in sources_of(tx.connection, revision_id) if row.standing != PRESENT]
        if waiting:
            names = ", ".join(f"{row.name} ({row.standing})" for row in waiting)
            raise NotAllowed(revision_id, f"it waits for {names}", "put the named images beside the brief")
        apply_one(tx, _submission(tx, revision, actor))
        return True

    return database.run(work)


def _locked(tx: Transaction, revision_id: str) -> sa.Row[Any] | None:
    lock_campaign(tx, revision_id.split("/")[0])
    return revision_by_id(tx.connection, revision_id)


def record_sources(
    tx: Transaction,
    revision_id: str,
    seen: Sequence[sa.Row[Any]],
    judged: Sequence[Judged],
    actor: str,
) -> bool:
    """What was judged of the sources as they were *seen*; a set that is complete is submitted by itself."""
    revision = _locked(tx, revision_id)
    if revision is None:
        return False
    now = {row.position: row for row in sources_of(tx.connection, revision_id)}
    unchanged = {row.position for row in seen if row == now[row.position]}
    judged = [one for one in judged if one.position in unchanged and _still_fits(one, revision)]
    if not judged and not _is_ready(revision):
        return False
    record_judged(tx, revision, judged)
    apply_one(tx, _after(tx, revision, actor))
    return True


def _is_ready(revision: sa.Row[Any]) -> bool:
    """Complete for long, and by now to be submitted by itself: an amendment said so."""
    is_whole = revision.state == _S.UPLOADED and revision.asset_set_sha256 is not None
    return is_whole and bool(revision.submit_mode == Submit.WHEN_COMPLETE)


def _still_fits(one: Judged, revision: sa.Row[Any]) -> bool:
    """A set that was submitted, decided or withdrawn meanwhile takes up nothing more."""
    return revision.state == _S.UPLOADED or (one.standing == PRESENT and one.reason == CHANGED_AFTER)


def _after(tx: Transaction, revision: sa.Row[Any], actor: str) -> Transition:
    if revision.state != _S.UPLOADED:
        return Transition(
            "revision", revision, None, actor, "sources_compared", facts={"receipt_due_at": tx.now}
        )
    is_complete = all(row.standing == PRESENT for row in sources_of(tx.connection, revision.id))
    if is_complete and revision.submit_mode == Submit.WHEN_COMPLETE:
        return _submission(tx, revision, actor)
    facts = {"asset_set_sha256": _set_sha256(tx, revision) if is_complete else None}
    return Transition(
        "revision", revision, None, actor, "sources_checked", facts=facts | {"receipt_due_at": tx.now}
    )


def _submission(tx: Transaction, revision: sa.Row[Any], actor: str) -> Transition:
    return Transition(
        "revision",
        revision,
        Move(_S.UPLOADED, _S.MODERATING),
        actor,
        "sources_complete" if revision.submit_mode == Submit.WHEN_COMPLETE else "submitted",
        facts={
            "asset_set_sha256": _set_sha256(tx, revision),
            "submitted_at": tx.now,
            "receipt_due_at": tx.now,
        },
        topics=(Topic.SUBMITTED,),
        take_over=True,
    )


def _set_sha256(tx: Transaction, revision: sa.Row[Any]) -> str:
    return asset_set_sha256(source_sha256s(tx, revision.id), revision.creative["copy"])
