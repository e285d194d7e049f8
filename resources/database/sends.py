"""Sends and the remote jobs they led to: evidence of what may have been started (G2, G3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import attempts, remote_jobs, sends, usage_facts
from resources.database.transitions import Usage
from resources.database.upsert import insert_for


def still_ours(tx: Transaction, rows: Sequence[sa.Row[Any]]) -> set[str]:
    """Ids whose lease token is the one that *rows* were claimed with; locked for this transaction."""
    held = sa.tuple_(attempts.c.id, attempts.c.lease_token).in_([(row.id, row.lease_token) for row in rows])
    return set(
        tx.connection.scalars(sa.select(attempts.c.id).where(held).order_by(attempts.c.id).with_for_update())
    )


def is_leased(connection: sa.Connection, row: sa.Row[Any], now: int) -> bool:
    """Whether *row* is still under the lease that it was claimed with, and that lease lasts."""
    held = sa.select(attempts.c.id).where(
        attempts.c.id == row.id, attempts.c.lease_token == row.lease_token, attempts.c.lease_until >= now
    )
    return connection.scalar(held) is not None


def record_sends(tx: Transaction, rows: Sequence[sa.Row[Any]], at: int | None = None) -> None:
    """One row for each send that is about to happen, committed before its first byte.

    *at* is given for sends that may have happened since then, and that this database does not know of.
    """
    if not rows:
        return
    tx.connection.execute(
        sa.insert(sends),
        [
            {
                "attempt": row.id,
                "n": row.send_tries + 1,
                "tenant": row.tenant,
                "idempotency_key": row.idempotency_key,
                "at": tx.now if at is None else at,
            }
            for row in rows
        ],
    )


def record_answer(tx: Transaction, row: sa.Row[Any], n: int, result: str, reason: str) -> None:
    """What the send *n* of an attempt was answered; a send without an answer stays without one."""
    tx.connection.execute(
        sa.update(sends)
        .where(sends.c.attempt == row.id, sends.c.n == n, sends.c.result.is_(None))
        .values(result=result, reason=reason, answered_at=tx.now)
    )


def first_sent_at(connection: sa.Connection, attempt_ids: Sequence[str]) -> dict[str, int]:
    """When each attempt was first sent, in UTC microseconds."""
    rows = connection.execute(
        sa.select(sends.c.attempt, sa.func.min(sends.c.at).label("at"))
        .where(sends.c.attempt.in_(attempt_ids))
        .group_by(sends.c.attempt)
    )
    return {row.attempt: row.at for row in rows}


def record_remote_job(tx: Transaction, row: sa.Row[Any], handle: str, *, found_by: str, bound: bool) -> None:
    """Keep a remote job that carries this attempt's reference; the first to be kept stays."""
    insert = insert_for(tx.connection, remote_jobs).values(
        provider=row.provider,
        handle=handle,
        tenant=row.tenant,
        attempt=row.id,
        found_by=found_by,
        bound=int(bound),
        at=tx.now,
    )
    tx.connection.execute(insert.on_conflict_do_nothing())


def possible_start(tx: Transaction, row: sa.Row[Any]) -> tuple[Usage, ...]:
    """A send that may have been taken is booked as one possible start, once: it has one key."""
    return () if _possible_starts(tx, row) else (Usage("starts_unconfirmed", 1, key=str(row.send_tries)),)


def settled_starts(tx: Transaction, row: sa.Row[Any]) -> tuple[Usage, ...]:
    """Starts of an attempt that were booked as possible are not any more: what became of them is known."""
    booked = _possible_starts(tx, row)
    return (Usage("starts_unconfirmed", -booked, f"settled-{row.send_tries}"),) if booked else ()


def _possible_starts(tx: Transaction, row: sa.Row[Any]) -> int:
    booked = tx.connection.scalar(
        sa.select(sa.func.sum(usage_facts.c.quantity)).where(
            usage_facts.c.attempt == row.id, usage_facts.c.meter == "starts_unconfirmed"
        )
    )
    return int(booked or 0)
