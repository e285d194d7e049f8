"""Retention: plans with their items, approvals, receipts, legal holds, exemptions, grants (C1-C4)."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, MicroMoney, count, metadata, micros, tenant, text

#: One frozen plan; its id is the hash of everything that it says.
retention_plans = sa.Table(
    "retention_plans",
    metadata,
    text("id", primary_key=True),
    tenant(),  # * is every tenant; an erasure is of one
    text("kind"),  # sweep, erasure
    text("scope", null=True),  # the source asset of an erasure
    text("policy_version"),
    text("policy_sha256"),
    text("policy_document"),  # documents.id
    text("transform_version"),
    micros("made_at"),
    text("made_by"),
    text("reason"),
    count("items"),
    count("size_bytes"),
    count("shared_bytes"),  # of objects that more than one campaign needs
    sa.Column("monthly_saving", MicroMoney, nullable=False, server_default=sa.text("0")),
    text("currency", null=True),
    sa.Column("kept", JsonText, nullable=False),  # [what, reason, objects, bytes] of everything that stays
    text("refused", null=True),  # the limit that it passes; such a plan is never approved
    micros("begun_at", null=True),
    micros("ended_at", null=True),
    sa.Index(None, "made_at"),
)

#: What goes by a plan. An object's own state says where it stands; things that are no objects stand here.
retention_items = sa.Table(
    "retention_items",
    metadata,
    text("plan", sa.ForeignKey("retention_plans.id")),
    count("number", default=None),
    tenant(),
    text("what"),
    text("subject"),  # an object's id; else a key, a file's name, an index's name
    text("key"),
    text("campaign", null=True),
    text("policy_row"),
    count("row_version", default=None),
    text("approver"),
    text("reason"),
    micros("anchor_at", null=True),
    micros("due_at", null=True),
    count("size_bytes", default=None),
    count("seen_version", default=None),  # of the object as the plan saw it
    text("standing"),  # planned, marked, purging, purged, skipped, undone
    text("why", null=True),  # of a skipped, waiting or undone one
    micros("planned_at"),
    micros("marked_at", null=True),
    micros("purge_after", null=True),
    micros("completed_at", null=True),
    sa.PrimaryKeyConstraint("plan", "number"),
    sa.Index(None, "subject"),
    sa.Index(None, "standing", "purge_after"),
)

retention_approvals = sa.Table(
    "retention_approvals",
    metadata,
    text("plan", sa.ForeignKey("retention_plans.id"), primary_key=True),
    text("role", primary_key=True),
    tenant(),
    text("actor"),
    text("reason"),
    micros("at"),
)

#: Proof of each purge, chained: `sha256` is over `body`, which holds the one before (C3).
retention_receipts = sa.Table(
    "retention_receipts",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    text("plan"),  # no foreign key: a receipt outlives everything
    count("item", default=None),
    text("subject", index=True),
    text("body"),  # canonical JSON; nothing personal
    text("previous"),
    text("sha256"),
    micros("at"),
)

#: One row a chain or lock: the end of the receipts, and the row that holds and purges meet at.
retention_heads = sa.Table(
    "retention_heads",
    metadata,
    text("name", primary_key=True),  # receipts, holds
    tenant(),
    count("number"),
    text("sha256"),
)

#: Undone within grace: kept from now on under this version of the policy.
retention_exemptions = sa.Table(
    "retention_exemptions",
    metadata,
    text("subject", primary_key=True),
    text("policy_version", primary_key=True),
    tenant(),
    text("actor"),
    text("reason"),
    micros("at"),
)

#: What lies around and is no object, with the time at which a plan saw it first.
retention_seen = sa.Table(
    "retention_seen",
    metadata,
    text("what", primary_key=True),
    text("subject", primary_key=True),
    tenant(),
    count("size_bytes", default=None),
    micros("modified_at"),  # only to tell that it was written again
    micros("first_seen_at"),
    micros("last_seen_at"),
)

#: Not budget holds: nothing that such a hold reaches is purged until it is released.
legal_holds = sa.Table(
    "legal_holds",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("matter"),
    text("scope"),  # tenant, campaign, rendition, source_asset
    text("subject"),
    text("placed_by"),
    text("reason"),
    micros("placed_at"),
    text("released_by", null=True),
    text("release_reason", null=True),
    micros("released_at", null=True),
    sa.Index(
        "ix_legal_holds_active",
        "tenant",
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    ),
)

#: Permissions to download one object for a while (A2). Until it is redeemed, one can be revoked.
grants = sa.Table(
    "grants",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("object", sa.ForeignKey("objects.id"), index=True),
    text("issued_to"),
    micros("issued_at"),
    micros("expires_at"),
    micros("redeemed_at", null=True),
    micros("revoked_at", null=True),
    sa.Index(None, "expires_at"),
)
