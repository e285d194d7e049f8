"""That this database is a dump put back: from which time on the world knows more than it does.

Belongs here: writing that down, and asking for it. Does not belong here: what follows from it (`submit`,
`reconcile_restored`).

A dump forgets what was sent after it was taken, and ids and keys are made of what was wanted: whatever is to
be sent next may have been sent, and paid, already. Nobody can know when the last such thing was asked for
again, so that the mark holds until a person takes it away.
"""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.decisions import Decision, newest_decision, record_decision

_KIND, _SUBJECT = "restore", ("installation", "database")
_RESTORED, _OVER = "restored", "over"


def mark_restored(tx: Transaction, dumped_at: int, actor: str) -> None:
    """Everything since *dumped_at* (UTC microseconds) may have happened without this database."""
    detail = {"dumped_at": dumped_at}
    reason = "a dump was put back"
    record_decision(tx, "*", Decision(_KIND, *_SUBJECT, _RESTORED, reason, actor, detail=detail))


def end_restored(tx: Transaction, actor: str) -> bool:
    """Take the mark away; False when there is none."""
    if restored_from(tx.connection) is None:
        return False
    record_decision(tx, "*", Decision(_KIND, *_SUBJECT, _OVER, "all that was lost is found", actor))
    return True


def restored_from(connection: sa.Connection) -> int | None:
    """When the dump was taken, while the mark holds; None in a database that was never put back."""
    newest = newest_decision(connection, _KIND, *_SUBJECT)
    return None if newest is None or newest.verdict == _OVER else int(newest.detail["dumped_at"])
