"""Money before the ledger: budgets and holds in micro-units, usage facts in integers."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import MicroMoney, count, metadata, micros, tenant, text

budgets = sa.Table(
    "budgets",
    metadata,
    text("campaign", sa.ForeignKey("campaigns.id"), primary_key=True),
    tenant(),
    text("currency"),
    sa.Column("cap", MicroMoney, nullable=False),
    sa.Column("held", MicroMoney, nullable=False, server_default=sa.text("0")),
    sa.Column("settled", MicroMoney, nullable=False, server_default=sa.text("0")),
)

holds = sa.Table(
    "holds",
    metadata,
    text("attempt", sa.ForeignKey("attempts.id"), primary_key=True),
    tenant(),
    text("campaign", sa.ForeignKey("budgets.campaign"), index=True),
    sa.Column("amount", MicroMoney, nullable=False),
    text("currency"),
    text("state"),  # open, settled, released
    sa.Column("settled_amount", MicroMoney, nullable=False, server_default=sa.text("0")),
    micros("opened_at"),
    micros("closed_at", null=True),
)

#: Append-only integers with deterministic ids, written in the transaction of what they describe (F1).
usage_facts = sa.Table(
    "usage_facts",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("campaign"),
    text("rendition", null=True),
    text("attempt", null=True),
    text("object", null=True),
    text("cost_center"),
    text("meter"),
    count("quantity", default=None),
    text("spend"),
    micros("at"),
    sa.Index(None, "rendition", "meter"),
    sa.Index(None, "at"),
)
