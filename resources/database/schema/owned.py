"""What is owned: objects, who needs them, what they were made from, derivatives."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, count, metadata, micros, tenant, text

objects = sa.Table(
    "objects",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("campaign", null=True),
    text("kind"),  # source, rendition, derivative
    text("retention_class"),
    text("key"),
    text("store_version", null=True),
    text("sha256"),
    count("size_bytes", default=None),
    text("media_type"),
    sa.Column("facts", JsonText, nullable=False),
    text("state"),
    count("version"),
    count("entity_version"),
    micros("created_at"),
    micros("marked_at", null=True),
    micros("purge_after", null=True),
    micros("purged_at", null=True),
    text("pinned_by", null=True),
    sa.Index(None, "kind", "id"),
    sa.Index(None, "key"),
    sa.Index(
        "uq_objects_key_unpurged",
        "key",
        unique=True,
        sqlite_where=sa.text("state <> 'purged'"),
        postgresql_where=sa.text("state <> 'purged'"),
    ),
)

object_uses = sa.Table(
    "object_uses",
    metadata,
    text("object", sa.ForeignKey("objects.id"), primary_key=True),
    text("user_kind", primary_key=True),  # revision (of a source), attempt, derivative_set
    text("user_id", primary_key=True),
    tenant(),
    micros("from_at"),
    micros("until_at", null=True),
)

object_parents = sa.Table(
    "object_parents",
    metadata,
    text("object", sa.ForeignKey("objects.id"), primary_key=True),
    text("parent", sa.ForeignKey("objects.id"), primary_key=True, index=True),
    tenant(),
)

derivatives = sa.Table(
    "derivatives",
    metadata,
    text("tenant", primary_key=True),
    text("source_sha256", primary_key=True),
    text("transform_version", primary_key=True),
    text("name", primary_key=True),
    text("object", sa.ForeignKey("objects.id"), index=True),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    text("format"),
    count("size_bytes", default=None),
    count("at_source_width"),  # 1: the asked width was beyond the display size
)
