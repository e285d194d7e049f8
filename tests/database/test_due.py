"""P3, L11: whatever a lot would take on is due, so that the sensor requests that lot."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.follow_ons import Stage
from resources.database import schema
from resources.database.database import Database
from resources.database.due import due_by_stage
from tests.conftest import NOON
from tests.database import rows


def due(database: Database) -> dict[Stage, int]:
    with database.reading() as connection:
        return {stage: number for stage, number in due_by_stage(connection, NOON).items() if number}


def attempt(database: Database, **columns: Any) -> None:
    home = rows.campaign(database)
    rows.attempt(database, home, rows.rendition(database, home), next_action_at=NOON, **columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"state": "failed", "outcome_class": "provider_fault"},
        {"state": "cancelled", "outcome_class": "cancelled_by_provider"},
        {"state": "generating", "overdue_at": NOON},
    ],
)
def test_what_only_waits_for_the_retry_rule_is_due(database: Database, columns: dict[str, Any]) -> None:
    attempt(database, **columns)

    assert due(database) == {Stage.SUBMIT: 1}


@pytest.mark.parametrize(("inside", "expected"), [(0, {}), (1, {Stage.SUBMIT: 1})])
def test_a_full_lane_is_due_only_for_what_a_dead_claimer_left_in_it(
    database: Database, inside: int, expected: dict[Stage, int]
) -> None:
    """G10: the lot frees those places, and nobody else would."""
    attempt(database, lane_held=inside, lease_until=inside)
    lane = {"provider": "local", "tenant": "*", "in_flight": 1, "cap": 1}
    rows.insert(database, schema.lanes, lane)

    assert due(database) == expected
