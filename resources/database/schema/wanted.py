"""What is wanted and what is shown: slots, wishes, renditions, publications, batches."""

from __future__ import annotations

import sqlalchemy as sa

from resources.database.schema.base import JsonText, count, metadata, micros, tenant, text

slots = sa.Table(
    "slots",
    metadata,
    text("id", primary_key=True),  # campaign/variant
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id"), index=True),
    text("variant"),
    text("wanted_rendition", null=True),  # what the slot wants (T6)
    count("wants"),  # moves of wanted_rendition so far
    text("publication", null=True),  # what the slot shows
    text("published_rendition", null=True, index=True),
    text("published_object", null=True),
    count("version"),  # moves of the publication: the compare-and-set
    count("entity_version"),
)

#: Every move of a slot's wanted pointer.
slot_wants = sa.Table(
    "slot_wants",
    metadata,
    text("slot", sa.ForeignKey("slots.id")),
    count("number", default=None),
    tenant(),
    text("rendition", null=True),  # NULL: nothing, its variant was dropped before anything was published
    text("actor"),
    text("reason"),
    text("operation_id"),
    micros("at"),
    sa.PrimaryKeyConstraint("slot", "number"),
)

renditions = sa.Table(
    "renditions",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id"), index=True),
    text("slot", sa.ForeignKey("slots.id"), index=True),
    text("variant"),
    text("fingerprint"),
    count("take"),
    text("locale"),
    text("aspect_ratio"),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("duration_seconds", sa.Integer, nullable=False),
    text("copy"),
    text("provider"),
    text("model"),
    sa.Column("settings", JsonText, nullable=False),
    text("profile_version"),
    sa.Column("sources", JsonText, nullable=False),  # ordered SHA-256 of the source assets
    text("first_revision"),
    text("selected_attempt", null=True),
    count("attempts_made"),
    count("entity_version"),
    micros("created_at"),
    sa.UniqueConstraint("tenant", "campaign", "variant", "fingerprint"),
)

wishes = sa.Table(
    "wishes",
    metadata,
    text("id", primary_key=True),  # revision/variant
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id"), index=True),
    text("revision", sa.ForeignKey("revisions.id"), index=True),
    text("slot", sa.ForeignKey("slots.id"), index=True),
    text("variant"),
    text("rendition", sa.ForeignKey("renditions.id"), null=True, index=True),
    text("origin", null=True),  # made or carried
    count("take_wanted"),  # 1: a fresh rendition is asked for, once the revision is approved
    count("entity_version"),
)

publications = sa.Table(
    "publications",
    metadata,
    text("id", primary_key=True),  # slot@number
    tenant(),
    text("slot", sa.ForeignKey("slots.id")),
    count("number", default=None),
    text("move"),  # publish, roll_back, retag, withdraw
    text("rendition", null=True),
    text("attempt", null=True),
    text("object", null=True, index=True),
    count("tags_version"),
    sa.Column("tags", JsonText, nullable=False),
    micros("from_at"),
    micros("until_at", null=True),
    text("actor"),
    text("reason"),
    text("operation_id"),
    sa.UniqueConstraint("slot", "number"),
)

batches = sa.Table(
    "batches",
    metadata,
    text("id", primary_key=True),
    tenant(),
    text("campaign", sa.ForeignKey("campaigns.id")),
    text("revision"),
    text("kind"),  # submission, retry, take
    text("completion"),
    text("actor"),
    micros("created_at"),
)

#: The four facts of B1; each is the time at which it first held.
batch_items = sa.Table(
    "batch_items",
    metadata,
    text("batch", sa.ForeignKey("batches.id"), primary_key=True),
    text("wish", sa.ForeignKey("wishes.id"), primary_key=True),
    tenant(),
    text("rendition", null=True, index=True),
    micros("accepted_at", null=True),
    micros("media_at", null=True),
    micros("processed_at", null=True),
    micros("usable_at", null=True),
)

#: What the tag index should hold; due while `synced_version` lags `version` (T1).
index_entries = sa.Table(
    "index_entries",
    metadata,
    text("id", primary_key=True),  # rendition:object
    tenant(),
    text("campaign"),
    text("slot", sa.ForeignKey("slots.id"), index=True),
    text("rendition", sa.ForeignKey("renditions.id"), index=True),
    text("attempt"),
    text("object", index=True),
    text("standing"),  # candidate, current, tombstone
    count("version"),  # the external version that the index compares
    count("synced_version"),  # the newest version that was seen in the index
    count("tags_version"),
    micros("next_action_at", null=True),
    count("tries"),
    text("refused_reason", null=True),
    sa.Index(None, "next_action_at"),
    sa.Index(None, "campaign"),
)
