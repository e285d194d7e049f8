"""The record: audit, outbox, counters, partition marks."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, RowNumber, count, metadata, micros, tenant, text

#: A move has a version, a fact change has none. UNIQUE(subject, version) is the last guard of the chain.
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", RowNumber, primary_key=True, autoincrement=True),
    tenant(),
    text("subject_kind"),
    text("subject_id"),
    text("from_state", null=True),
    text("to_state", null=True),
    count("version", null=True, default=None),
    count("entity_version", default=None),
    text("operation_id"),
    text("actor"),
    text("reason"),
    count("lease_token"),
    sa.Column("detail", JsonText, nullable=True),
    micros("at"),
    sa.UniqueConstraint("subject_kind", "subject_id", "version"),
)

outbox = sa.Table(
    "outbox",
    metadata,
    text("id", primary_key=True),  # topic:subject:version
    tenant(),
    text("topic"),
    text("subject_id"),
    count("attempts"),
    micros("created_at"),
    micros("next_try_at"),
    micros("delivered_at", null=True),
    micros("dead_at", null=True),
    text("last_error", null=True),
    sa.Index(
        "ix_outbox_undelivered",
        "next_try_at",
        sqlite_where=sa.text("delivered_at IS NULL AND dead_at IS NULL"),
        postgresql_where=sa.text("delivered_at IS NULL AND dead_at IS NULL"),
    ),
)

#: Things that are only counted: duplicates, stale writers, lost races. They survive the process (L3).
counters = sa.Table(
    "counters",
    metadata,
    text("name", primary_key=True),
    text("tenant", primary_key=True),
    count("value"),
)

#: What Dagster should be told about a campaign's asset: due while `marked` lags `due`.
partition_marks = sa.Table(
    "partition_marks",
    metadata,
    text("campaign", sa.ForeignKey("campaigns.id"), primary_key=True),
    tenant(),
    count("due"),  # rises with every visible change of a wish or source set
    count("marked"),  # the newest `due` that was told
    micros("due_at"),
    sa.Column("told", JsonText, nullable=False),  # asset -> what was told last
    count("has_partition"),  # 1: its key was added to Dagster
    sa.Index(None, "due_at"),
)

#: Every transaction, so that a lost COMMIT can be looked up (L10).
operations = sa.Table(
    "operations",
    metadata,
    text("id", primary_key=True),
    micros("at"),
)
