"""What somebody was told, and what is still to be told: one row an alert, whatever raised it."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, count, metadata, micros, tenant, text

alerts = sa.Table(
    "alerts",
    metadata,
    text("id", primary_key=True),  # what it is about: the key under which it is told once
    tenant(),
    text("severity"),
    text("title"),
    sa.Column("facts", JsonText, nullable=False),
    text("link_window", null=True),
    text("link_path", null=True),
    micros("first_at"),  # of this episode: since it was raised first, or after it was cleared
    micros("last_at"),
    count("raised"),  # how often it was raised in this episode
    micros("sent_at", null=True),  # NULL: to be sent
    micros("cleared_at", null=True),
    micros("next_try_at"),
    count("tries"),  # sends that the channel did not take, since the last one that it took
    text("last_error", null=True),  # a reason code
    count("claim"),  # fencing token of whoever sends it
    micros("claimed_until"),
    sa.Index(
        "ix_alerts_unsent",
        "next_try_at",
        sqlite_where=sa.text("sent_at IS NULL AND cleared_at IS NULL"),
        postgresql_where=sa.text("sent_at IS NULL AND cleared_at IS NULL"),
    ),
)
