"""Delivery logs: what was read, and the facts that came of it.

Revision: 0002. New tables alone: the release before neither reads nor writes them.

- `delivery_files` is keyed by the bytes, so that a name says nothing; its lines have no column, as they are
  the sum of the four that it has.
- `delivery_names` remembers what was seen in the place of the logs; no watermark is a name.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery_files",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("reader_version", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("duplicates", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("ignored", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("quarantined", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("bytes_sent", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("unattributed_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=True),
        sa.Column("last_at", sa.BigInteger(), nullable=True),
        sa.Column("hours", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("identities", sa.LargeBinary(), nullable=True),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery_files"),
    )
    op.create_index("ix_delivery_files_last_at", "delivery_files", ["last_at"], unique=False)
    op.create_table(
        "delivery_names",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file"], ["delivery_files.id"], name="fk_delivery_names_file_delivery_files"
        ),
        sa.PrimaryKeyConstraint("name", name="pk_delivery_names"),
    )
    op.create_index("ix_delivery_names_file", "delivery_names", ["file"], unique=False)
    op.create_table(
        "delivery_facts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("campaign", sa.Text(), nullable=True),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("cost_center", sa.Text(), nullable=True),
        sa.Column("spend", sa.Text(), nullable=True),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("meter", sa.Text(), nullable=False),
        sa.Column("region", sa.Text(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("traffic", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file"], ["delivery_files.id"], name="fk_delivery_facts_file_delivery_files"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_delivery_facts"),
    )
    op.create_index("ix_delivery_facts_day_tenant", "delivery_facts", ["day", "tenant"], unique=False)
    op.create_index("ix_delivery_facts_file", "delivery_facts", ["file"], unique=False)
    op.create_index(
        "ix_delivery_facts_rendition_meter", "delivery_facts", ["rendition", "meter"], unique=False
    )
    op.create_table(
        "delivery_quarantine",
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file"], ["delivery_files.id"], name="fk_delivery_quarantine_file_delivery_files"
        ),
        sa.PrimaryKeyConstraint("file", "line", name="pk_delivery_quarantine"),
    )
    op.create_table(
        "delivery_deletions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("bucket", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("store_version", sa.Text(), nullable=True),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file"], ["delivery_files.id"], name="fk_delivery_deletions_file_delivery_files"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_delivery_deletions"),
    )
    op.create_index("ix_delivery_deletions_key", "delivery_deletions", ["key"], unique=False)
