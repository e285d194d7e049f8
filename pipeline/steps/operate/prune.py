"""Remove what only told somebody something, long after it was told: delivered messages, operation marks.

Belongs here: which rows of the record may go, and in small bites. Does not belong here: the audit and every
row about media, money or decisions, which stay until retention says otherwise (C3), or Dagster's own tables
(`resources.dagster_storage`).
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from pipeline.domain.follow_ons import Topic
from resources.database.database import Database, Transaction
from resources.database.schema import operations, outbox

DAY = 86_400 * 1_000_000
BITE = 5_000
#: Messages that a state is judged by for as long as it lasts (the invariant `follow_ons_are_posted`).
EVIDENCE = (Topic.OUTPUT_REPORTED, Topic.OWNED, Topic.MANIFEST_COMPLETE)


def prune_record(database: Database, days: int) -> Mapping[str, int]:
    """Remove messages delivered and operations marked more than *days* ago; returns how many of each.

    A lost COMMIT is looked up within minutes, a message is posted again only under another id.
    """
    before = database.now() - days * DAY
    delivered = (outbox.c.delivered_at < before, outbox.c.topic.not_in([str(one) for one in EVIDENCE]))
    return {
        "messages": _remove(database, outbox, delivered),
        "operations": _remove(database, operations, (operations.c.at < before,)),
    }


def _remove(database: Database, table: sa.Table, which: tuple[sa.ColumnElement[bool], ...]) -> int:
    def bite(tx: Transaction) -> int:
        ids = sa.select(table.c.id).where(*which).limit(BITE)
        return int(tx.connection.execute(sa.delete(table).where(table.c.id.in_(ids))).rowcount)

    removed = last = database.run(bite)
    while last == BITE:
        last = database.run(bite)
        removed += last
    return removed
