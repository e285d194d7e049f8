"""A claim for one campaign (a backfill from Dagster's UI) takes nothing of another one (E3)."""

from __future__ import annotations

import pytest

from pipeline.domain.follow_ons import Stage
from resources.database.claims import claim_stage
from resources.database.database import Database
from resources.database.lane_claims import claim_submissions
from resources.database.lanes import set_caps
from tests.conftest import NOON
from tests.database import rows


@pytest.fixture
def two_campaigns(database: Database) -> list[str]:
    """One due attempt each, to retrieve and to submit."""
    names = []
    for campaign in ("northwind.spring", "northwind.autumn"):
        rows.campaign(database, campaign)
        for state in ("retrieving", "queued"):
            name = f"{campaign}-{state}"
            rows.rendition(database, campaign, name)
            rows.attempt(database, campaign, name, state=state, next_action_at=NOON)
        names.append(campaign)
    database.run(lambda tx: set_caps(tx, "local", cap=10, tenant_cap=10))
    return names


def test_a_stage_claim_takes_only_the_named_campaign(database: Database, two_campaigns: list[str]) -> None:
    wanted = two_campaigns[1]
    claimed = database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "me", campaign=wanted))

    assert [row.campaign for row in claimed] == [wanted]


def test_a_submission_claim_takes_only_the_named_campaign(
    database: Database, two_campaigns: list[str]
) -> None:
    wanted = two_campaigns[0]
    claimed = database.run(lambda tx: claim_submissions(tx, "local", "me", campaign=wanted))

    assert [row.campaign for row in claimed] == [wanted]


def test_without_a_campaign_a_claim_takes_all(database: Database, two_campaigns: list[str]) -> None:
    claimed = database.run(lambda tx: claim_stage(tx, Stage.RETRIEVE, "me"))

    assert sorted(row.campaign for row in claimed) == sorted(two_campaigns)
