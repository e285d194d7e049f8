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
from resources.database.schema import observations


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


def record_looks(tx: Transaction, looks: Sequence[Look]) -> int:
    """Write *looks* that are still leased by us and give their leases back; returns how many were."""
    if not looks:
        return 0
    rows = [
        (look.attempt, look.lease_token, look.poll_count, look.next_poll_at, look.last_observation)
        for look in looks
    ]
    dialect = tx.connection.dialect.name
    statement = sa.text(
        f"WITH looked AS ({_LOOKS[dialect]}) "  # noqa: S608 - our own two texts
        "UPDATE attempts SET poll_count = looked.polls, next_poll_at = looked.next_at, "
        "last_observation = looked.seen, lease_until = 0, lease_owner = NULL FROM looked "
        "WHERE attempts.id = looked.id AND attempts.lease_token = looked.token "
        f"AND {_STATE[dialect]} = 'generating' RETURNING attempts.id"
    )
    return len(tx.connection.execute(statement, {"rows": json.dumps(rows)}).all())


def record_observations(tx: Transaction, seen: Sequence[tuple[sa.Row[Any], Observation]]) -> None:
    """Keep observations that say something new about their attempt."""
    if not seen:
        return
    tx.connection.execute(
        sa.insert(observations),
        [
            {
                "tenant": row.tenant,
                "attempt": row.id,
                "handle": observation.handle,
                "standing": str(observation.standing),
                "word": observation.word,
                "outcome_class": observation.outcome and str(observation.outcome),
                "reason": observation.reason,
                "at": tx.now,
            }
            for row, observation in seen
        ],
    )
