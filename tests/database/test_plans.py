"""P5, G10: what runs all day finds its rows by an index, on 20,000 rows and on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from pipeline.domain.follow_ons import Stage
from resources.database import schema
from resources.database.claims import (
    claim_for_retry,
    claim_polls,
    claim_stage,
    claim_unknown,
)
from resources.database.database import Database, Transaction
from resources.database.delivery import undelivered
from resources.database.due import due_by_stage
from resources.database.lane_claims import claim_submissions
from resources.database.lanes import set_caps
from tests.conftest import NOON, SECOND
from tests.database import rows

ROWS, TENANTS = 20_000, 50
#: Of fifty attempts, forty-five are done and one is due in each state that a claim looks for.
_STATES = (
    ("queued", "not_sent"), ("submitting", "unknown"), ("generating", "accepted"),
    ("retrieving", "accepted"), ("stored", "accepted"),
)  # fmt: skip

Claim = Callable[[Transaction], Any]
CLAIMS: dict[str, Claim] = {
    "polls": lambda tx: claim_polls(tx, "local", "me", 500),
    "lost submissions": lambda tx: claim_unknown(tx, "local", "me", 50),
    "submissions": lambda tx: claim_submissions(tx, "local", "me"),
    "retry rule": lambda tx: claim_for_retry(tx, "me"),
    "retrievals": lambda tx: claim_stage(tx, Stage.RETRIEVE, "me"),
    "derivations": lambda tx: claim_stage(tx, Stage.DERIVE, "me"),
    "publications": lambda tx: claim_stage(tx, Stage.PUBLISH, "me"),
    "messages": lambda tx: undelivered(tx, 500),
    "what is due": lambda tx: due_by_stage(tx.connection, tx.now),
}


def _attempt(number: int) -> dict[str, Any]:
    tenant = f"t{number % TENANTS}"
    place = number // TENANTS % 50
    state, submission = _STATES[place] if place < len(_STATES) else ("indexed", "accepted")
    is_due = NOON - number * SECOND if place < len(_STATES) else None
    return {
        "id": f"a-{number}", "tenant": tenant, "campaign": f"{tenant}.spring", "rendition": f"r-{tenant}",
        "number": number, "state": state, "submission": submission, "idempotency_key": f"k-{number}",
        "request_fingerprint": "f", "provider": "local", "model": "m", "currency": "EUR", "spend": "live",
        "created_at": 0, "next_action_at": is_due, "next_poll_at": is_due,
    }  # fmt: skip


@pytest.fixture
def crowded(database: Database) -> Database:
    for number in range(TENANTS):
        home = rows.campaign(database, f"t{number}.spring")
        rows.rendition(database, home, f"r-t{number}")
    rows.insert(database, schema.attempts, *(_attempt(number) for number in range(ROWS)))
    sent = {"tenant": "t1", "topic": "approved", "subject_id": "a-1", "created_at": 0, "next_try_at": 0}
    rows.insert(
        database,
        schema.outbox,
        *({**sent, "id": f"m-{n}", "delivered_at": NOON if n > 50 else None} for n in range(ROWS)),
    )
    database.run(lambda tx: set_caps(tx, "local", cap=1_000, tenant_cap=100))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    return database


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[tuple[str, Any]]]:
    """Whatever is executed meanwhile that touches a large table, by its text or by its prepared name."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        touches = any(word in statement for word in ("attempts", "outbox", "EXECUTE"))
        if touches and not statement.startswith("PREPARE"):
            seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def scans(database: Database, statement: str, parameters: Any) -> list[str]:
    """Lines of the plan that read a large table from one end to the other."""
    explain = "EXPLAIN QUERY PLAN" if database.engine.dialect.name == "sqlite" else "EXPLAIN"
    with database.reading() as connection:
        plan = [
            str(tuple(row)[-1])
            for row in connection.exec_driver_sql(f"{explain} {statement}", parameters)
        ]  # fmt: skip
    large = ("attempts", "outbox")
    return [
        line
        for line in plan
        if any(f"SCAN {name}" in line or f"Seq Scan on {name}" in line for name in large)
    ]


def test_no_claim_reads_a_whole_table(crowded: Database) -> None:
    found: dict[str, list[str]] = {}
    for name, claim in CLAIMS.items():
        with statements(crowded.engine) as seen:
            crowded.run(claim)
        assert seen, name
        found[name] = [
            line for statement, parameters in seen for line in scans(crowded, statement, parameters)
        ]

    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_guard_sees_a_statement_that_has_no_index(crowded: Database) -> None:
    statement = "SELECT id FROM attempts WHERE model = 'x'"

    assert scans(crowded, statement, ()) != []
