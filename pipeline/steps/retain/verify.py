"""Delete, look again, and say so for good: what a receipt rests on (C2, C3).

Belongs here: removing every version, proof that nothing is left in store, search and caches of ours, the
receipts in the transaction that ends the purge, and proving them later. Does not belong here: what may go.

A store that says yes is not believed: each key is looked at again. A key that is gone already counts as done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.lifecycle import Move, ObjectState
from pipeline.domain.retention import What
from pipeline.steps.retain.leftovers import CACHED, remove
from pipeline.steps.retain.mark import ACTOR
from pipeline.steps.retain.retaining import Retaining
from resources.database import retention_plans as rows
from resources.database.counters import count_up
from resources.database.database import Transaction
from resources.database.objects import objects_by_id
from resources.database.purged_objects import end_uses, holders_of, purging_orphans
from resources.database.receipts import Chain, NewReceipt, prove_chain, receipts_about, write_receipts
from resources.database.schema import retention_plans
from resources.database.transitions import Transition, Verdict, apply
from resources.object_store.protocol import UPLOADS, ObjectStore

#: Neither bytes under a key of ours nor rows of objects.
APART = (What.TEMPORARY_OBJECT, What.SPOOL_FILE, What.GRANT)
_GONE = Move(ObjectState.PURGING, ObjectState.PURGED)
Place = tuple[str, int]  #: plan and number of an item


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen after the deletion of one key."""

    was_there: bool  #: False: somebody else had removed it; that counts as done
    uploads: int = 0  #: unfinished uploads to the same key that were aborted


def delete_and_verify(
    retaining: Retaining, items: Sequence[sa.Row[Any]]
) -> tuple[dict[Place, Proof], dict[Place, str]]:
    """Delete what *items* name; proofs of what is gone, and reasons for what is not. StoreUnavailable."""
    apart = [item for item in items if item.what in APART]
    stored = [item for item in items if item not in apart]
    still = remove(retaining, apart)
    left = {(one.plan, one.number): still[one.number] for one in apart if one.number in still}
    proofs = {_place(one): Proof(True) for one in apart if _place(one) not in left}
    if stored:
        gone, not_gone = _stored(retaining, stored)
        proofs, left = proofs | gone, left | not_gone
    return proofs, left


def _stored(
    retaining: Retaining, items: Sequence[sa.Row[Any]]
) -> tuple[dict[Place, Proof], dict[Place, str]]:
    store = retaining.adapters.store
    keys = {item.key for item in items}
    answers = store.delete_all(sorted(keys))
    uploads = _abort_uploads(store, keys)
    _forget_cached(retaining, items)
    left = store.left_of(sorted(keys))
    proofs, not_gone = {}, {}
    for item in items:
        answer = answers[item.key]
        reason = left.get(item.key, "") or ("" if isinstance(answer, bool) else answer)
        if reason:
            not_gone[_place(item)] = reason
        else:
            proofs[_place(item)] = Proof(answer is True, uploads[item.key])
    return proofs, not_gone


def what_is_left(store: ObjectStore, key: str) -> str:
    """What of *key* can still be read or costs storage, in a word; nothing when it is really gone."""
    return store.left_of([key]).get(key, "")


def _abort_uploads(store: ObjectStore, keys: set[str]) -> Counter[str]:
    """Uploads to these keys that nobody finished: they cost storage, and no listing shows them."""
    aborted: Counter[str] = Counter()
    for one in store.list_temporary():
        first, _, rest = one.key.partition("/")
        key = rest.partition("/")[2]
        if first == UPLOADS and key in keys:
            aborted[key] += store.delete_temporary(one.key)
    return aborted


def _forget_cached(retaining: Retaining, items: Sequence[sa.Row[Any]]) -> None:
    """This machine's copy of a picture that was sent on."""
    folder = retaining.adapters.spool / CACHED
    if not folder.is_dir():
        return
    with retaining.adapters.database.reading() as connection:
        found = objects_by_id(connection, [item.subject for item in items])
    for row in found.values():
        (folder / row.sha256).unlink(missing_ok=True)


def _place(item: sa.Row[Any]) -> Place:
    return item.plan, item.number


def receipt(tx: Transaction, items: Sequence[sa.Row[Any]], proofs: Mapping[Place, Proof]) -> None:
    """End the purge of *items*: purged, their uses ended, one receipt each, in one transaction.

    An item that somebody else ended meanwhile gets no second receipt.
    """
    orphans = purging_orphans(tx, [item.key for item in items if item.what == What.ORPHAN_OBJECT])
    locked = rows.lock_objects(tx, {orphans.get(one.key, one.subject) for one in items})
    mine = rows.lock_items(tx, items, rows.PURGING)
    ids = {_place(one): orphans.get(one.key, one.subject) for one in mine}
    _move(tx, [locked[name] for name in ids.values() if name in locked])
    plans = _plans(tx, {item.plan for item in mine})
    end_uses(tx, [name for name in ids.values() if name in locked])
    write_receipts(
        tx,
        [
            NewReceipt(
                one.tenant, one.plan, one.number, ids[_place(one)],
                _said(tx, one, plans[one.plan], locked.get(ids[_place(one)]), proofs[_place(one)]),
            )
            for one in mine
        ],
    )  # fmt: skip
    for plan in plans:
        rows.settle(tx, [one for one in mine if one.plan == plan], rows.PURGED, completed_at=tx.now)
    for tenant, number in Counter(one.tenant for one in mine).items():
        count_up(tx, "retention_purged", tenant, number)


def _move(tx: Transaction, objects: Sequence[sa.Row[Any]]) -> None:
    """All of it or nothing: LostRace is a row that somebody changed under our lock, which nobody can."""
    wanted = [
        Transition("object", row, _GONE, ACTOR, "verified_gone", facts={"purged_at": tx.now})
        for row in objects
    ]
    if any(verdict is not Verdict.APPLIED for verdict in apply(tx, wanted)):
        raise LostRace("object", objects[0].id, "stale")


def _plans(tx: Transaction, ids: set[str]) -> dict[str, sa.Row[Any]]:
    found = tx.connection.execute(sa.select(retention_plans).where(retention_plans.c.id.in_(ids)))
    return {row.id: row for row in found}


def _said(
    tx: Transaction, item: sa.Row[Any], plan: sa.Row[Any], row: sa.Row[Any] | None, proof: Proof
) -> dict[str, Any]:
    """Ids, hashes, sizes, times, the policy's words: no name of a person or file."""
    return {
        "subject": item.subject if row is None else row.id,
        "what": item.what,
        "tenant": item.tenant,
        "plan": item.plan,
        "item": item.number,
        "policy_version": plan.policy_version,
        "policy_sha256": plan.policy_sha256,
        "policy_row": f"{item.policy_row}@{item.row_version}",
        "reason": item.reason,
        "anchor_at": item.anchor_at,
        "due_at": item.due_at,
        "size_bytes": item.size_bytes,
        "sha256": None if row is None else row.sha256 or None,
        "marked_at": item.marked_at,
        "purged_at": tx.now,
        "was_there": proof.was_there,
        "uploads_aborted": proof.uploads,
        "verified": ["not_readable", "no_version", "no_upload", "not_in_search", "not_in_spool"],
    }


@dataclass(frozen=True, slots=True)
class Proven:
    """What can be shown of one deletion now."""

    subject: str
    receipts: tuple[str, ...]  #: their bodies
    chain: Chain
    left: str  #: what of it is still there after all; empty when nothing is
    key_is_used_again: bool  #: another object holds the key by now

    @property
    def holds(self) -> bool:
        return bool(self.receipts) and self.chain.is_whole and not self.left


def prove(retaining: Retaining, subject: str, *, known: str = "") -> Proven:
    """Show that the object *subject* was purged: its receipt, the whole chain, and a look into the store."""
    with retaining.adapters.database.reading() as connection:
        bodies = tuple(row.body for row in receipts_about(connection, subject))
        chain = prove_chain(connection, known=known)
        row = objects_by_id(connection, [subject]).get(subject)
        holders = holders_of(connection, row.key) if row is not None else ()
    used_again = any(name != subject for name in holders)
    left = "" if row is None or used_again else what_is_left(retaining.adapters.store, row.key)
    return Proven(subject, bodies, chain, left, used_again)
