"""The ledger: byte-time a day, postings and their lines, months, statements, invoices.

Revision: 0003. New tables alone: the release before neither reads nor writes them.

- Amounts are exact decimals as text; `amount_nano` is their floor in billionths, so that SQL can add them up.
- `ledger_postings` is unique by charge day and number: of two ratings at once one writes, one is refused.
- `periods` holds what a month stated when it was closed, so that a later look can prove that nothing moved.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "invoices",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("total", sa.Text(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("matched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_invoices"),
    )
    op.create_index("ix_invoices_period", "invoices", ["period"], unique=False)
    op.create_table(
        "periods",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_by", sa.Text(), nullable=True),
        sa.Column("card", sa.Text(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("places", sa.BigInteger(), nullable=True),
        sa.Column("halves", sa.Text(), nullable=True),
        sa.Column("postings", sa.BigInteger(), nullable=True),
        sa.Column("lines", sa.BigInteger(), nullable=True),
        sa.Column("amount_nano", sa.BigInteger(), nullable=True),
        sa.Column("exact", sa.Text(), nullable=True),
        sa.Column("shown", sa.BigInteger(), nullable=True),
        sa.Column("statement_sha256", sa.Text(), nullable=True),
        sa.Column("checklist", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_periods"),
    )
    op.create_table(
        "storage_days",
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("cost_center", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("spend", sa.Text(), nullable=False),
        sa.Column("meter", sa.Text(), nullable=False),
        sa.Column("byte_seconds", sa.BigInteger(), nullable=False),
        sa.Column("byte_micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "day",
            "tenant",
            "campaign",
            "cost_center",
            "rendition",
            "attempt",
            "spend",
            "meter",
            name="pk_storage_days",
        ),
    )
    op.create_table(
        "storage_measured",
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("measured_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_storage_measured"),
    )
    op.create_table(
        "invoice_lines",
        sa.Column("invoice", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("theirs", sa.Text(), nullable=True),
        sa.Column("ours", sa.Text(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["invoice"], ["invoices.id"], name="fk_invoice_lines_invoice_invoices"),
        sa.PrimaryKeyConstraint("invoice", "number", name="pk_invoice_lines"),
    )
    op.create_table(
        "ledger_postings",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("charge_day", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("corrects", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("card_document", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("amount_nano", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["card_document"], ["documents.id"], name="fk_ledger_postings_card_document_documents"
        ),
        sa.ForeignKeyConstraint(["period"], ["periods.id"], name="fk_ledger_postings_period_periods"),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_postings"),
        sa.UniqueConstraint("charge_day", "number", name="uq_ledger_postings_charge_day_number"),
    )
    op.create_index("ix_ledger_postings_period", "ledger_postings", ["period"], unique=False)
    op.create_table(
        "statement_lines",
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("spend", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("cost_center", sa.Text(), nullable=False),
        sa.Column("meter", sa.Text(), nullable=False),
        sa.Column("corrects", sa.Text(), nullable=False),
        sa.Column("units", sa.Text(), nullable=False),
        sa.Column("exact", sa.Text(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["period"], ["periods.id"], name="fk_statement_lines_period_periods"),
        sa.PrimaryKeyConstraint("period", "number", name="pk_statement_lines"),
    )
    op.create_table(
        "ledger_lines",
        sa.Column("posting", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("cost_center", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("spend", sa.Text(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("meter", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("region", sa.Text(), nullable=False),
        sa.Column("fate", sa.Text(), nullable=False),
        sa.Column("units", sa.Text(), nullable=False),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("sku", sa.Text(), nullable=False),
        sa.Column("tier", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=True),
        sa.Column("unit_price", sa.Text(), nullable=True),
        sa.Column("amount", sa.Text(), nullable=True),
        sa.Column("amount_nano", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["posting"], ["ledger_postings.id"], name="fk_ledger_lines_posting_ledger_postings"
        ),
        sa.PrimaryKeyConstraint("posting", "number", name="pk_ledger_lines"),
    )
    op.create_index("ix_ledger_lines_day", "ledger_lines", ["day"], unique=False)
    op.create_index("ix_ledger_lines_rendition", "ledger_lines", ["rendition"], unique=False)
