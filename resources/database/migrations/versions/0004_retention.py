"""Retention's own tables, and the indexes by which a plan reads a million objects.

Revision: 0004. New tables and indexes alone: the release before neither reads nor writes them.

- `retention_items` keeps its standing beside the object's state, as some of what goes is no object.
- `retention_seen` holds when a plan first saw a thing that is no object: a file's own time is not believed.
- `retention_heads` is the end of the receipts' chain, and the row at which holds and purges meet.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "retention_plans",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("policy_sha256", sa.Text(), nullable=False),
        sa.Column("policy_document", sa.Text(), nullable=False),
        sa.Column("transform_version", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("items", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("shared_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("monthly_saving", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("kept", sa.Text(), nullable=False),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.Column("begun_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_retention_plans"),
    )
    op.create_index("ix_retention_plans_made_at", "retention_plans", ["made_at"], unique=False)
    op.create_table(
        "retention_items",
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=True),
        sa.Column("policy_row", sa.Text(), nullable=False),
        sa.Column("row_version", sa.BigInteger(), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("anchor_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("seen_version", sa.BigInteger(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("planned_at", sa.BigInteger(), nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=True),
        sa.Column("purge_after", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["plan"], ["retention_plans.id"], name="fk_retention_items_plan_retention_plans"
        ),
        sa.PrimaryKeyConstraint("plan", "number", name="pk_retention_items"),
    )
    op.create_index(
        "ix_retention_items_standing_purge_after",
        "retention_items",
        ["standing", "purge_after"],
        unique=False,
    )
    op.create_index("ix_retention_items_subject", "retention_items", ["subject"], unique=False)
    op.create_table(
        "retention_approvals",
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["plan"], ["retention_plans.id"], name="fk_retention_approvals_plan_retention_plans"
        ),
        sa.PrimaryKeyConstraint("plan", "role", name="pk_retention_approvals"),
    )
    op.create_table(
        "retention_receipts",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_retention_receipts"),
    )
    op.create_index("ix_retention_receipts_subject", "retention_receipts", ["subject"], unique=False)
    op.create_table(
        "retention_heads",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_retention_heads"),
    )
    op.create_table(
        "retention_exemptions",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "policy_version", name="pk_retention_exemptions"),
    )
    op.create_table(
        "retention_seen",
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("what", "subject", name="pk_retention_seen"),
    )
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("matter", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("placed_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_at", sa.BigInteger(), nullable=False),
        sa.Column("released_by", sa.Text(), nullable=True),
        sa.Column("release_reason", sa.Text(), nullable=True),
        sa.Column("released_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_legal_holds"),
    )
    op.create_index(
        "ix_legal_holds_active",
        "legal_holds",
        ["tenant"],
        unique=False,
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("issued_to", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("redeemed_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name="fk_grants_object_objects"),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
    )
    op.create_index("ix_grants_expires_at", "grants", ["expires_at"], unique=False)
    op.create_index("ix_grants_object", "grants", ["object"], unique=False)
    op.create_index("ix_objects_kind_id", "objects", ["kind", "id"], unique=False)
    op.create_index("ix_objects_key", "objects", ["key"], unique=False)
    op.create_index("ix_object_parents_parent", "object_parents", ["parent"], unique=False)
    op.create_index("ix_derivatives_object", "derivatives", ["object"], unique=False)
    op.create_index("ix_attempts_object", "attempts", ["object"], unique=False)
    heads = sa.table("retention_heads", sa.column("name"), sa.column("tenant"), sa.column("sha256"))
    op.bulk_insert(heads, [{"name": name, "tenant": "*", "sha256": ""} for name in ("holds", "receipts")])
