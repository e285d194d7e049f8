"""A reviewer's word on an output: accept or decline, append-only, with actor and reason (T8).

Belongs here: recording the word and what it takes from view at once. Does not belong here: publishing what
was accepted (a publish lot does; nothing waits in a slot, run or claim meanwhile).
"""

from __future__ import annotations

import enum
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import NotAllowed, UnknownSubject
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import OWNED_STATES, AttemptState
from pipeline.steps.produce.withdraw import tell_slots, withdraw_shown
from resources.database.database import Database, Transaction
from resources.database.decisions import Decision, record_decision
from resources.database.index_entries import take_from_index
from resources.database.outputs import ACCEPT, DECLINE, is_shown, outputs, serves
from resources.database.publications import lock_slot
from resources.database.schema import attempts, renditions
from resources.database.transitions import Transition, apply_one
from resources.tag_index.protocol import TagIndex


class Said(enum.StrEnum):
    RECORDED = "recorded"
    UNCHANGED = "unchanged"  #: the newest word was the same already


def accept(database: Database, rendition_id: str, tenant: str, *, actor: str, reason: str) -> Said:
    """Accept the output of a rendition's selected attempt: a publish lot will show it.

    Raises `UnknownSubject`, and `NotAllowed` when there is no owned output or its bytes are gone.
    """

    def work(tx: Transaction) -> Said:
        row, output = _output(tx, rendition_id, tenant)
        if output.verdict == ACCEPT:
            return Said.UNCHANGED
        _say(tx, row, ACCEPT, actor, reason, (Topic.ACCEPTED,))
        return Said.RECORDED

    return database.run(work)


def decline(
    database: Database, index: TagIndex, rendition_id: str, tenant: str, *, actor: str, reason: str
) -> Said:
    """Decline the output of a rendition's selected attempt: it is taken from view and not shown again.

    One that its slot shows is withdrawn in the same transaction. Raises like `accept`.
    """
    slots: list[str] = []

    def work(tx: Transaction) -> Said:
        row, output = _output(tx, rendition_id, tenant)
        if output.verdict == DECLINE:
            return Said.UNCHANGED
        _say(tx, row, DECLINE, actor, reason, ())
        if is_shown(output):
            withdraw_shown(tx, output, actor=actor, reason=f"declined: {reason}")
        take_from_index(tx, row)
        slots[:] = [output.id]
        return Said.RECORDED

    said = database.run(work)
    if slots:
        tell_slots(database, index, slots)
    return said


def _output(tx: Transaction, rendition_id: str, tenant: str) -> tuple[sa.Row[Any], sa.Row[Any]]:
    """The selected attempt and how its output stands, its slot locked; only of an owned, serving output."""
    rendition = tx.connection.execute(
        sa.select(renditions).where(renditions.c.id == rendition_id, renditions.c.tenant == tenant)
    ).one_or_none()
    if rendition is None:
        raise UnknownSubject("rendition", rendition_id)
    lock_slot(tx, rendition.slot)
    row = tx.connection.execute(
        sa.select(attempts)
        .join(renditions, renditions.c.selected_attempt == attempts.c.id)
        .where(renditions.c.id == rendition_id)
        .with_for_update(of=attempts)
    ).one()
    if AttemptState(row.state) not in OWNED_STATES:
        raise NotAllowed(rendition_id, f"its attempt {row.number} is {row.state}: there is no output yet")
    output = outputs(tx.connection, [row.id])[row.id]
    if not serves(output):
        raise NotAllowed(rendition_id, "its bytes were purged", "make a new one with `--take`")
    return row, output


def _say(
    tx: Transaction, row: sa.Row[Any], verdict: str, actor: str, reason: str, topics: tuple[Topic, ...]
) -> None:
    """The word, and the lease: whoever works on the attempt now changes nothing any more (L3)."""
    decision = Decision("acceptance", "attempt", row.id, verdict, reason, actor)
    record_decision(tx, row.tenant, decision)
    said = Transition("attempt", row, None, actor, verdict, topics=topics, take_over=True)
    apply_one(tx, said)
