"""Campaigns, the settings that hold over time, and the cap of their budget.

Belongs here: statements over `campaigns`, `campaign_settings`, `budgets.cap`. Does not belong here: holds and
settlements (`budgets`), what a brief may say (`pipeline.documents.brief`).

`lock_campaign` is the gate of everything that intake, decisions and takes change: one at a time a campaign.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Administrative, BudgetCap
from pipeline.domain.renditions import split_partition_key
from resources.database.database import Transaction
from resources.database.schema import budgets, campaign_settings, campaigns
from resources.database.upsert import insert_for


def open_campaign(tx: Transaction, campaign: str, title: str) -> sa.Row[Any]:
    """The campaign's row, made when it is new, locked for this transaction."""
    tenant, slug = split_partition_key(campaign)
    insert = insert_for(tx.connection, campaigns).values(
        id=campaign, tenant=tenant, slug=slug, title=title, newest_revision=0, created_at=tx.now
    )
    tx.connection.execute(insert.on_conflict_do_nothing())
    locked = lock_campaign(tx, campaign)
    assert locked is not None, "inserted or there already"  # noqa: S101
    return locked


def lock_campaign(tx: Transaction, campaign: str) -> sa.Row[Any] | None:
    """The campaign's row, locked for this transaction; SQLite's one writer needs no lock."""
    wanted = sa.select(campaigns).where(campaigns.c.id == campaign).with_for_update()
    return tx.connection.execute(wanted).one_or_none()


def change_campaign(tx: Transaction, campaign: str, **columns: Any) -> None:
    """Visible facts of the campaign itself; its entity version rises."""
    tx.connection.execute(
        sa.update(campaigns)
        .where(campaigns.c.id == campaign)
        .values(entity_version=campaigns.c.entity_version + 1, **columns)
    )


def newest_settings(tx: Transaction, campaign: str) -> sa.Row[Any] | None:
    """The settings that a delivery is compared with; None before the first."""
    return tx.connection.execute(
        sa.select(campaign_settings)
        .where(campaign_settings.c.campaign == campaign)
        .order_by(campaign_settings.c.number.desc())
        .limit(1)
    ).one_or_none()


def settings_columns(wanted: Administrative) -> dict[str, Any]:
    """The administrative part as it stands in a row; equal columns mean nothing was amended."""
    return {
        "title": wanted.title,
        "cost_center": wanted.cost_center,
        "retention_class": wanted.retention_class,
        "asset_type": wanted.asset_type,
        "visibility": str(wanted.visibility),
        "tags": {name: list(values) for name, values in wanted.tags.items()},
        "publish": str(wanted.publish),
        "completion": str(wanted.completion),
        "ends_on": wanted.ends_on and wanted.ends_on.isoformat(),
        "budget_cap": wanted.budget.cap_micros,
        "currency": wanted.budget.currency,
    }


def write_settings(
    tx: Transaction,
    campaign: sa.Row[Any],
    wanted: Administrative,
    *,
    number: int,
    tags_version: int,
    actor: str,
) -> None:
    """One more row of settings, in force from now on; the earlier ones stay as they are."""
    tx.connection.execute(
        sa.insert(campaign_settings).values(
            campaign=campaign.id,
            tenant=campaign.tenant,
            number=number,
            effective_from=tx.now,
            actor=actor,
            tags_version=tags_version,
            **settings_columns(wanted),
        )
    )


def lock_budget(tx: Transaction, campaign: str) -> sa.Row[Any] | None:
    wanted = sa.select(budgets).where(budgets.c.campaign == campaign).with_for_update()
    return tx.connection.execute(wanted).one_or_none()


def write_cap(tx: Transaction, campaign: sa.Row[Any], wanted: BudgetCap) -> None:
    """The cap that holds are compared with; what is held and settled stays as it is."""
    insert = insert_for(tx.connection, budgets).values(
        campaign=campaign.id, tenant=campaign.tenant, currency=wanted.currency, cap=wanted.cap_micros
    )
    tx.connection.execute(
        insert.on_conflict_do_update(
            index_elements=["campaign"],
            set_={"cap": insert.excluded.cap, "currency": insert.excluded.currency},
        )
    )
