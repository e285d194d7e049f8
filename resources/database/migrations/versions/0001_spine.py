"""Everything the spine stands on.

Revision: 0001, the first. What differs from a plain reading of the design, and why:

- `slot_wants` keeps every move of the wanted pointer, as `publications` keeps those of the shown one.
- `index_entries` holds what the tag index should say and the counter that it compares, so that a crash
  between pointer and index is a row that is due, never a guess.
- `intake_files` keeps the two looks that prove a file stable, so that a restart does not begin again.
- `attempts.lane_held` says whether an attempt counts in its lanes, so that the counters can be proven.
- `operations` names every transaction by one key, so that a lost COMMIT is looked up by one seek, and one
  that lands late collides with its repetition.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from resources.database.schema.index import CREATE_SEARCH_TEXT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("link_window", sa.Text(), nullable=True),
        sa.Column("link_path", sa.Text(), nullable=True),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("raised", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("cleared_at", sa.BigInteger(), nullable=True),
        sa.Column("next_try_at", sa.BigInteger(), nullable=False),
        sa.Column("tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("claim", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("claimed_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
    )
    op.create_index(
        "ix_alerts_unsent",
        "alerts",
        ["next_try_at"],
        unique=False,
        sqlite_where=sa.text("sent_at IS NULL AND cleared_at IS NULL"),
        postgresql_where=sa.text("sent_at IS NULL AND cleared_at IS NULL"),
    )
    op.create_table(
        "audit",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=True),
        sa.Column("to_state", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("entity_version", sa.BigInteger(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("lease_token", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sa.UniqueConstraint(
            "subject_kind", "subject_id", "version", name="uq_audit_subject_kind_subject_id_version"
        ),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("newest_revision", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_campaigns"),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("name", "tenant", name="pk_counters"),
    )
    op.create_table(
        "decisions",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("round", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
    )
    op.create_index(
        "ix_decisions_subject_kind_subject_id_kind_id",
        "decisions",
        ["subject_kind", "subject_id", "kind", "id"],
        unique=False,
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
    )
    op.create_table(
        "intake_files",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("stable_at", sa.BigInteger(), nullable=True),
        sa.Column("handled_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("path", name="pk_intake_files"),
    )
    op.create_table(
        "lanes",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("in_flight", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cap", sa.BigInteger(), nullable=False),
        sa.Column("served_at", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("provider", "tenant", name="pk_lanes"),
    )
    op.create_table(
        "lots",
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("requested_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("items", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("counts", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("stage", "number", name="pk_lots"),
    )
    op.create_table(
        "objects",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("retention_class", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("store_version", sa.Text(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=True),
        sa.Column("purge_after", sa.BigInteger(), nullable=True),
        sa.Column("purged_at", sa.BigInteger(), nullable=True),
        sa.Column("pinned_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_objects"),
    )
    op.create_index(
        "uq_objects_key_unpurged",
        "objects",
        ["key"],
        unique=True,
        sqlite_where=sa.text("state <> 'purged'"),
        postgresql_where=sa.text("state <> 'purged'"),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_operations"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_try_at", sa.BigInteger(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("dead_at", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index(
        "ix_outbox_undelivered",
        "outbox",
        ["next_try_at"],
        unique=False,
        sqlite_where=sa.text("delivered_at IS NULL AND dead_at IS NULL"),
        postgresql_where=sa.text("delivered_at IS NULL AND dead_at IS NULL"),
    )
    op.create_table(
        "pauses",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("paused_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=False),
        sa.Column("resumed_by", sa.Text(), nullable=True),
        sa.Column("resumed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_pauses"),
    )
    op.create_table(
        "search_entries",
        sa.Column(
            "number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("entry_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), server_default="", nullable=False),
        sa.Column("object", sa.Text(), server_default="", nullable=False),
        sa.Column("campaign", sa.Text(), server_default="", nullable=False),
        sa.Column("slot", sa.Text(), server_default="", nullable=False),
        sa.Column("locale", sa.Text(), server_default="", nullable=False),
        sa.Column("asset_type", sa.Text(), server_default="", nullable=False),
        sa.Column("visibility", sa.Text(), server_default="", nullable=False),
        sa.Column("retention_class", sa.Text(), server_default="", nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("tags", sa.Text(), server_default="{}", nullable=False),
        sa.Column("tokens", sa.Text(), server_default="[]", nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_search_entries"),
        sa.UniqueConstraint("tenant", "entry_id", name="uq_search_entries_tenant_entry_id"),
    )
    op.create_index(
        "ix_search_entries_tenant_campaign", "search_entries", ["tenant", "campaign"], unique=False
    )
    op.create_index(
        "ix_search_entries_tenant_created_at_entry_id",
        "search_entries",
        ["tenant", "created_at", "entry_id"],
        unique=False,
    )
    op.create_table(
        "usage_facts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("cost_center", sa.Text(), nullable=False),
        sa.Column("meter", sa.Text(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("spend", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_usage_facts"),
    )
    op.create_index("ix_usage_facts_at", "usage_facts", ["at"], unique=False)
    op.create_index("ix_usage_facts_rendition_meter", "usage_facts", ["rendition", "meter"], unique=False)
    op.create_table(
        "batches",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("completion", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_batches_campaign_campaigns"),
        sa.PrimaryKeyConstraint("id", name="pk_batches"),
    )
    op.create_table(
        "budgets",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("cap", sa.BigInteger(), nullable=False),
        sa.Column("held", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("settled", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_budgets_campaign_campaigns"),
        sa.PrimaryKeyConstraint("campaign", name="pk_budgets"),
    )
    op.create_table(
        "campaign_settings",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("effective_from", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("cost_center", sa.Text(), nullable=False),
        sa.Column("retention_class", sa.Text(), nullable=False),
        sa.Column("asset_type", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("publish", sa.Text(), nullable=False),
        sa.Column("completion", sa.Text(), nullable=False),
        sa.Column("ends_on", sa.Text(), nullable=True),
        sa.Column("budget_cap", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("tags_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.id"], name="fk_campaign_settings_campaign_campaigns"
        ),
        sa.PrimaryKeyConstraint("campaign", "number", name="pk_campaign_settings"),
    )
    op.create_table(
        "derivatives",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("transform_version", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("at_source_width", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name="fk_derivatives_object_objects"),
        sa.PrimaryKeyConstraint(
            "tenant", "source_sha256", "transform_version", "name", name="pk_derivatives"
        ),
    )
    op.create_table(
        "object_parents",
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name="fk_object_parents_object_objects"),
        sa.ForeignKeyConstraint(["parent"], ["objects.id"], name="fk_object_parents_parent_objects"),
        sa.PrimaryKeyConstraint("object", "parent", name="pk_object_parents"),
    )
    op.create_table(
        "object_uses",
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("user_kind", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("from_at", sa.BigInteger(), nullable=False),
        sa.Column("until_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name="fk_object_uses_object_objects"),
        sa.PrimaryKeyConstraint("object", "user_kind", "user_id", name="pk_object_uses"),
    )
    op.create_table(
        "partition_marks",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("marked", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("has_partition", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_partition_marks_campaign_campaigns"),
        sa.PrimaryKeyConstraint("campaign", name="pk_partition_marks"),
    )
    op.create_index("ix_partition_marks_due_at", "partition_marks", ["due_at"], unique=False)
    op.create_table(
        "revisions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("creative", sa.Text(), nullable=False),
        sa.Column("creative_sha256", sa.Text(), nullable=False),
        sa.Column("asset_set_sha256", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_action_at", sa.BigInteger(), nullable=True),
        sa.Column("submit_mode", sa.Text(), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=True),
        sa.Column("round", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("intake_path", sa.Text(), nullable=True),
        sa.Column("intake_folder", sa.Text(), nullable=True),
        sa.Column("receipt_due_at", sa.BigInteger(), nullable=True),
        sa.Column("receipt_sha256", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_revisions_campaign_campaigns"),
        sa.PrimaryKeyConstraint("id", name="pk_revisions"),
        sa.UniqueConstraint("campaign", "number", name="uq_revisions_campaign_number"),
    )
    op.create_index(
        "ix_revisions_state_next_action_at", "revisions", ["state", "next_action_at"], unique=False
    )
    op.create_table(
        "search_tags",
        sa.Column("entry", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry"], ["search_entries.number"], name="fk_search_tags_entry_search_entries"
        ),
        sa.PrimaryKeyConstraint("entry", "name", "value", name="pk_search_tags"),
    )
    op.create_index(
        "ix_search_tags_tenant_value_name_entry",
        "search_tags",
        ["tenant", "value", "name", "entry"],
        unique=False,
    )
    op.create_table(
        "slots",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("wanted_rendition", sa.Text(), nullable=True),
        sa.Column("wants", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("publication", sa.Text(), nullable=True),
        sa.Column("published_rendition", sa.Text(), nullable=True),
        sa.Column("published_object", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_slots_campaign_campaigns"),
        sa.PrimaryKeyConstraint("id", name="pk_slots"),
    )
    op.create_index("ix_slots_campaign", "slots", ["campaign"], unique=False)
    op.create_index("ix_slots_published_rendition", "slots", ["published_rendition"], unique=False)
    op.create_table(
        "source_assets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["object"], ["objects.id"], name="fk_source_assets_object_objects"),
        sa.PrimaryKeyConstraint("id", name="pk_source_assets"),
        sa.UniqueConstraint("tenant", "sha256", name="uq_source_assets_tenant_sha256"),
    )
    op.create_table(
        "publications",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("move", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("tags_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("from_at", sa.BigInteger(), nullable=False),
        sa.Column("until_at", sa.BigInteger(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["slot"], ["slots.id"], name="fk_publications_slot_slots"),
        sa.PrimaryKeyConstraint("id", name="pk_publications"),
        sa.UniqueConstraint("slot", "number", name="uq_publications_slot_number"),
    )
    op.create_index("ix_publications_object", "publications", ["object"], unique=False)
    op.create_table(
        "renditions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("take", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("aspect_ratio", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("duration_seconds", sa.Integer(), nullable=False),
        sa.Column("copy", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("profile_version", sa.Text(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("first_revision", sa.Text(), nullable=False),
        sa.Column("selected_attempt", sa.Text(), nullable=True),
        sa.Column("attempts_made", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_renditions_campaign_campaigns"),
        sa.ForeignKeyConstraint(["slot"], ["slots.id"], name="fk_renditions_slot_slots"),
        sa.PrimaryKeyConstraint("id", name="pk_renditions"),
        sa.UniqueConstraint(
            "tenant",
            "campaign",
            "variant",
            "fingerprint",
            name="uq_renditions_tenant_campaign_variant_fingerprint",
        ),
    )
    op.create_index("ix_renditions_campaign", "renditions", ["campaign"], unique=False)
    op.create_index("ix_renditions_slot", "renditions", ["slot"], unique=False)
    op.create_table(
        "revision_sources",
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seen_size", sa.BigInteger(), nullable=True),
        sa.Column("seen_modified_at", sa.BigInteger(), nullable=True),
        sa.Column("source_asset", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["revision"], ["revisions.id"], name="fk_revision_sources_revision_revisions"
        ),
        sa.ForeignKeyConstraint(
            ["source_asset"], ["source_assets.id"], name="fk_revision_sources_source_asset_source_assets"
        ),
        sa.PrimaryKeyConstraint("revision", "position", name="pk_revision_sources"),
    )
    op.create_table(
        "slot_wants",
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["slot"], ["slots.id"], name="fk_slot_wants_slot_slots"),
        sa.PrimaryKeyConstraint("slot", "number", name="pk_slot_wants"),
    )
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("submission", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("request_fingerprint", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lane_held", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_action_at", sa.BigInteger(), nullable=True),
        sa.Column("next_poll_at", sa.BigInteger(), nullable=True),
        sa.Column("poll_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("polls_metered", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_observation", sa.Text(), nullable=True),
        sa.Column("send_tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("fetch_tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("downloads", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("work_tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("handle", sa.Text(), nullable=True),
        sa.Column("submitted_at", sa.BigInteger(), nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), nullable=True),
        sa.Column("purge_horizon_at", sa.BigInteger(), nullable=True),
        sa.Column("result_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("overdue_at", sa.BigInteger(), nullable=True),
        sa.Column("cancel_wanted_at", sa.BigInteger(), nullable=True),
        sa.Column("cancel_sent_at", sa.BigInteger(), nullable=True),
        sa.Column("deselected_at", sa.BigInteger(), nullable=True),
        sa.Column("parked_reason", sa.Text(), nullable=True),
        sa.Column("outcome_class", sa.Text(), nullable=True),
        sa.Column("outcome_reason", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=True),
        sa.Column("refused_sha256", sa.Text(), nullable=True),
        sa.Column("derived_version", sa.Text(), nullable=True),
        sa.Column("quote", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("spend", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_attempts_campaign_campaigns"),
        sa.ForeignKeyConstraint(["rendition"], ["renditions.id"], name="fk_attempts_rendition_renditions"),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
        sa.UniqueConstraint("idempotency_key", name="uq_attempts_idempotency_key"),
        sa.UniqueConstraint("rendition", "number", name="uq_attempts_rendition_number"),
    )
    op.create_index("ix_attempts_campaign", "attempts", ["campaign"], unique=False)
    op.create_index(
        "ix_attempts_lane_queue", "attempts", ["provider", "tenant", "state", "next_action_at"], unique=False
    )
    op.create_index("ix_attempts_poll", "attempts", ["next_poll_at"], unique=False)
    op.create_index("ix_attempts_state_next_action_at", "attempts", ["state", "next_action_at"], unique=False)
    op.create_table(
        "index_entries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("synced_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tags_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_action_at", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refused_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["rendition"], ["renditions.id"], name="fk_index_entries_rendition_renditions"
        ),
        sa.ForeignKeyConstraint(["slot"], ["slots.id"], name="fk_index_entries_slot_slots"),
        sa.PrimaryKeyConstraint("id", name="pk_index_entries"),
    )
    op.create_index("ix_index_entries_campaign", "index_entries", ["campaign"], unique=False)
    op.create_index("ix_index_entries_next_action_at", "index_entries", ["next_action_at"], unique=False)
    op.create_index("ix_index_entries_object", "index_entries", ["object"], unique=False)
    op.create_index("ix_index_entries_rendition", "index_entries", ["rendition"], unique=False)
    op.create_index("ix_index_entries_slot", "index_entries", ["slot"], unique=False)
    op.create_table(
        "selections",
        sa.Column("rendition", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("instead_of", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["rendition"], ["renditions.id"], name="fk_selections_rendition_renditions"),
        sa.PrimaryKeyConstraint("rendition", "number", name="pk_selections"),
    )
    op.create_table(
        "wishes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("take_wanted", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entity_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name="fk_wishes_campaign_campaigns"),
        sa.ForeignKeyConstraint(["rendition"], ["renditions.id"], name="fk_wishes_rendition_renditions"),
        sa.ForeignKeyConstraint(["revision"], ["revisions.id"], name="fk_wishes_revision_revisions"),
        sa.ForeignKeyConstraint(["slot"], ["slots.id"], name="fk_wishes_slot_slots"),
        sa.PrimaryKeyConstraint("id", name="pk_wishes"),
    )
    op.create_index("ix_wishes_campaign", "wishes", ["campaign"], unique=False)
    op.create_index("ix_wishes_rendition", "wishes", ["rendition"], unique=False)
    op.create_index("ix_wishes_revision", "wishes", ["revision"], unique=False)
    op.create_index("ix_wishes_slot", "wishes", ["slot"], unique=False)
    op.create_table(
        "batch_items",
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("wish", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("rendition", sa.Text(), nullable=True),
        sa.Column("accepted_at", sa.BigInteger(), nullable=True),
        sa.Column("media_at", sa.BigInteger(), nullable=True),
        sa.Column("processed_at", sa.BigInteger(), nullable=True),
        sa.Column("usable_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name="fk_batch_items_batch_batches"),
        sa.ForeignKeyConstraint(["wish"], ["wishes.id"], name="fk_batch_items_wish_wishes"),
        sa.PrimaryKeyConstraint("batch", "wish", name="pk_batch_items"),
    )
    op.create_index("ix_batch_items_rendition", "batch_items", ["rendition"], unique=False)
    op.create_table(
        "holds",
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("settled_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_holds_attempt_attempts"),
        sa.ForeignKeyConstraint(["campaign"], ["budgets.campaign"], name="fk_holds_campaign_budgets"),
        sa.PrimaryKeyConstraint("attempt", name="pk_holds"),
    )
    op.create_index("ix_holds_campaign", "holds", ["campaign"], unique=False)
    op.create_table(
        "observations",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("outcome_class", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_observations_attempt_attempts"),
        sa.PrimaryKeyConstraint("id", name="pk_observations"),
    )
    op.create_index("ix_observations_attempt", "observations", ["attempt"], unique=False)
    op.create_table(
        "remote_jobs",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("found_by", sa.Text(), nullable=False),
        sa.Column("bound", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_remote_jobs_attempt_attempts"),
        sa.PrimaryKeyConstraint("provider", "handle", name="pk_remote_jobs"),
    )
    op.create_index("ix_remote_jobs_attempt", "remote_jobs", ["attempt"], unique=False)
    op.create_table(
        "sends",
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["attempt"], ["attempts.id"], name="fk_sends_attempt_attempts"),
        sa.PrimaryKeyConstraint("attempt", "n", name="pk_sends"),
    )

    for statement in CREATE_SEARCH_TEXT[op.get_bind().dialect.name]:
        op.execute(statement)
