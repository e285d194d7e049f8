"""The ledger: byte-time a day, postings with their lines, months and what they stated, invoices.

Belongs here: the tables. Does not belong here: usage facts (`money`, `delivery`), or what a line may say
(`pipeline.domain.ledger`).

Amounts and quantities are exact decimals written as text: SQLite has no decimal number, and floats do not add
up. `amount_nano` beside an amount is its floor in billionths, for sums and proofs in SQL. Empty text
stands for what there is not, so that rows compare alike on both databases.
"""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, count, metadata, micros, tenant, text

#: Byte-time of a UTC day and account: byte_seconds + byte_micros / 1_000_000. Measured anew as a whole.
storage_days = sa.Table(
    "storage_days",
    metadata,
    micros("day", primary_key=True),  # its first microsecond, UTC
    text("tenant", primary_key=True),
    text("campaign", primary_key=True),
    text("cost_center", primary_key=True),  # as it was at the time
    text("rendition", primary_key=True),
    text("attempt", primary_key=True),
    text("spend", primary_key=True),
    text("meter", primary_key=True),  # source_byte_seconds, rendition_…, derivative_…, temporary_…
    count("byte_seconds", default=None),
    count("byte_micros", default=None),
)

#: Which days were measured; a day is whole when it was measured after its end.
storage_measured = sa.Table(
    "storage_measured",
    metadata,
    micros("day", primary_key=True),
    tenant(),
    micros("measured_at"),
)

#: Everything that was written for one charge day at once; UNIQUE(charge_day, number) lets one of two in.
ledger_postings = sa.Table(
    "ledger_postings",
    metadata,
    text("id", primary_key=True),  # 2026-11-03#2
    tenant(),
    micros("charge_day"),
    count("number", default=None),
    text("period", sa.ForeignKey("periods.id"), index=True),  # in whose accounts it stands
    text("corrects"),  # the closed month that it corrects, or empty
    text("cause"),
    text("card"),  # the card's version
    text("card_document", sa.ForeignKey("documents.id")),
    text("currency"),
    count("lines", default=None),
    count("amount_nano", default=None),  # the sum of its lines'
    text("actor"),
    micros("at"),
    sa.UniqueConstraint("charge_day", "number"),
)

#: Append-only. An unpriced line has neither price nor amount, and says why.
ledger_lines = sa.Table(
    "ledger_lines",
    metadata,
    text("posting", sa.ForeignKey("ledger_postings.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    text("tenant"),
    text("campaign"),
    text("cost_center"),
    text("rendition"),
    text("attempt"),
    text("spend"),
    micros("day"),
    text("meter"),
    text("provider"),
    text("model"),
    text("region"),
    text("fate"),
    text("units"),
    text("card"),  # of its price: in a reversal another than the posting's
    text("sku"),
    count("tier", default=None),
    text("unit"),
    text("quantity", null=True),
    text("unit_price", null=True),
    text("amount", null=True),
    count("amount_nano", default=None),
    text("reason"),
    sa.Index(None, "day"),
    sa.Index(None, "rendition"),
)

#: A month's accounts. Once `closed_at` stands, no posting names it and nothing of it is written again.
periods = sa.Table(
    "periods",
    metadata,
    text("id", primary_key=True),  # 2026-11
    tenant(),
    micros("opened_at"),
    micros("closed_at", null=True),
    text("closed_by", null=True),
    text("card", null=True),
    text("currency", null=True),
    count("places", null=True, default=None),
    text("halves", null=True),
    count("postings", null=True, default=None),
    count("lines", null=True, default=None),
    count("amount_nano", null=True, default=None),  # the sum of its postings'
    text("exact", null=True),
    count("shown", null=True, default=None),  # the sum of its statement's, in the last place
    text("statement_sha256", null=True),
    sa.Column("checklist", JsonText, nullable=True),
)

#: What a closed month stated, each line rounded once; shown ones add up.
statement_lines = sa.Table(
    "statement_lines",
    metadata,
    text("period", sa.ForeignKey("periods.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    text("spend"),
    text("campaign"),
    text("cost_center"),
    text("meter"),
    text("corrects"),
    text("units"),
    text("exact"),
    count("shown", default=None),  # in the currency's last place
)

#: A provider's invoice or usage export, by its bytes.
invoices = sa.Table(
    "invoices",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("provider"),
    text("period", index=True),
    text("currency"),
    text("name"),
    text("total"),
    count("lines", default=None),
    text("actor"),
    micros("matched_at"),
)

#: Their lines beside our attempts; what only we have stands after theirs.
invoice_lines = sa.Table(
    "invoice_lines",
    metadata,
    text("invoice", sa.ForeignKey("invoices.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    text("standing"),  # matched, different, only_theirs, only_ours
    text("reference"),
    text("attempt"),
    text("rendition"),
    text("theirs", null=True),
    text("ours", null=True),
    text("why"),
)
