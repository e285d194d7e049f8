"""What was decided, by whom and why: append-only."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, RowNumber, count, metadata, micros, tenant, text

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("id", RowNumber, primary_key=True, autoincrement=True),
    tenant(),
    text("kind"),  # moderation, acceptance, budget, verdict, write_off, review
    text("subject_kind"),
    text("subject_id"),
    text("verdict"),  # approved, rejected, accept, decline, accepted, not_accepted …
    text("policy_version"),
    text("reason"),
    text("actor"),
    count("round"),
    sa.Column("detail", JsonText, nullable=False),
    text("operation_id"),
    micros("at"),
    sa.Index(None, "subject_kind", "subject_id", "kind", "id"),
)

selections = sa.Table(
    "selections",
    metadata,
    text("rendition", sa.ForeignKey("renditions.id")),
    count("number", default=None),
    tenant(),
    text("attempt"),
    text("instead_of", null=True),
    text("actor"),
    text("reason"),
    text("operation_id"),
    micros("at"),
    sa.PrimaryKeyConstraint("rendition", "number"),
)

pauses = sa.Table(
    "pauses",
    metadata,
    sa.Column("id", RowNumber, primary_key=True, autoincrement=True),
    text("stage"),  # a stage name, or * for all
    text("provider"),
    text("tenant"),
    text("paused_by"),
    text("reason"),
    micros("paused_at"),
    text("resumed_by", null=True),
    micros("resumed_at", null=True),
)
