"""Make moves and facts stick: one guarded UPDATE with its audit, usage facts and outbox messages (L3).

Belongs here: the guard, and everything that must be in its transaction. Does not belong here: which
move or fact is right (steps and domain).

Everything is written in lots; a single transition is a lot of one. A row that did not change lost: its
state, version or lease token was not the expected one. The caller learns how (`Verdict`), the loss is
counted in `counters`, and nothing else of that transition is written.
"""

from __future__ import annotations

import enum
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import LostRace
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import Move, Submission, require_submission_move
from resources.database.batch_items import note_moves
from resources.database.counters import count_up
from resources.database.database import Transaction
from resources.database.schema import attempts, audit, objects, outbox, revisions, usage_facts
from resources.database.schema.base import JsonText, canonical_json
from resources.database.settings import cost_centers
from resources.database.upsert import insert_for

TABLES: Mapping[str, sa.Table] = {"attempt": attempts, "revision": revisions, "object": objects}


class Verdict(enum.StrEnum):
    """What became of one transition."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"  #: the row is already where the move leads
    STALE = "stale"  #: another state, version or lease token: somebody else won
    GONE = "gone"  #: no such row


@dataclass(frozen=True, slots=True)
class Usage:
    """One usage fact (F1); `key` makes its id unique among those of its subject and meter."""

    meter: str
    quantity: int
    key: str = ""
    object: str | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """One wanted change of one row: a move, or facts alone (`move` None).

    `row` is the row as it was read: its id, tenant, version, entity_version and lease_token are the
    guard. `take_over` is a person's command: it raises the lease token instead of comparing it.
    `release` gives the lease back.
    """

    kind: str
    row: sa.Row[Any]
    move: Move | None
    actor: str
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    usage: tuple[Usage, ...] = ()
    topics: tuple[Topic, ...] = ()
    detail: Mapping[str, Any] | None = None
    take_over: bool = False
    release: bool = False

    def __post_init__(self) -> None:
        wanted = self.facts.get("submission", getattr(self.row, "submission", None))
        if self.kind == "attempt" and wanted != self.row.submission:
            require_submission_move(Submission(self.row.submission), Submission(wanted))

    @property
    def new_version(self) -> int | None:
        return None if self.move is None else int(self.row.version) + 1

    @property
    def new_token(self) -> int:
        return int(getattr(self.row, "lease_token", 0)) + self.take_over


def apply(tx: Transaction, wanted: Sequence[Transition]) -> list[Verdict]:
    """Apply each of *wanted* whose guard holds; verdicts in the same order.

    Writes, in this transaction and for applied ones only: the rows, one audit row each, their usage
    facts, their outbox messages, and one partition-mark message a campaign.
    """
    changed: dict[tuple[str, str], int] = {}
    for shape, group in _by_shape(wanted).items():
        changed |= {(shape.kind, subject): entity for subject, entity in _update(tx, shape, group)}
    applied = [
        _Applied(one, changed[one.kind, one.row.id]) for one in wanted if (one.kind, one.row.id) in changed
    ]
    if applied:
        _write_audit(tx, applied)
        _write_usage(tx, applied)
        _write_messages(tx, applied)
        note_moves(tx, [pair for one in applied for pair in _attempt_move(one.transition)])
    if len(applied) == len(wanted):
        return [Verdict.APPLIED] * len(wanted)
    return [_classify(tx, one, changed) for one in wanted]


def apply_one(tx: Transaction, one: Transition) -> None:
    """Apply a single transition, or raise `LostRace` (which rolls the caller's transaction back)."""
    [verdict] = apply(tx, [one])
    if verdict is not Verdict.APPLIED:
        raise LostRace(one.kind, one.row.id, verdict)


def _attempt_move(one: Transition) -> tuple[tuple[str, str], ...]:
    if one.kind != "attempt" or one.move is None:
        return ()
    return ((one.row.rendition, str(one.move.target)),)


@dataclass(frozen=True, slots=True)
class _Applied:
    """A transition that held, and the entity version to which it raised its row.

    A move may pass facts that were written since its row was read, so it rises from what stands there.
    """

    transition: Transition
    entity_version: int

    @property
    def row(self) -> sa.Row[Any]:
        return self.transition.row


@dataclass(frozen=True, slots=True)
class _Shape:
    """Transitions of one shape go in one statement."""

    kind: str
    move: Move | None
    columns: tuple[str, ...]
    take_over: bool
    release: bool


def _by_shape(wanted: Sequence[Transition]) -> dict[_Shape, list[Transition]]:
    groups: dict[_Shape, list[Transition]] = defaultdict(list)
    for one in wanted:
        shape = _Shape(one.kind, one.move, tuple(sorted(one.facts)), one.take_over, one.release)
        groups[shape].append(one)
    return groups


def _update(tx: Transaction, shape: _Shape, group: Sequence[Transition]) -> list[tuple[str, int]]:
    rows = [
        (
            one.row.id,
            one.row.version,
            one.row.entity_version,
            getattr(one.row, "lease_token", 0),
            *(_plain(shape.kind, name, one.facts[name]) for name in shape.columns),
        )
        for one in group
    ]
    statement = _statement(tx.connection.dialect.name, shape)
    states = {"source": str(shape.move.source), "target": str(shape.move.target)} if shape.move else {}
    found = tx.connection.execute(statement, {"rows": json.dumps(rows), **states})
    return [(row.id, row.entity_version) for row in found]


def _plain(kind: str, name: str, value: Any) -> Any:
    if value is not None and isinstance(TABLES[kind].c[name].type, JsonText):
        return canonical_json(value)
    return value


@lru_cache(maxsize=512)
def _statement(dialect: str, shape: _Shape) -> sa.TextClause:
    """The guarded UPDATE of one shape. Every name in it comes from the schema, every value is bound."""
    table = TABLES[shape.kind]
    leased = "lease_token" in table.c
    columns = ["id", "version", "entity_version", *(["lease_token"] if leased else [])]
    places = dict(zip(columns, range(4), strict=False)) | {
        f"to_{name}": 4 + place for place, name in enumerate(shape.columns)
    }
    typed = {name: table.c[name.removeprefix("to_")] for name in places}
    wanted = ", ".join(f"{_take(dialect, typed[name], place)} AS {name}" for name, place in places.items())
    source = "json_each(:rows)" if dialect == "sqlite" else "json_array_elements(CAST(:rows AS json))"
    return sa.text(
        f"WITH wanted AS (SELECT {wanted} FROM {source}) "  # noqa: S608
        f"UPDATE {table.name} SET {', '.join(_assignments(shape, table.name, leased))} FROM wanted "
        f"WHERE {' AND '.join(_guards(dialect, shape, table.name, leased))} "
        f"RETURNING {table.name}.id, {table.name}.entity_version"
    )


def _assignments(shape: _Shape, table: str, leased: bool) -> list[str]:
    sets = [f"entity_version = {table}.entity_version + 1"]
    sets += [f"{name} = wanted.to_{name}" for name in shape.columns]
    if shape.move is not None:
        sets += ["state = :target", "version = wanted.version + 1"]
    if leased and shape.take_over:
        sets.append("lease_token = wanted.lease_token + 1")
    if leased and (shape.release or shape.take_over):
        sets += ["lease_until = 0", "lease_owner = NULL"]
    return sets


def _guards(dialect: str, shape: _Shape, table: str, leased: bool) -> list[str]:
    """Moves compare state and version, facts the entity version; both the lease token.

    A person's command compares the token too: it takes the lease over from the one it has seen. SQLite
    would rather search by the index on `state` than by the key (seconds a lot, not milliseconds); the
    unary plus takes that index away from it.
    """
    names = ["id", "version"] if shape.move is not None else ["id", "entity_version"]
    guards = [f"{table}.{name} = wanted.{name}" for name in (*names, *(["lease_token"] if leased else []))]
    if shape.move is not None:
        guards.append(f"{'+' if dialect == 'sqlite' else ''}{table}.state = :source")
    return guards


def _take(dialect: str, column: sa.Column[Any], place: int) -> str:
    if dialect == "sqlite":
        return f"json_extract(value, '$[{place}]')"
    kind = "bigint" if isinstance(column.type, sa.Integer) else "text"
    return f"CAST(value->>{place} AS {kind})"


def _write_audit(tx: Transaction, applied: Sequence[_Applied]) -> None:
    tx.connection.execute(
        sa.insert(audit), [_audit_row(tx, one.transition, one.entity_version) for one in applied]
    )


def _audit_row(tx: Transaction, one: Transition, entity_version: int) -> dict[str, Any]:
    return {
        "tenant": one.row.tenant,
        "subject_kind": one.kind,
        "subject_id": one.row.id,
        "from_state": one.move and str(one.move.source),
        "to_state": one.move and str(one.move.target),
        "version": one.new_version,
        "entity_version": entity_version,
        "operation_id": tx.operation_id,
        "actor": one.actor,
        "reason": one.reason,
        "lease_token": one.new_token,
        "detail": one.detail,
        "at": tx.now,
    }


def _write_usage(tx: Transaction, applied: Sequence[_Applied]) -> None:
    metered = [one for one in applied if one.transition.usage]
    if not metered:
        return
    centers = cost_centers(tx, {one.row.campaign for one in metered})
    tx.connection.execute(
        sa.insert(usage_facts),
        [
            {
                "id": f"{one.row.id}:{usage.meter}:{usage.key or one.entity_version}",
                "tenant": one.row.tenant,
                "campaign": one.row.campaign,
                "rendition": one.row.rendition,
                "attempt": one.row.id,
                "object": usage.object,
                "cost_center": centers[one.row.campaign],
                "meter": usage.meter,
                "quantity": usage.quantity,
                "spend": one.row.spend,
                "at": tx.now,
            }
            for one in metered
            for usage in one.transition.usage
        ],
    )


def _write_messages(tx: Transaction, applied: Sequence[_Applied]) -> None:
    rows = [
        message(tx, topic, one.row.tenant, one.row.id, str(one.entity_version))
        for one in applied
        for topic in one.transition.topics
    ]
    changed = {(one.row.tenant, one.row.campaign) for one in applied if one.transition.kind != "object"}
    rows += [
        message(tx, Topic.WISH_CHANGED, tenant, campaign, tx.operation_id)
        for tenant, campaign in sorted(changed)
    ]
    post(tx, rows)


def message(tx: Transaction, topic: Topic, tenant: str, subject: str, key: str) -> dict[str, Any]:
    """One outbox row; its id is stable, so the same message twice is one."""
    return {
        "id": f"{topic}:{subject}:{key}",
        "tenant": tenant,
        "topic": str(topic),
        "subject_id": subject,
        "created_at": tx.now,
        "next_try_at": tx.now,
    }


def post(tx: Transaction, messages: Sequence[Mapping[str, Any]]) -> None:
    """Put messages into the outbox; one that is there already stays as it is."""
    if not messages:
        return
    tx.connection.execute(insert_for(tx.connection, outbox).on_conflict_do_nothing(), list(messages))


def _classify(tx: Transaction, one: Transition, changed: Mapping[tuple[str, str], int]) -> Verdict:
    if (one.kind, one.row.id) in changed:
        return Verdict.APPLIED
    table = TABLES[one.kind]
    found = tx.connection.execute(sa.select(table.c.state).where(table.c.id == one.row.id)).one_or_none()
    if found is None:
        verdict = Verdict.GONE
    elif one.move is not None and found.state == str(one.move.target):
        verdict = Verdict.DUPLICATE
    else:
        verdict = Verdict.STALE
    count_up(tx, f"{one.kind}_{verdict}", one.row.tenant)
    return verdict
