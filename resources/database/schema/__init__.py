"""The tables, once, for SQLite and PostgreSQL alike; a module a group."""

from resources.database.schema.alerts import alerts
from resources.database.schema.base import metadata
from resources.database.schema.decided import decisions, pauses, selections
from resources.database.schema.delivery import (
    delivery_deletions,
    delivery_facts,
    delivery_files,
    delivery_names,
    delivery_quarantine,
)
from resources.database.schema.index import search_entries, search_tags
from resources.database.schema.ledger import (
    invoice_lines,
    invoices,
    ledger_lines,
    ledger_postings,
    periods,
    statement_lines,
    storage_days,
    storage_measured,
)
from resources.database.schema.money import budgets, holds, usage_facts
from resources.database.schema.owned import derivatives, object_parents, object_uses, objects
from resources.database.schema.record import audit, counters, operations, outbox, partition_marks
from resources.database.schema.wanted import (
    batch_items,
    batches,
    index_entries,
    publications,
    renditions,
    slot_wants,
    slots,
    wishes,
)
from resources.database.schema.work import attempts, lanes, lots, observations, remote_jobs, sends
from resources.database.schema.written import (
    campaign_settings,
    campaigns,
    documents,
    intake_files,
    revision_sources,
    revisions,
    source_assets,
)

__all__ = [
    "alerts",
    "attempts",
    "audit",
    "batch_items",
    "batches",
    "budgets",
    "campaign_settings",
    "campaigns",
    "counters",
    "decisions",
    "delivery_deletions",
    "delivery_facts",
    "delivery_files",
    "delivery_names",
    "delivery_quarantine",
    "derivatives",
    "documents",
    "holds",
    "index_entries",
    "intake_files",
    "invoice_lines",
    "invoices",
    "lanes",
    "ledger_lines",
    "ledger_postings",
    "lots",
    "metadata",
    "object_parents",
    "object_uses",
    "objects",
    "observations",
    "operations",
    "outbox",
    "partition_marks",
    "pauses",
    "periods",
    "publications",
    "remote_jobs",
    "renditions",
    "revision_sources",
    "revisions",
    "search_entries",
    "search_tags",
    "selections",
    "sends",
    "slot_wants",
    "slots",
    "source_assets",
    "statement_lines",
    "storage_days",
    "storage_measured",
    "usage_facts",
    "wishes",
]
