"""A campaign's administrative settings: what held at a time, never an overwrite."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from resources.database.database import Transaction
from resources.database.schema import campaign_settings


def in_force(connection: sa.Connection, campaign: str, at: int) -> sa.Row[Any] | None:
    """The settings that held at *at* (UTC microseconds), None before the first."""
    return connection.execute(
        sa.select(campaign_settings)
        .where(campaign_settings.c.campaign == campaign, campaign_settings.c.effective_from <= at)
        .order_by(campaign_settings.c.number.desc())
        .limit(1)
    ).one_or_none()


def cost_centers(tx: Transaction, campaigns: Collection[str]) -> dict[str, str]:
    """The cost centre of each campaign that holds now."""
    newest = (
        sa.select(campaign_settings.c.campaign, sa.func.max(campaign_settings.c.number).label("number"))
        .where(campaign_settings.c.campaign.in_(campaigns), campaign_settings.c.effective_from <= tx.now)
        .group_by(campaign_settings.c.campaign)
        .subquery()
    )
    rows = tx.connection.execute(
        sa.select(campaign_settings.c.campaign, campaign_settings.c.cost_center).join(
            newest,
            sa.and_(
                campaign_settings.c.campaign == newest.c.campaign,
                campaign_settings.c.number == newest.c.number,
            ),
        )
    )
    return {row.campaign: row.cost_center for row in rows}
