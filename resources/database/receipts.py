"""Receipts of purges: chained by hash, so that a removed or altered one shows (C3).

Belongs here: writing them, and proving the chain. Does not belong here: proving that bytes are gone
(`pipeline.steps.retain.verify`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import retention_heads, retention_receipts
from resources.database.schema.base import canonical_json

CHAIN = "receipts"
PAGE = 5_000


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """What a receipt says; nothing personal: ids, hashes, sizes, times and the policy's words."""

    tenant: str
    plan: str
    item: int
    subject: str
    said: Mapping[str, Any]


def write_receipts(tx: Transaction, new: Sequence[NewReceipt]) -> None:
    """Append to the chain, whose end stays locked until this transaction ends."""
    if not new:
        return
    head = tx.connection.execute(
        sa.select(retention_heads).where(retention_heads.c.name == CHAIN).with_for_update()
    ).one()
    number, previous, rows = head.number, head.sha256, []
    for one in new:
        number += 1
        body = canonical_json({**one.said, "number": number, "previous": previous})
        sha256 = digest(body)
        rows.append(
            {"number": number, "tenant": one.tenant, "plan": one.plan, "item": one.item,
             "subject": one.subject, "body": body, "previous": previous, "sha256": sha256, "at": tx.now}
        )  # fmt: skip
        previous = sha256
    tx.connection.execute(sa.insert(retention_receipts), rows)
    tx.connection.execute(
        sa.update(retention_heads)
        .where(retention_heads.c.name == CHAIN)
        .values(number=number, sha256=previous)
    )


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Chain:
    """How the chain of receipts stands. `sha256` of its end can be kept elsewhere and compared."""

    length: int
    sha256: str
    problems: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not self.problems


def prove_chain(connection: sa.Connection, *, known: str = "") -> Chain:
    """Walk the whole chain. *known*: a hash of its end that was kept elsewhere and must still be in it."""
    head = connection.execute(sa.select(retention_heads).where(retention_heads.c.name == CHAIN)).one()
    previous, length, problems, is_known = "", 0, [], not known
    for row in _all(connection):
        length += 1
        problems += [f"receipt {length} is missing"] if row.number != length else []
        problems += _wrong(row, previous)
        previous, length = row.sha256, row.number
        is_known = is_known or row.sha256 == known
    if (length, previous) != (head.number, head.sha256):
        problems.append(f"the chain ends at {length}, and {head.number} receipts were written")
    if not is_known:
        problems.append(f"no receipt has the hash {known}, which was kept elsewhere")
    return Chain(length, previous, tuple(problems))


def _wrong(row: sa.Row[Any], previous: str) -> list[str]:
    found = [f"receipt {row.number} was altered"] if is_altered(row) else []
    if row.previous != previous:
        found.append(f"receipt {row.number} does not follow the one before it")
    return found


def is_altered(row: sa.Row[Any]) -> bool:
    """The receipt's text is not what its hash is of, or its columns say something else than its text."""
    if digest(row.body) != row.sha256:
        return True
    body = json.loads(row.body)
    return bool(
        (body["number"], body["subject"], body["previous"]) != (row.number, row.subject, row.previous)
    )


def _all(connection: sa.Connection) -> Iterator[sa.Row[Any]]:
    last = 0
    while rows := connection.execute(
        sa.select(retention_receipts)
        .where(retention_receipts.c.number > last)
        .order_by(retention_receipts.c.number)
        .limit(PAGE)
    ).all():
        yield from rows
        last = rows[-1].number


def receipts_about(connection: sa.Connection, subject: str) -> Sequence[sa.Row[Any]]:
    wanted = sa.select(retention_receipts).where(retention_receipts.c.subject == subject)
    return connection.execute(wanted.order_by(retention_receipts.c.number)).all()


def receipts_of(connection: sa.Connection, plan: str | None, limit: int) -> Sequence[sa.Row[Any]]:
    """The newest receipts, of one plan or of all."""
    wanted = sa.select(retention_receipts).order_by(retention_receipts.c.number.desc()).limit(limit)
    if plan is not None:
        wanted = wanted.where(retention_receipts.c.plan == plan)
    return connection.execute(wanted).all()
