"""Looks at remote jobs: what was seen, and when the next look is due.

A look that says nothing new changes no visible fact, so it is no audited transition; its guard is the
lease token alone. What is new is kept in `observations`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.observations import Observation
from resources.database.database import Transaction


@dataclass(frozen=True, slots=True)
class Look:
    attempt: str
    lease_token: int
    poll_count: int
    next_poll_at: int | None  #: UTC microseconds
    last_observation: str


_LOOKS = {
    "sqlite": (
        "SELECT json_extract(value,'$[0]') AS id, json_extract(value,'$[1]') AS token, "
        "json_extract(value,'$[2]') AS polls, json_extract(value,'$[3]') AS next_at, "
        "json_extract(value,'$[4]') AS seen FROM json_each(:rows)"
    ),
    "postgresql": (
        "SELECT value->>0 AS id, CAST(value->>1 AS bigint) AS token, CAST(value->>2 AS bigint) AS polls, "
        "CAST(value->>3 AS bigint) AS next_at, value->>4 AS seen "
        "FROM json_array_elements(CAST(:rows AS json))"
    ),
}

#: SQLite must find the rows by their key, not by the index on `state`, which holds every running job.
_STATE = {"sqlite": "+attempts.state", "postgresql": "attempts.state"}

_RECORD = {
    dialect: sa.text(
        f"WITH looked AS ({looks}) "  # noqa: S608 - our own two texts
        "UPDATE attempts SET poll_count = looked.polls, next_poll_at = looked.next_at, "
        "last_observation = looked.seen, lease_until = 0, lease_owner = NULL FROM looked "
        "WHERE attempts.id = looked.id AND attempts.lease_token = looked.token "
        f"AND {_STATE[dialect]} = 'generating' RETURNING attempts.id"
    )
    for dialect, looks in _LOOKS.items()
}


def record_looks(tx: Transaction, looks: Sequence[Look]) -> int:
    """Write *looks* that are still leased by us and give their leases back; returns how many were."""
    if not looks:
        return 0
    rows = [
        (look.attempt, look.lease_token, look.poll_count, look.next_poll_at, look.last_observation)
        for look in looks
    ]
    found = tx.connection.execute(_RECORD[tx.connection.dialect.name], {"rows": json.dumps(rows)})
    return len(found.all())


_OBSERVATIONS = {
    dialect: sa.text(
        "INSERT INTO observations (tenant, attempt, handle, standing, word, outcome_class, reason, at) "  # noqa: S608 - our own two texts
        f"SELECT {', '.join(taken.format(place) for place in range(7))}, CAST(:at AS bigint) FROM {rows}"
    )
    for dialect, (taken, rows) in {
        "sqlite": ("json_extract(value,'$[{}]')", "json_each(:rows)"),
        "postgresql": ("value->>{}", "json_array_elements(CAST(:rows AS json))"),
    }.items()
}


def record_observations(tx: Transaction, seen: Sequence[tuple[sa.Row[Any], Observation]]) -> None:
    """Keep observations that say something new about their attempt."""
    if not seen:
        return
    rows = [
        (row.tenant, row.id, one.handle, one.standing, one.word, one.outcome, one.reason) for row, one in seen
    ]
    statement = _OBSERVATIONS[tx.connection.dialect.name]
    tx.connection.execute(statement, {"rows": json.dumps(rows), "at": tx.now})
