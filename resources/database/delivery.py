"""Delivering outbox messages: one idempotent write that makes their subjects due (L11).

Belongs here: the statement of each `Due` and the bookkeeping of messages. Does not belong here: which
topic makes what due (`pipeline.domain.follow_ons`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipeline.domain.follow_ons import FOLLOW_ONS, Due, FollowOn, Topic
from pipeline.domain.lifecycle import Parked
from resources.database.database import Transaction
from resources.database.schema import attempts, index_entries, outbox, partition_marks, revisions
from resources.database.upsert import insert_for


def undelivered(tx: Transaction, limit: int) -> Sequence[sa.Row[Any]]:
    """Messages to deliver now, oldest first: by `delivered_at IS NULL`, never by a high-water id."""
    return tx.connection.execute(
        sa.select(outbox)
        .where(outbox.c.delivered_at.is_(None), outbox.c.dead_at.is_(None), outbox.c.next_try_at <= tx.now)
        .order_by(outbox.c.next_try_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def deliver(tx: Transaction, messages: Sequence[sa.Row[Any]]) -> None:
    """Make the subjects of *messages* due and mark the messages delivered, in this transaction."""
    by_topic: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for message in messages:
        by_topic[message.topic].append(message)
    known = {topic: FOLLOW_ONS[Topic(topic)] for topic in by_topic if topic in set(Topic)}
    for topic, follow_on in sorted(known.items()):
        _MAKE_DUE[follow_on.due](tx, follow_on, by_topic[topic])
    delivered = [message.id for topic in known for message in by_topic[topic]]
    _mark(tx, delivered, {"delivered_at": tx.now})
    strange = [message.id for topic in by_topic if topic not in known for message in by_topic[topic]]
    _mark(tx, strange, {"dead_at": tx.now, "last_error": "unknown topic"})


def _mark(tx: Transaction, ids: Sequence[str], values: Mapping[str, Any]) -> None:
    if ids:
        tx.connection.execute(
            sa.update(outbox).where(outbox.c.id.in_(ids)).values(attempts=outbox.c.attempts + 1, **values)
        )


def _attempts_due(tx: Transaction, follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    due = sa.update(attempts).where(
        attempts.c.id.in_([message.subject_id for message in messages]),
        attempts.c.next_action_at.is_(None),
    )
    if follow_on.while_in:
        due = due.where(attempts.c.state.in_([str(state) for state in follow_on.while_in]))
    tx.connection.execute(due.values(next_action_at=tx.now))


def _campaigns_due(tx: Transaction, _follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    """Only a parked attempt waits for its budget; the next claim un-parks it, or parks it again."""
    tx.connection.execute(
        sa.update(attempts)
        .where(
            attempts.c.campaign.in_([message.subject_id for message in messages]),
            attempts.c.parked_reason == str(Parked.OVER_BUDGET),
        )
        .values(next_action_at=tx.now)
    )


def _entries_due(tx: Transaction, _follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    tx.connection.execute(
        sa.update(index_entries)
        .where(
            index_entries.c.rendition.in_([message.subject_id for message in messages]),
            index_entries.c.synced_version < index_entries.c.version,
        )
        .values(next_action_at=tx.now)
    )


def _receipts_due(tx: Transaction, _follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    _revisions(tx, messages, "receipt_due_at")


def _revisions_due(tx: Transaction, _follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    _revisions(tx, messages, "next_action_at")


def _revisions(tx: Transaction, messages: Sequence[sa.Row[Any]], column: str) -> None:
    tx.connection.execute(
        sa.update(revisions)
        .where(revisions.c.id.in_([message.subject_id for message in messages]))
        .values({column: tx.now})
    )


def _marks_due(tx: Transaction, _follow_on: FollowOn, messages: Sequence[sa.Row[Any]]) -> None:
    changed = sorted({(message.subject_id, message.tenant) for message in messages})
    insert = insert_for(tx.connection, partition_marks)
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["campaign"],
            set_={"due": partition_marks.c.due + 1, "due_at": insert.excluded.due_at},
        ),
        [
            {"campaign": campaign, "tenant": tenant, "due": 1, "due_at": tx.now, "told": {}}
            for campaign, tenant in changed
        ],
    )


_MAKE_DUE: Mapping[Due, Callable[[Transaction, FollowOn, Sequence[sa.Row[Any]]], None]] = {
    Due.ATTEMPT: _attempts_due,
    Due.CAMPAIGN_ATTEMPTS: _campaigns_due,
    Due.INDEX_ENTRIES: _entries_due,
    Due.RECEIPT: _receipts_due,
    Due.REVISION: _revisions_due,
    Due.MARK: _marks_due,
}
