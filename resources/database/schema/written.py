"""What people wrote: documents, campaigns and their settings, revisions, source assets, intake."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import (
    JsonText,
    MicroMoney,
    count,
    lease,
    metadata,
    micros,
    tenant,
    text,
)

documents = sa.Table(
    "documents",
    metadata,
    text("id", primary_key=True),  # kind:sha256
    text("kind"),
    text("version"),
    text("sha256"),
    text("body"),
    micros("recorded_at"),
)

campaigns = sa.Table(
    "campaigns",
    metadata,
    text("id", primary_key=True),  # tenant.campaign, also the Dagster partition key
    tenant(),
    text("slug"),
    text("title"),
    count("newest_revision"),
    count("entity_version"),
    micros("created_at"),
)

campaign_settings = sa.Table(
    "campaign_settings",
    metadata,
    text("campaign", sa.ForeignKey("campaigns.id")),
    count("number", default=None),
    tenant(),
    micros("effective_from"),
    text("actor"),
    text("title", null=True),
    text("cost_center"),
    text("retention_class"),
    text("asset_type"),
    text("visibility"),
    sa.Column("tags", JsonText, nullable=False),
    text("publish"),
    text("completion"),
    text("ends_on", null=True),
    sa.Column("budget_cap", MicroMoney, nullable=False),
    text("currency"),
    count("tags_version"),  # rises only when a required tag changes: what a retag compares
    sa.PrimaryKeyConstraint("campaign", "number"),
)

revisions = sa.Table(
    "revisions",
    metadata,
    text("id", primary_key=True),  # campaign/rN
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id")),
    count("number", default=None),
    sa.Column("creative", JsonText, nullable=False),
    text("creative_sha256"),
    text("asset_set_sha256", null=True),
    text("state"),
    count("version"),
    count("entity_version"),
    *lease(),
    micros("next_action_at", null=True),
    text("submit_mode"),
    micros("submitted_at", null=True),
    count("round"),  # moderation rounds so far; a review opens the next
    text("intake_path", null=True),  # where its receipt goes
    text("intake_folder", null=True),  # where its sources are looked for
    micros("receipt_due_at", null=True),
    text("receipt_sha256", null=True),
    text("actor"),
    micros("created_at"),
    sa.UniqueConstraint("campaign", "number"),
    sa.Index(None, "state", "next_action_at"),
)

source_assets = sa.Table(
    "source_assets",
    metadata,
    text("id", primary_key=True),  # tenant/sha256
    tenant(),
    text("sha256"),
    text("object", sa.ForeignKey("objects.id")),
    text("media_type"),
    sa.Column("facts", JsonText, nullable=False),
    micros("created_at"),
    sa.UniqueConstraint("tenant", "sha256"),
)

revision_sources = sa.Table(
    "revision_sources",
    metadata,
    text("revision", sa.ForeignKey("revisions.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    tenant(),
    text("name"),
    text("standing"),  # missing, growing, refused, present
    text("reason", null=True),
    text("problem", null=True),  # the reason in words, for the receipt
    count("seen_size", null=True, default=None),  # the file as it was when it was judged
    micros("seen_modified_at", null=True),
    text("source_asset", sa.ForeignKey("source_assets.id"), null=True),
)

#: Looks at intake files: a file is stable after two equal looks (I1).
intake_files = sa.Table(
    "intake_files",
    metadata,
    text("path", primary_key=True),
    tenant(),
    count("size_bytes", default=None),
    micros("modified_at"),
    micros("first_seen_at"),  # of this size and time
    micros("stable_at", null=True),
    micros("handled_at", null=True),  # briefs: this size and time was ingested
    text("outcome", null=True),  # briefs: accepted, unchanged, refused
)
